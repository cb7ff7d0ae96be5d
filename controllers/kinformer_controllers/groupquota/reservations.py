"""The ledger: the reservations that this replica will write, and those that it has to withdraw.

A reservation is made when a request has been checked, and is written with its charge. It ends in one of three ways:

- Its object is stored: a cache has an object with the uid that the API server had assigned before it called the
  webhook; for an update, the object has a later version. The object then counts like any other. The leader ends such
  reservations, with its next charge or in the background; another replica does so only if there are very many.
- The replica that made it withdraws it: the request was refused after all, or its caller has gone away.
- Its time is over, measured by the leader from when it first saw the reservation. See
  :mod:`~kinformer_controllers.groupquota.tidying`.
"""

from __future__ import annotations

import itertools
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

import anyio

from kinformer.clock import Clock
from kinformer.meta import GroupResource, accessor_of
from kinformer.meta.resourcelist import ResourceList, mask, remove_zeros, subtract, subtract_non_negative
from kinformer_controllers.groupquota.group_quota import GroupQuota
from kinformer_controllers.groupquota.record import RECORD_LIMIT, Record, Reservation
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.shared.quota.admission import Holder, NoRoom
from kinformer_controllers.shared.quota.evaluator import Request
from kinformer_controllers.shared.quota.limits import Quota

__all__ = ("RecordFull", "ReservationLedger", "releasing")

#: If a quota has more reservations than this, each replica ends those whose objects it sees: there seems to be no
#: leader. All reservations are in each write, and every replica reads them.
MANY: Final = 50


class RecordFull(NoRoom):
    """A GroupQuota has so many reservations that another one would not fit into the object."""

    def __init__(self, quota: GroupQuota) -> None:
        super().__init__(
            f"GroupQuota {quota.name} has {len(quota.record.reservations)} reservations, and no room for another"
        )


@dataclass(slots=True)
class _Charge:
    """The charge of one request. It has the same id in all quotas."""

    id: str
    quotas: set[str] = field(default_factory=set)
    is_withdrawn: bool = False


