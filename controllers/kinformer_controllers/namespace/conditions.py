"""The conditions of a terminating namespace: they say what prevents its deletion.

In: the findings of emptying it. Out: always all five conditions. Messages and reasons are Kubernetes'.
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
    The findings of emptying a namespace.

    :ivar discovery: why discovery was not complete; ``""`` if it was
    :ivar failures: the errors of kinds whose objects could not be deleted
    :ivar remaining: the number of remaining objects of each kind
    :ivar finalizers: the number of objects with each finalizer
    """

    discovery: str = ""
    failures: list[str] = field(default_factory=list)
    remaining: dict[GroupResource, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)


class Condition(NamedTuple):
    """A condition without its times."""

    type: str
    status: str
    reason: str
    message: str


def conditions_of(found: Findings) -> list[Condition]:
    """Return the five conditions for these findings."""
    conditions = dict(_ALL_WELL)
    if found.discovery:
        conditions[DISCOVERY_FAILURE] = ("True", "DiscoveryFailed", found.discovery)
    if found.failures:
        text = f"Failed to delete all resource types, {len(found.failures)} remaining: {_listed(found.failures)}"
        conditions[CONTENT_FAILURE] = ("True", "ContentDeletionFailed", text)
    if found.remaining:
        # Kinds of the core group have a dot at the end, as in Kubernetes.
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
    Return the conditions of a status with these set; others stay.

    :return: None if nothing has changed
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
