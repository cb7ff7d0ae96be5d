"""Computing the usage of all objects of a namespace."""

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
    The usage of a namespace's objects.

    :ivar used: the amounts; those that could not be computed are left out
    :ivar errors: the errors of the evaluators that failed
    :ivar versions: for each amount a resource version; the counted objects are at least as new. Empty if not known
    """

    used: ResourceList = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


async def calculate_usage(
    namespace: str, scopes: tuple[ScopeRequirement, ...], hard: Collection[str], registry: Registry
) -> Usage:
    """
    Compute the usage of a namespace's objects.

    Only evaluators that measure an amount in `hard` are used. If an evaluator fails, only the amounts that it measures
    are left out.

    :param hard: the names of the limited amounts
    """
    asked = [(evaluator, names) for evaluator in registry.list() if (names := evaluator.matching_resources(hard))]
    matched = {name for _, names in asked for name in names}
    usage = Usage()
    for evaluator, names in asked:
        try:
            stats = await evaluator.usage_stats(UsageStatsOptions(namespace, scopes, names))
        except Exception as error:  # of any type: the amounts of other evaluators must not be lost
            matched.difference_update(names)
            error.add_note(f"counting {evaluator.group_resource} in {namespace}")
            usage.errors.append(error)
            continue
        usage.used = add(usage.used, stats.used)
        usage.versions.update(dict.fromkeys(names, stats.version))
    usage.used = mask(usage.used, matched)
    return usage
