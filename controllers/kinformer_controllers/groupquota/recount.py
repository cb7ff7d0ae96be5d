"""Recounting one GroupQuota: what its status should say, and writing that when it says something else.

What is used is what is stored and what is reserved. Both, and the usage that the status tells, are read at one moment
at which no charge is being written and every handler has been told of all that the caches show: an object is then
either stored or reserved, never both and never neither. The objects of that moment are measured at leisure, while
charges go on; what is written in the end is the difference between what was found and what was told, added to whatever
is told by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from anyio.lowlevel import checkpoint

from kinformer.client import Conflict
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta.quantity import Quantity
from kinformer.meta.resourcelist import ResourceList, add, mask, maximum, subtract
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor, Namespaces
from kinformer_controllers.groupquota.group_quota import MalformedStatus, Selects, hard_of, read_group_quota
from kinformer_controllers.groupquota.reservations import ReservationLedger
from kinformer_controllers.shared.quota.admission import time_limit
from kinformer_controllers.shared.quota.evaluator import SLICE, GenericEvaluator, UsageStatsOptions
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.registry import Registry

__all__ = ("GroupRecounter", "Recounted")

log = get_logger(__name__)

_TRIES: Final = 5

# Seconds that a write may take.
_WRITE_TIMEOUT: Final = 10.0

# How often handlers are waited for that have not been told of all that the caches show.
_PATIENCE: Final = 100


@dataclass(slots=True)
class Recounted:
    """
    What came of a recount.

    :ivar obj: the quota; None if it is gone
    :ivar errors: why something could not be counted
    :ivar is_exact: whether it was taken at a moment at which every object was in one place; else it may be too much
    """

    obj: Mapping[str, Any] | None = None
    errors: list[Exception] = field(default_factory=list)
    is_exact: bool = True


@dataclass(slots=True)
class _Snapshot:
    """What there was at one moment."""

    quota: Quota
    hard: ResourceList
    reserved: ResourceList
    #: The objects that each evaluator counts, by namespace, and the names that it measures.
    objects: list[tuple[GenericEvaluator, list[str], list[tuple[str, list[Any]]]]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)


class GroupRecounter:
    """
    :param has_told: whether the handlers have been told of all that the caches show
    :param keeps: whether a quota's usage must not become less: what a process before this one has charged may be on its
        way
    """

    def __init__(
        self,
        accessor: GroupQuotaAccessor,
        namespaces: Namespaces,
        ledger: ReservationLedger,
        registry: Registry,
        has_told: Callable[[], bool],
        keeps: Callable[[Mapping[str, Any]], bool],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._accessor = accessor
        self._namespaces = namespaces
        self._ledger = ledger
        self._registry = registry
        self._has_told = has_told
        self._keeps = keeps

    async def recount(self, name: str, began: Callable[[], object] = lambda: None) -> Recounted:
        """
        Recount a quota.

        :param began: called at the moment whose objects are counted
        :raises GroupQuotaError: if it makes no sense
        :raises ClientError: if it could not be written
        :raises EvaluationTimedOut: if that took too long
        """
        result = Recounted()
        patience = _PATIENCE
        while True:
            async with self._ledger.counting():
                result.is_exact = self._has_told()
                if result.is_exact or not patience:
                    began()
                    snapshot = await self._look(name)
                    break
            patience -= 1
            await checkpoint()
        if snapshot is None:
            return result
        result.obj, result.errors = snapshot.quota.source, snapshot.errors
        stored = await self._measure(snapshot)
        found = mask(add(stored, mask(snapshot.reserved, stored)), snapshot.hard)
        await self._correct(name, snapshot, subtract(found, mask(snapshot.quota.used, stored)))
        return result

    async def _look(self, name: str) -> _Snapshot | None:
        """Nothing else happens in between: caches are read without waiting."""
        obj = self._accessor.newest(name)
        if obj is None:
            return None
        quota, hard = self._read(obj), hard_of(obj)
        snapshot = _Snapshot(quota, hard, self._ledger.reserved(name))
        selects = quota.selects
        assert isinstance(selects, Selects), "every GroupQuota has its selector"
        namespaces = [namespace for namespace in self._namespaces.names if selects.namespace(namespace)]
        for evaluator in self._registry.list():
            names = evaluator.matching_resources(hard)
            if not names or not isinstance(evaluator, GenericEvaluator):
                continue
            try:
                there = [(namespace, list(await evaluator.source.list(namespace))) for namespace in namespaces]
            except Exception as error:  # whatever it is, what others measure is not to be lost
                snapshot.errors.append(error)
                snapshot.lost.update(names)
                continue
            snapshot.objects.append((evaluator, names, there))
        return snapshot

    async def _measure(self, snapshot: _Snapshot) -> ResourceList:
        """What is stored, of all that can be counted."""
        quota, used = snapshot.quota, dict[str, Quantity]()
        is_about = quota.selects.object if isinstance(quota.selects, Selects) else lambda _: True
        for evaluator, names, there in snapshot.objects:
            try:
                selected: list[Any] = []
                looked_at = 0
                for _, objects in there:
                    selected += filter(is_about, objects)
                    looked_at += len(objects)
                    if looked_at > SLICE:
                        looked_at = 0
                        await checkpoint()
                used = add(used, await evaluator.add_up(selected, UsageStatsOptions("", quota.scopes, names)))
            except Exception as error:  # as above
                snapshot.errors.append(error)
                snapshot.lost.update(names)
        return {name: used[name] for name in used if name in snapshot.hard and name not in snapshot.lost}

    async def _correct(self, name: str, snapshot: _Snapshot, correction: ResourceList) -> None:
        """Write what was found out. What has been charged since the snapshot is left as it is."""
        hard = snapshot.hard
        for tries_left in range(_TRIES - 1, -1, -1):
            async with self._ledger.counting():
                obj = self._accessor.newest(name)
                if obj is None or obj["metadata"]["uid"] != snapshot.quota.source["metadata"]["uid"]:
                    return
                now = self._read(obj)
                used = mask(add(now.used, correction), hard)
                if self._keeps(obj):
                    used = mask(maximum(now.used, used), hard)
                if used == now.used and hard == now.hard and "used" in (now.source.get("status") or {}):
                    return
                try:
                    # Charges wait for this.
                    with time_limit(_WRITE_TIMEOUT, self._clock):
                        await self._accessor.update(Quota("", name, (), hard, used, now.source))
                except Conflict:
                    if not tries_left:
                        raise
                    continue
            log.debug("group_quota_recounted", quota=name, used={key: str(value) for key, value in used.items()})
            return

    def _read(self, obj: Mapping[str, Any]) -> Quota:
        try:
            return read_group_quota(obj, self._namespaces.labels)
        except MalformedStatus as error:
            log.warning("group_quota_status_written_anew", quota=obj["metadata"]["name"], error=str(error))
            return read_group_quota({**obj, "status": {}}, self._namespaces.labels)