class ReservationLedger:
    """
    The reservations of this replica.

    :param seconds: the longest time that a reservation lasts
    :param limit: the largest size of one quota's reservations, in bytes
    :ivar prefix: the ids of this replica's reservations begin with this and a dash
    :ivar leads: whether this replica leads, and so ends the reservations of stored objects
    :ivar withdrawn: called with the name of each quota with a reservation to withdraw
    :ivar updated: called with the name of a quota when the reservation of an update has ended, because it is not known
        whether the update itself was stored
    """

    def __init__(self, seconds: float, clock: Clock, sightings: Sightings, *, limit: int = RECORD_LIMIT) -> None:
        self.seconds = seconds
        self.prefix = secrets.token_hex(4)
        self.leads = False
        self.withdrawn: Callable[[str], object] = lambda _: None
        self.updated: Callable[[str], object] = lambda _: None
        self._clock = clock
        self._sightings = sightings
        self._limit = limit
        self._lock = anyio.Lock()
        self._numbers = itertools.count()
        # By quota and id: reservations that are written with the quota's next charge.
        self._pending: defaultdict[str, dict[str, Reservation]] = defaultdict(dict)
        # By quota: the ids of reservations to withdraw, and since when.
        self._withdrawn: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._measured: set[str] = set()

    @asynccontextmanager
    async def charging(self) -> AsyncIterator[None]:
        """Hold the lock of this process for computing and writing charges."""
        async with self._lock:
            self._pending.clear()
            yield

    #: The same for a recount.
    counting = charging

    @contextmanager
    def measuring(self, quota: str) -> Iterator[None]:
        """In this block, this replica ends no reservation of the quota, because its objects are being measured."""
        self._measured.add(quota)
        try:
            yield
        finally:
            self._measured.discard(quota)

    # --- charges

    def reserve(self, holder: Holder, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """
        Reserve the difference, with which the request will be charged.

        :raises RecordFull: if one of the quotas has no room for it
        """
        charge = holder.kept
        if charge is None:
            charge = holder.kept = _Charge(f"{self.prefix}-{next(self._numbers):x}")
        assert isinstance(charge, _Charge), "only this ledger uses the holder"
        made = {}
        for old, new in zip(before, after, strict=True):
            if new is old:
                continue
            assert isinstance(new, GroupQuota), "only GroupQuotas are charged here"
            one = self._reservation(charge.id, request, remove_zeros(subtract(new.used, old.used)))
            size = new.record.size + sum(other.size for other in self._pending[new.name].values()) + one.size
            if size > self._limit:
                raise RecordFull(new)
            made[new.name] = one
        for name, one in made.items():
            self._pending[name][charge.id] = one
        charge.quotas.update(made)

    def inherited(self, amounts: ResourceList) -> Reservation:
        """Make a reservation for charges without a record. Only the time limit ends it."""
        id_ = f"{self.prefix}-{next(self._numbers):x}"
        return Reservation(id_, GroupResource("", ""), "", "", "", "", amounts, self._expiry())

    def _expiry(self) -> str:
        return f"{self._clock.now() + timedelta(seconds=self.seconds):%Y-%m-%dT%H:%M:%SZ}"

    def _reservation(self, id_: str, request: Request, amounts: ResourceList) -> Reservation:
        accessor, old = accessor_of(request.object), request.old_object
        return Reservation(
            id_,
            request.resource,
            request.namespace,
            request.name or accessor.name(request.object),
            accessor.uid(request.object),
            accessor.resource_version(old) if old is not None else "",
            amounts,
            self._expiry(),
        )

    def is_charged(self, holder: Holder, quota: Quota) -> bool:
        """Whether a charge was written although the answer to the write was lost."""
        charge = holder.kept
        return isinstance(charge, _Charge) and isinstance(quota, GroupQuota) and charge.id in quota.record.reservations

    def withdraw(self, holder: Holder) -> None:
        """Withdraw all charges of a request, because it is refused or its caller has gone away."""
        charge = holder.kept
        if not isinstance(charge, _Charge) or charge.is_withdrawn:
            return
        charge.is_withdrawn = True
        now = self._clock.monotonic()
        for name in charge.quotas:
            # It stays in the pending reservations: the usage that is about to be written includes it, so the record
            # must have it, too.
            self._withdrawn[name][charge.id] = now
            self.withdrawn(name)

    # --- records

    def presented(self, quota: GroupQuota) -> GroupQuota:
        """Return a quota without the reservations that are withdrawn, or whose objects are stored."""
        record = quota.record
        if not record.reservations:
            return quota
        withdrawn = self._to_withdraw(quota)
        if withdrawn:
            quota = releasing(quota, withdrawn)
            record = quota.record
        if quota.name in self._measured or not (self.leads or len(record.reservations) > MANY):
            return quota
        ended: set[str] = set()
        versions: dict[GroupResource, int] = {}
        for one in record.reservations.values():
            version = self._sightings.stored_as(one)
            if version is None:
                continue
            ended.add(one.id)
            versions[one.resource] = max(version, versions.get(one.resource, 0))
            if one.old_version:
                self.updated(quota.name)
        return replace(quota, record=record.without(ended, versions)) if ended else quota

    def _to_withdraw(self, quota: GroupQuota) -> set[str]:
        ids = self._withdrawn.get(quota.name)
        if not ids:
            return set()
        over = self._clock.monotonic() - self.seconds
        for id_ in [id_ for id_, since in ids.items() if since < over]:
            del ids[id_]
        return {id_ for id_ in ids if id_ in quota.record.reservations}

    def to_write(self, quota: GroupQuota) -> Record:
        """Return a quota's record with the pending reservations. Call it once for each write."""
        return quota.record.adding(self._pending.pop(quota.name, {}))


def releasing(quota: GroupQuota, ids: set[str]) -> GroupQuota:
    """Return a quota without some reservations, and with their amounts subtracted from its usage."""
    used = quota.used
    for id_ in ids:
        amounts = mask(quota.record.reservations[id_].amounts, used)
        used = {**used, **mask(subtract_non_negative(used, amounts), amounts)}
    return replace(quota, used=used, record=quota.record.without(ids))
