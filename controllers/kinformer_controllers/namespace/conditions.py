"""A terminating namespace's conditions: what stands in the way of its end.

What was found goes in, five conditions come out, always all of them. Texts and reasons are Kubernetes'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from kinformer.meta import GroupResource
from kinformer.models import V1NamespaceCondition

__all__ = ("Condition", "Findings", "conditions_of", "updated")

DISCOVERY_FAILURE: Final = "NamespaceDeletionDiscoveryFailure"
PARSING_FAILURE: Final = "NamespaceDeletionGroupVersionParsingFailure"
CONTENT_FAILURE: Final = "NamespaceDeletionContentFailure"
CONTENT_REMAINING: Final = "NamespaceContentRemaining"
FINALIZERS_REMAINING: Final = "NamespaceFinalizersRemaining"


@dataclass(slots=True)
class Findings:
    """
    What was found while a namespace was emptied.

    :ivar discovery: why not all kinds are known, ``""`` if they are
    :ivar failures: why kinds could not be emptied
    :ivar remaining: how many objects of which kinds are left
    :ivar finalizers: how many objects have which finalizers
    """

    discovery: str = ""
    failures: list[str] = field(default_factory=list)
    remaining: dict[GroupResource, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)


class Condition(NamedTuple):
    """A condition, but for since when it is so."""

    type: str
    status: str
    reason: str
    message: str


def conditions_of(found: Findings) -> list[Condition]:
    """The five conditions that say what was found."""
    conditions = dict(_ALL_WELL)
    if found.discovery:
        conditions[DISCOVERY_FAILURE] = ("True", "DiscoveryFailed", found.discovery)
    if found.failures:
        text = f"Failed to delete all resource types, {len(found.failures)} remaining: {_listed(found.failures)}"
        conditions[CONTENT_FAILURE] = ("True", "ContentDeletionFailed", text)
    if found.remaining:
        # A kind of the core group has a dot after it, too, as in Kubernetes.
        kinds = _listed(
            f"{kind.resource}.{kind.group} has {number} resource instances"
            for kind, number in found.remaining.items()
            if number
        )
        conditions[CONTENT_REMAINING] = ("True", "SomeResourcesRemain", f"Some resources are remaining: {kinds}")
    if found.finalizers:
        finalizers = _listed(f"{name} in {number} resource instances" for name, number in found.finalizers.items())
        text = f"Some content in the namespace has finalizers remaining: {finalizers}"
        conditions[FINALIZERS_REMAINING] = ("True", "SomeFinalizersRemain", text)
    return [Condition(type_, *said) for type_, said in conditions.items()]


def updated(
    there: Iterable[V1NamespaceCondition], wanted: Iterable[Condition], now: datetime
) -> list[V1NamespaceCondition] | None:
    """
    The conditions of a status with these in their places; others stay.

    :return: None if all are there already
    """
    conditions = list(there)
    places = {condition.type: place for place, condition in enumerate(conditions)}
    changed = False
    for condition in wanted:
        place = places.get(condition.type)
        if place is None:
            conditions.append(_made(condition, now))
            changed = True
            continue
        old = conditions[place]
        if (old.status, old.reason, old.message) != condition[1:]:
            same = old.status == condition.status
            conditions[place] = _made(condition, old.last_transition_time if same else now)
            changed = True
    return conditions if changed else None


def _made(condition: Condition, since: datetime | None) -> V1NamespaceCondition:
    return V1NamespaceCondition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        last_transition_time=since,
    )


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))


_ALL_WELL: Final = {
    DISCOVERY_FAILURE: ("False", "ResourcesDiscovered", "All resources successfully discovered"),
    PARSING_FAILURE: ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    CONTENT_FAILURE: ("False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    CONTENT_REMAINING: ("False", "ContentRemoved", "All content successfully removed"),
    FINALIZERS_REMAINING: ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
