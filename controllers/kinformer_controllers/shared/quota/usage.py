"""Usage: what all of a namespace's objects use of what a quota limits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from kinformer.meta.resourcelist import ResourceList, add, mask
from kinformer_controllers.shared.quota.evaluator import UsageStatsOptions
from kinformer_controllers.shared.quota.registry import Registry
from kinformer_controllers.shared.quota.scopes import ScopeRequirement

__all__ = ("Usage", "calculate_usage")


@dataclass(slots=True)
class Usage:
    """
    What was found out.

    :ivar used: without what could not be computed
    :ivar errors: why not, one for each evaluator that failed
    :ivar versions: how new the objects are at least from which each amount was computed; empty if that is not known
    """

    used: ResourceList = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


async def calculate_usage(
    namespace: str, scopes: tuple[ScopeRequirement, ...], hard: Collection[str], registry: Registry
) -> Usage:
    """
    Count what a namespace's objects use.

    Only evaluators that measure something of `hard` are asked. An evaluator that fails takes out the names that it
    measures, and no others.

    :param hard: the names of what is limited
    """
    asked = [(evaluator, names) for evaluator in registry.list() if (names := evaluator.matching_resources(hard))]
    matched = {name for _, names in asked for name in names}
    usage = Usage()
    for evaluator, names in asked:
        try:
            stats = await evaluator.usage_stats(UsageStatsOptions(namespace, scopes, names))
        except Exception as error:  # whatever it is, what others measure is not to be lost
            matched.difference_update(names)
            error.add_note(f"counting {evaluator.group_resource} in {namespace}")
            usage.errors.append(error)
            continue
        usage.used = add(usage.used, stats.used)
        usage.versions.update(dict.fromkeys(names, stats.version))
    usage.used = mask(usage.used, matched)
    return usage
