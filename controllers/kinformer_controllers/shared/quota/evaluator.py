"""Evaluators: an evaluator measures how much the objects of one resource use.

There is one evaluator for each resource. Admission asks it for the usage of one object. The quota controller asks it
for the usage of all objects of a namespace. An :class:`Evaluator` is made from a few functions, which is enough for
most resources. A resource with rules of its own overrides a method.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from anyio.lowlevel import checkpoint

from kinformer.logs import get_logger
from kinformer.meta import GroupResource
from kinformer.meta.quantity import ZERO, Quantity
from kinformer.meta.resourcelist import Amounts, ResourceList, intersection
from kinformer_controllers.shared.quota.limits import MatchesScope, ScopeError, ScopeRequirement, matches_no_scope
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource

__all__ = (
    "CREATE",
    "DELETE",
    "SLICE",
    "UPDATE",
    "ConstraintError",
    "Evaluator",
    "Operation",
    "Request",
    "Tally",
    "UsageStats",
    "UsageStatsOptions",
)

log = get_logger(__name__)

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
CREATE: Operation = "CREATE"
UPDATE: Operation = "UPDATE"
DELETE: Operation = "DELETE"

#: The number of objects that are measured before other tasks may run. For pods of which no two are alike this takes
#: about 5 ms.
SLICE = 500


class ConstraintError(ValueError):
    """An object does not specify an amount that a quota requires it to specify."""


@dataclass(frozen=True, slots=True)
class Request:
    """
    A write that may change the usage of a quota.

    :param object: the object to be stored, as a model or as JSON; None for a delete
    :param old_object: the stored object; None for a create
    :param has_moved: whether other quotas apply to the object after this update; then it is charged even if its usage
        is the same
    """

    operation: Operation
    resource: GroupResource
    namespace: str
    name: str
    object: Any
    old_object: Any = None
    subresource: str = ""
    dry_run: bool = False
    has_moved: bool = False


@dataclass(frozen=True, slots=True)
class UsageStatsOptions:
    """
    The objects and amounts to be counted.

    :param scopes: an object counts if it is in all of them
    :param resources: the names of the amounts
    """

    namespace: str
    scopes: tuple[ScopeRequirement, ...] = ()
    resources: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class UsageStats:
    """
    The usage of a namespace's objects.

    :param version: a resource version; the counted objects are at least as new. Empty if it is not known
    """

    used: ResourceList
    version: str = ""


class Tally:
    """
    Adds up many resource lists without making a new list for each step.

    :param names: the names to add up; by default all. Each is in the total, with zero if no list has it
    """

    __slots__ = ("_names", "_nanos", "_notation")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._nanos: dict[str, int] = dict.fromkeys(names, 0)
        self._names = tuple(self._nanos)
        self._notation: dict[str, Any] = {}

    def add(self, amounts: Amounts, times: int = 1) -> None:
        """Add a list that many times."""
        nanos, notation = self._nanos, self._notation
        for name in self._names or amounts:
            amount = amounts.get(name)
            if amount is not None:
                so_far = nanos.get(name, 0)
                if not so_far:
                    notation[name] = amount.format
                nanos[name] = so_far + amount.nano * times

    def total(self) -> ResourceList:
        """Return the sum."""
        notation = self._notation
        return {name: Quantity(nano, notation[name]) if nano else ZERO for name, nano in self._nanos.items()}


@dataclass(eq=False)
class Evaluator:
    """
    Measures the objects of one resource, by functions. A subclass may measure in another way.

    :param group_resource: the resource whose objects it measures
    :param resource_names: the names of the amounts that it measures
    :param measure: returns the usage of one object
    :param operations: the operations that can change the usage, by subresource; ``""`` is the object itself
    :param matches_scope: whether an object is in a scope
    :param check: raises :exc:`ConstraintError` if an object does not specify an amount that a quota requires
    :param source: lists all objects of a namespace
    """

    group_resource: GroupResource
    resource_names: Collection[str]
    measure: Callable[[Any], ResourceList]
    operations: Mapping[str, Collection[Operation]] = field(default_factory=lambda: {"": (CREATE,)})
    matches_scope: MatchesScope = matches_no_scope
    check: Callable[[Collection[str], Any], None] | None = None
    source: ObjectSource = field(default_factory=NoSource)

    def constraints(self, required: Collection[str], obj: Any) -> None:
        """
        Check that an object specifies the amounts that a quota requires.

        :param required: the names that a quota limits
        :raises ConstraintError: if the object does not specify one that it must
        """
        if self.check is not None:
            self.check(required, obj)

    def handles(self, request: Request) -> bool:
        """Whether the request can change the usage."""
        return request.operation in self.operations.get(request.subresource, ())

    def matches(self, hard: Collection[str], scopes: Iterable[ScopeRequirement], obj: Any) -> bool:
        """Whether a quota with these limits and scopes applies to the object."""
        matches_scope = self.matches_scope
        return bool(self.matching_resources(hard)) and all(matches_scope(scope, obj) for scope in scopes)

    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """Return the names that this evaluator measures, sorted."""
        return intersection(names, self.resource_names)

    def matching_scopes(self, obj: Any, scopes: Iterable[ScopeRequirement]) -> list[ScopeRequirement]:
        """
        Return the scopes that the object is in.

        :raises ScopeError: if a scope is invalid; the error names it
        """
        matched = []
        for scope in scopes:
            try:
                if self.matches_scope(scope, obj):
                    matched.append(scope)
            except ScopeError as error:
                raise ScopeError(f"error on matching scope {scope}: {error}") from error
        return matched

    def uncovered_scopes(
        self, limited: Iterable[ScopeRequirement], matched: Iterable[ScopeRequirement]
    ) -> list[ScopeRequirement]:
        """Return the limited scopes that no quota's scope covers."""
        covered = {one.scope for one in matched}
        return [one for one in limited if one.scope not in covered]

    def usage(self, obj: Any) -> ResourceList:
        """
        Return the usage of an object.

        :raises ValueError: if it cannot be measured
        """
        return self.measure(obj)

    async def usage_stats(self, options: UsageStatsOptions) -> UsageStats:
        """
        Return the usage of a namespace's objects, including amounts of zero.

        :raises Exception: if it cannot be counted
        """
        version = self.source.version()
        objects = await self.source.list(options.namespace)
        return UsageStats(await self.add_up(objects, options), version)

    async def add_up(self, objects: Sequence[Any], options: UsageStatsOptions) -> ResourceList:
        """Return the usage of the objects that are in all scopes. Other tasks run in between."""
        tally = Tally(options.resources)
        usage, scopes, matches_scope = self.usage, options.scopes, self.matches_scope
        for begin in range(0, len(objects), SLICE):
            if begin:
                await checkpoint()
            for obj in objects[begin : begin + SLICE]:
                if all(matches_scope(scope, obj) for scope in scopes):
                    tally.add(usage(obj))
        return tally.total()
