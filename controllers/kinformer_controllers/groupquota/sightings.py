"""Sightings: the reserved objects that this replica's caches have shown, and the objects that were charged.

Objects and quotas come by different watches. So an object can be in a cache before or after the quota with its
reservation. Therefore deleted objects and charges are remembered for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kinformer.clock import Clock
from kinformer.meta import GroupResource, accessor_of
from kinformer_controllers.groupquota.record import Record, Reservation, version_of
from kinformer_controllers.shared.quota.registry import Registry
from kinformer_controllers.shared.quota.sources import InformerSource

__all__ = ("ObjectKey", "Sightings")

K = TypeVar("K")

#: An object's resource and uid.
ObjectKey = tuple[GroupResource, str]


class Sightings:
    """
    The objects and charges that are remembered.

    :param registry: its evaluators have the caches
    :param seconds: how long deleted objects and charges are remembered
    """

    def __init__(self, registry: Registry, seconds: float, clock: Clock) -> None:
        self._registry = registry
        self._seconds = seconds
        self._clock = clock
        # By deleted object: the version of the deletion, and when its event came.
        self._gone: dict[ObjectKey, tuple[int, float]] = {}
        # By object whose event has not come yet: its reservations by quota, and since when.
        self._charged: dict[ObjectKey, tuple[dict[str, Reservation], float]] = {}
        # When each reservation was first seen, by quota and id.
        self._first_seen: dict[str, dict[str, float]] = {}

    # --- objects

    def stored_as(self, reservation: Reservation) -> int | None:
        """Return the version of the stored object that ends a reservation; None if there is none yet."""
        evaluator = self._registry.get(reservation.resource)
        source = evaluator.source if evaluator is not None else None
        if isinstance(source, InformerSource):
            found = source.find(reservation.namespace, reservation.name)
            if found is not None:
                accessor = accessor_of(found)
                version = accessor.resource_version(found)
                if reservation.is_shown_by(accessor.uid(found), version):
                    return version_of(version)
        return self.gone_as(reservation)

    def gone_as(self, reservation: Reservation) -> int | None:
        """Return the version at which an object was deleted; None if it was not."""
        gone = self._gone.get((reservation.resource, reservation.uid))
        return gone[0] if gone is not None else None

    def gone(self, resource: GroupResource, obj: Any) -> None:
        """Note that an object was deleted. A reservation for it may still come."""
        accessor, now = accessor_of(obj), self._clock.monotonic()
        _forget(self._gone, now - self._seconds, lambda one: one[1])
        self._gone[resource, accessor.uid(obj)] = version_of(accessor.resource_version(obj)), now

    # --- charges

    def know(self, quota: str, before: Record, now: Record) -> None:
        """Note the changes of a quota's record: new reservations are charges, and removed ones may be withdrawn."""
        time = self._clock.monotonic()
        seen = self._first_seen.get(quota, {})
        self._first_seen[quota] = {id_: seen.get(id_, time) for id_ in now.reservations}
        _forget(self._charged, time - self._seconds, lambda one: one[1])
        for id_ in before.reservations.keys() - now.reservations.keys():
            one = before.reservations[id_]
            known = self._charged.get((one.resource, one.uid))
            if known is not None and self.stored_as(one) is None:
                known[0].pop(quota, None)
        for id_ in now.reservations.keys() - before.reservations.keys():
            one = now.reservations[id_]
            if one.uid:
                charged, _ = self._charged.setdefault((one.resource, one.uid), ({}, time))
                charged[quota] = one

    def forget(self, quota: str) -> None:
        """Forget a quota that is gone."""
        self._first_seen.pop(quota, None)

    def seen_for(self, quota: str, id_: str) -> float:
        """Return the seconds since this replica first saw a reservation, by its own monotonic clock."""
        now = self._clock.monotonic()
        return now - self._first_seen.get(quota, {}).get(id_, now)

    def is_charged(self, quota: str, resource: GroupResource, uid: str, version: str) -> bool:
        """Whether this object, at this version, is known to have been charged to a quota."""
        known = self._charged.get((resource, uid))
        one = known[0].get(quota) if known is not None else None
        return one is not None and one.is_shown_by(uid, version)

    def told(self, resource: GroupResource, uid: str, version: str) -> None:
        """Note that all handlers have been called for an object, so that its charges are not needed again."""
        known = self._charged.get((resource, uid))
        if known is not None and all(one.is_shown_by(uid, version) for one in known[0].values()):
            del self._charged[resource, uid]


def _forget(remembered: dict[K, Any], before: float, time_of: Callable[[Any], float]) -> None:
    """Remove older entries from a dict that is in the order of time."""
    while remembered:
        first = next(iter(remembered))
        if time_of(remembered[first]) >= before:
            return
        del remembered[first]
