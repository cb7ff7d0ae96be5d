"""Reservations: what has been charged for objects that nobody has seen yet.

A reservation is made before its charge is written, and is given up when an informer has seen the object, when the
charge could not be written, or when its time is over. To have seen the object means: of a create, one of the uid that
the API server had given it before it asked; of an update, a later version than the request was about.

Without a uid there is only the name, under which objects come and go, and of which informers tell late: then each
object that is new to the informer gives up one reservation, the oldest of that name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio

from kinformer.clock import Clock
from kinformer.meta import GroupResource, accessor_of
from kinformer.meta.resourcelist import ResourceList, remove_zeros, subtract, total
from kinformer_controllers.shared.quota.evaluator import Request
from kinformer_controllers.shared.quota.limits import Quota

__all__ = ("ReservationLedger",)


_NONE: Final[frozenset[str]] = frozenset()


@dataclass(eq=False, slots=True)
class _Reservation:
    holder: Hashable
    place: tuple[GroupResource, str, str]
    uid: str
    old_version: str
    amounts: dict[str, ResourceList]
    expires: float


class ReservationLedger:
    """
    What is reserved, and the lock under which it agrees with what is written.

    A charge is reserved and written under that lock, and under it a recount takes its snapshot: of the quota's usage,
    of what is reserved, and of what is stored. Without it a charge that is reserved and not yet written would look like
    one that has been lost, and be charged twice.

    :param seconds: how long a reservation stands at most
    :param freed: is told of each quota of which something was reserved that will never be stored
    """

    def __init__(self, seconds: float, clock: Clock, freed: Callable[[str], object] = lambda _: None) -> None:
        self.seconds = seconds
        self._clock = clock
        self.freed = freed
        self._lock = anyio.Lock()
        # In the order in which they run out, which is that of their making.
        self._by_holder: dict[Hashable, _Reservation] = {}
        self._by_place: defaultdict[tuple[GroupResource, str, str], list[_Reservation]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._by_holder)

    @asynccontextmanager
    async def charging(self) -> AsyncIterator[None]:
        """Nobody else charges, and no recount looks, before this is left."""
        async with self._lock:
            yield

    #: The same for a recount.
    counting = charging

    def reserve(self, holder: Hashable, request: Request, before: Sequence[Quota], after: Sequence[Quota]) -> None:
        """A request is about to be charged the difference."""
        amounts = {
            new.name: remove_zeros(subtract(new.used, old.used))
            for old, new in zip(before, after, strict=True)
            if new is not old
        }
        known = self._by_holder.get(holder)
        if known is not None:
            known.amounts.update(amounts)
            return
        accessor = accessor_of(request.object)
        name = request.name or accessor.name(request.object)
        old = request.old_object
        reservation = _Reservation(
            holder,
            (request.resource, request.namespace, name),
            accessor.uid(request.object),
            accessor.resource_version(old) if old is not None else "",
            amounts,
            self._clock.monotonic() + self.seconds,
        )
        self._by_holder[holder] = reservation
        self._by_place[reservation.place].append(reservation)

    def withdraw(self, holder: Hashable, quotas: Collection[str] | None = None) -> None:
        """A charge was not written, or its object will never be stored: those of some quotas, or all."""
        reservation = self._by_holder.get(holder)
        if reservation is None:
            return
        freed = (
            list(reservation.amounts) if quotas is None else [name for name in quotas if name in reservation.amounts]
        )
        for name in freed:
            del reservation.amounts[name]
            self.freed(name)
        if not reservation.amounts:
            self._release([reservation])

    def seen(self, resource: GroupResource, obj: Any, is_new: bool) -> frozenset[str]:
        """
        An informer has seen an object, or that it is gone; its store knows of it.

        :param is_new: it had not seen this one before
        :return: the names of the quotas that the object was charged to, as far as that was reserved until now
        """
        accessor = accessor_of(obj)
        waiting = self._by_place.get((resource, accessor.namespace(obj), accessor.name(obj)))
        if not waiting:
            return _NONE
        uid, version = accessor.uid(obj), accessor.resource_version(obj)
        known = [one for one in waiting if one.uid and one.uid == uid and _is_later(version, one.old_version)]
        anonymous = next((one for one in waiting if not one.uid), None)
        if is_new and not known and anonymous is not None:
            known.append(anonymous)
        self._release(known)
        return frozenset(name for one in known for name in one.amounts)

    def reserved(self, quota: str) -> ResourceList:
        """All that is reserved of a quota."""
        self._expire()
        return total(one.amounts[quota] for one in self._by_holder.values() if quota in one.amounts)

    def until_next_end(self, quota: str) -> float | None:
        """Seconds until the first reservation of a quota runs out; None if it has none."""
        for one in self._by_holder.values():
            if quota in one.amounts:
                return max(one.expires - self._clock.monotonic(), 0.0)
        return None

    def _expire(self) -> None:
        now = self._clock.monotonic()
        over = []
        for one in self._by_holder.values():
            if one.expires > now:
                break
            over.append(one)
        self._release(over)
        for one in over:
            for name in one.amounts:
                self.freed(name)

    def _release(self, reservations: Iterable[_Reservation]) -> None:
        for one in reservations:
            del self._by_holder[one.holder]
            waiting = self._by_place[one.place]
            waiting.remove(one)
            if not waiting:
                del self._by_place[one.place]


def _is_later(version: str, other: str) -> bool:
    if version.isdecimal() and other.isdecimal():
        return int(version) > int(other)
    return version != other
