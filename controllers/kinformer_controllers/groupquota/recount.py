"""Recounting one GroupQuota, and writing its status if it has changed.

The usage is the sum of stored objects and reservations. The stored objects are read from caches in one step and then
measured, while requests are still charged. The new usage is the sum of the measured objects and of all reservations
that are in the record *at the time of the write* and whose objects were not measured. So nothing is counted twice or
left out.

One case needs care: another replica may have ended a reservation because its cache has the object, while the cache that
was counted does not have it yet. So the record has the resource versions that a cache must have reached. If a cache has
not, the recount ends with :exc:`CacheBehind` and is repeated later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from anyio.lowlevel import checkpoint

from kinformer.client import Client, Conflict
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, accessor_of
from kinformer.meta.quantity import Quantity
from kinformer.meta.resourcelist import ResourceList, add, load, mask, remove_zeros, subtract_non_negative
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor, Namespaces
from kinformer_controllers.groupquota.group_quota import GroupQuota, MalformedStatus, Selects, hard_of, read_group_quota
from kinformer_controllers.groupquota.record import Record, Reservation, version_of
from kinformer_controllers.groupquota.reservations import ReservationLedger
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.shared.quota.admission import time_limit
from kinformer_controllers.shared.quota.evaluator import SLICE, Evaluator, UsageStatsOptions
from kinformer_controllers.shared.quota.registry import Registry

__all__ = ("CacheBehind", "GroupRecounter", "Recounted")

log = get_logger(__name__)

_TRIES: Final = 20

# The time limit of a write, in seconds.
_WRITE_TIMEOUT: Final = 10.0

# How often caches with pending changes are checked before the recount begins anyway.
_PATIENCE: Final = 100

#: Returns a resource's newest version on the server.
NewestVersion = Callable[[GroupResource], Awaitable[int]]


class CacheBehind(Exception):
    """
    A cache does not have objects yet that are in a quota's usage.

    :ivar resource: the resource of the cache
    :ivar wanted: the resource version that the cache has not reached
    """

    def __init__(self, quota: str, resource: GroupResource, wanted: int, have: int) -> None:
        super().__init__(
            f"GroupQuota {quota} cannot be counted: the cache of {resource} has version {have}, and needs {wanted}"
        )
        self.resource = resource
        self.wanted = wanted


@dataclass(slots=True)
class Recounted:
    """
    The result of a recount.

    :ivar obj: the quota; None if it is gone
    :ivar errors: the errors of evaluators that could not count
    """

    obj: Mapping[str, Any] | None = None
    errors: list[Exception] = field(default_factory=list)


@dataclass(slots=True)
class _Snapshot:
    """The objects in the caches at one moment."""

    quota: GroupQuota
    hard: ResourceList
    #: The evaluators, each with the names that it measures and its objects by namespace.
    objects: list[tuple[Evaluator, list[str], dict[str, list[Any]]]] = field(default_factory=list)
    #: By resource, the version that its cache had reached.
    versions: dict[GroupResource, int] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    # For resources and namespaces with reservations: the versions of their objects, by uid.
    _uids: dict[tuple[GroupResource, str], dict[str, str]] = field(default_factory=dict)

    def shown_as(self, reservation: Reservation) -> int | None:
        """Return the version of a reserved object, if it was among the counted ones."""
        place = reservation.resource, reservation.namespace
        if place not in self._uids:
            self._uids[place] = {
                accessor.uid(obj): accessor.resource_version(obj)
                for evaluator, _, there in self.objects
                if evaluator.group_resource == reservation.resource
                for obj in there.get(reservation.namespace, ())
                for accessor in (accessor_of(obj),)
            }
        version = self._uids[place].get(reservation.uid)
        if version is None or not reservation.is_shown_by(reservation.uid, version):
            return None
        return version_of(version)


@dataclass(eq=False)
class GroupRecounter:
    """
    Recounts GroupQuotas.

    :param sightings: knows which objects were deleted
    :param newest_version: reads a resource's newest version from the server
    """

    accessor: GroupQuotaAccessor
    namespaces: Namespaces
    ledger: ReservationLedger
    sightings: Sightings
    registry: Registry
    newest_version: NewestVersion
    clock: Clock

    async def recount(self, name: str, client: Client, began: Callable[[], object] = lambda: None) -> Recounted:
        """
        Recount a quota.

        :param client: the client to write with
        :param began: called at the moment at which the objects are read
        :raises CacheBehind: if a cache does not have objects yet that another replica has seen
        :raises GroupQuotaError: if the quota is invalid
        :raises ClientError: if it could not be written
        :raises EvaluationTimedOut: if the write took too long
        """
        result = Recounted()
        obj = self.accessor.newest(name)
        if obj is None:
            return result
        result.obj = obj
        with self.ledger.measuring(name):
            snapshot = await self._snapshot(obj, began)
            result.errors = snapshot.errors
            stored = await self._measure(snapshot)
            await self._correct(name, snapshot, stored, client)
        return result

    async def _snapshot(self, obj: dict[str, Any], began: Callable[[], object]) -> _Snapshot:
        """Read the objects from the caches, with the version of each cache that has no pending changes."""
        quota, hard = self._read(obj), hard_of(obj)
        evaluators = [
            (evaluator, names) for evaluator in self.registry.list() if (names := evaluator.matching_resources(hard))
        ]
        for _ in range(_PATIENCE):
            if all(evaluator.source.version() for evaluator, _ in evaluators):
                break
            await checkpoint()
        # From here on no other task runs, because the caches are read without awaiting anything.
        began()
        snapshot = _Snapshot(quota, hard)
        selects = quota.selects
        assert isinstance(selects, Selects), "every GroupQuota has its selector"
        namespaces = [namespace for namespace in self.namespaces.names if selects.namespace(namespace)]
        for evaluator, names in evaluators:
            version = version_of(evaluator.source.version())
            try:
                there = {namespace: list(await evaluator.source.list(namespace)) for namespace in namespaces}
            except Exception as error:  # of any type: the amounts of other evaluators must not be lost
                snapshot.errors.append(error)
                snapshot.lost.update(names)
                continue
            snapshot.objects.append((evaluator, names, there))
            snapshot.versions[evaluator.group_resource] = version
        return snapshot

    async def _measure(self, snapshot: _Snapshot) -> ResourceList:
        """Return the usage of the stored objects, as far as it can be counted."""
        quota, used = snapshot.quota, dict[str, Quantity]()
        is_about = quota.selects.object if isinstance(quota.selects, Selects) else lambda _: True
        for evaluator, names, there in snapshot.objects:
            try:
                selected: list[Any] = []
                looked_at = 0
                for objects in there.values():
                    selected += filter(is_about, objects)
                    looked_at += len(objects)
                    if looked_at > SLICE:
                        looked_at = 0
                        await checkpoint()
                used = add(used, await evaluator.add_up(selected, UsageStatsOptions("", quota.scopes, names)))
            except Exception as error:  # of any type, as above
                snapshot.errors.append(error)
                snapshot.lost.update(names)
        return {name: used[name] for name in used if name in snapshot.hard and name not in snapshot.lost}

    async def _correct(self, name: str, snapshot: _Snapshot, stored: ResourceList, client: Client) -> None:
        """Write the measured usage, with the reservations at the time of the write."""
        for tries_left in range(_TRIES - 1, -1, -1):
            async with self.ledger.counting():
                obj = await self.accessor.read_surely(name)
                if obj is None or obj["metadata"]["uid"] != snapshot.quota.uid:
                    return
                before = self._read(obj)
                now = self.ledger.presented(before)
                await self._check_versions(now, snapshot)
                record = now.record.without(*self._counted(now.record, snapshot))
                if not record.is_kept:
                    record = self._inheriting(before, stored)
                used = mask(now.used, snapshot.hard) | add(stored, mask(record.amounts(), stored))
                after = replace(now, hard=snapshot.hard, used=used, record=record)
                if (used, after.hard, record) == (before.used, before.hard, before.record) and before.is_counted:
                    return
                try:
                    # There is a time limit, because charges wait for this write.
                    with time_limit(_WRITE_TIMEOUT, self.clock):
                        await self.accessor.write(after, client)
                except Conflict:
                    if not tries_left:
                        raise
                    continue
            log.debug("group_quota_recounted", quota=name, used={key: str(value) for key, value in used.items()})
            return

    async def _check_versions(self, now: GroupQuota, snapshot: _Snapshot) -> None:
        """
        Check that the caches have reached the versions in the record.

        :raises CacheBehind: if a cache has not
        """
        for resource, version in snapshot.versions.items():
            wanted = now.record.counted.get(resource, 0)
            # If even the server has not reached the version, its storage was replaced, and the version means nothing.
            if version >= wanted:
                continue
            try:
                newest = await self.newest_version(resource)
            except LookupError:
                newest = wanted
            if newest >= wanted:
                raise CacheBehind(now.name, resource, wanted, version)

    def _counted(self, record: Record, snapshot: _Snapshot) -> tuple[set[str], dict[GroupResource, int]]:
        """Return the reservations whose objects were counted or already deleted, and the versions of these objects."""
        ids: set[str] = set()
        versions: dict[GroupResource, int] = {}
        for one in record.reservations.values():
            version = snapshot.shown_as(one)
            if version is None:
                version = self.sightings.stored_as(one)
                if version is None or version > snapshot.versions.get(one.resource, -1):
                    continue
            ids.add(one.id)
            versions[one.resource] = max(version, versions.get(one.resource, 0))
        return ids, versions

    def _inheriting(self, before: GroupQuota, stored: ResourceList) -> Record:
        """
        Make a record for the charges of an older version of the webhook.

        Charges without stored objects may be of requests that are still running, so all of them become one reservation.
        """
        status = before.source.get("status") or {}
        more = remove_zeros(mask(subtract_non_negative(load(status.get("used")), stored), stored))
        one = self.ledger.inherited(more)
        return Record({one.id: one} if more else {})

    def _read(self, obj: dict[str, Any]) -> GroupQuota:
        try:
            return self.accessor.understood(obj)
        except MalformedStatus as error:
            log.warning("group_quota_status_replaced", quota=obj["metadata"]["name"], error=str(error))
            return read_group_quota({**obj, "status": {}}, self.namespaces.labels)
