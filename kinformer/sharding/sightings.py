"""Sightings: decides which members are alive, by the time at which a change of their Leases was last seen here.

The times in a Lease are written by its holder and are not used. Only this process's own clock counts, which cannot be
set. A member whose Lease has not changed for its full duration has expired. Until then it may still write, and no range
is taken from it.

A Lease that disappears counts as changed: its holder may have renewed it right before, without being seen here. So the
duration is waited for that member as well, unless this process itself took the Lease, after the wait.

The duration in a Lease is a text that anybody may write. No more than :data:`~kinformer.sharding.options.LONGEST_LEASE`
is waited for. A member that owns no range has nothing to write to. It can be given ranges only while its Lease changes
as often as this process's own would, so a Lease that nobody renews keeps no range from the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kinformer.sharding.load import Load
from kinformer.sharding.options import LONGEST_LEASE

__all__ = ("MemberLease", "Sightings")


@dataclass(frozen=True, slots=True)
class MemberLease:
    """
    A member's Lease, as it was read.

    :param version: its resourceVersion; another one means a change
    :param holds: whether the Lease is held by its own member
    :param seconds: the duration of the Lease
    :param leaving: whether the member is giving up its ranges
    :param load: its load; None if it does not say
    """

    name: str
    version: str
    holds: bool = True
    seconds: int = 0
    leaving: bool = False
    load: Load | None = None


@dataclass(slots=True)
class _Sighting:
    lease: MemberLease | None
    changed_at: float
    seconds: int


class Sightings:
    """
    :param seconds: the duration of this process's own Lease, also used for members whose Lease was never seen
    """

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._seen: dict[str, _Sighting] = {}
        self._owning: frozenset[str] = frozenset()

    def look(self, leases: Iterable[MemberLease], owners: Iterable[str], now: float) -> None:
        """
        Note the Leases that were just read.

        :param owners: the members that own ranges, with or without a Lease
        :param now: a time after the response was read
        """
        found: Mapping[str, MemberLease] = {lease.name: lease for lease in leases}
        self._owning = owning = frozenset(owners)
        for name in self._seen.keys() - found.keys() - owning:
            del self._seen[name]
        for name in found.keys() | owning:
            lease, before = found.get(name), self._seen.get(name)
            if before is None:
                self._seen[name] = _Sighting(lease, now, self._duration(lease))
            elif lease is not None and (before.lease is None or lease.version != before.lease.version):
                before.lease, before.changed_at = lease, now
                before.seconds = self._duration(lease)
            elif lease is None and before.lease is not None:
                before.lease, before.changed_at = None, now

    def took(self, name: str) -> None:
        """Note that this process took the Lease of an expired member, unchanged since it was seen."""
        self._seen[name].lease = None

    def live(self, now: float) -> frozenset[str]:
        """The members that can be given ranges."""
        return frozenset(name for name, seen in self._seen.items() if self._is_live(name, seen, now))

    def _is_live(self, name: str, seen: _Sighting, now: float) -> bool:
        if seen.lease is None or not seen.lease.holds or seen.lease.leaving:
            return False
        return now < seen.changed_at + (seen.seconds if name in self._owning else self._seconds)

    def _duration(self, lease: MemberLease | None) -> int:
        return max(min(lease.seconds, LONGEST_LEASE) if lease is not None else 0, self._seconds)

    @property
    def longest(self) -> int:
        """Seconds for which any member that was seen may still write: the longest duration of their Leases."""
        return max((seen.seconds for seen in self._seen.values()), default=self._seconds)

    def is_over(self, name: str, now: float) -> bool:
        """Whether a member's Lease has expired, if it is not renewed now."""
        seen = self._seen.get(name)
        return seen is not None and now >= seen.changed_at + seen.seconds

    def lease(self, name: str) -> MemberLease | None:
        """A member's Lease as it was seen last; None if it was gone."""
        seen = self._seen.get(name)
        return seen.lease if seen is not None else None

    def loads(self, now: float) -> list[Load]:
        """The loads of the members that can be given ranges, as far as they say."""
        leases = (self._seen[name].lease for name in self.live(now))
        return [lease.load for lease in leases if lease is not None and lease.load is not None]

    @property
    def names(self) -> frozenset[str]:
        """The names of all members that were seen, including dead ones."""
        return frozenset(self._seen)

    def seconds_since_change(self, name: str, now: float) -> float:
        """Seconds since the last change of a member's Lease was seen."""
        return now - self._seen[name].changed_at
