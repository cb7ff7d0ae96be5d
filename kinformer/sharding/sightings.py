"""Sightings: which members live, by when a change of their Leases was last seen here.

The times in a Lease are its holder's and decide nothing. What counts is this process's own clock, which nobody can set:
a member whose Lease has not changed for its full duration is over. Until then it may still write, and nobody takes
anything from it.

A Lease that disappears has changed: its holder may have renewed it right before, and nobody here saw it. So that member
is waited out as well, unless it was this process that took the Lease, after the wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ("MemberLease", "Sightings")


@dataclass(frozen=True, slots=True)
class MemberLease:
    """
    A member's Lease, as it was read.

    :param version: another one is a change
    :param holds: whether it is held by the member whose it is
    :param seconds: how long it lasts
    :param leaving: whether the member gives up what it owns
    """

    name: str
    version: str
    holds: bool = True
    seconds: int = 0
    leaving: bool = False


@dataclass(slots=True)
class _Sighting:
    lease: MemberLease | None
    changed_at: float
    seconds: int


class Sightings:
    """
    :param seconds: how long this process's own Lease lasts, and with it that of a member whose Lease was never seen
    """

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._seen: dict[str, _Sighting] = {}

    def look(self, leases: Iterable[MemberLease], owners: Iterable[str], now: float) -> None:
        """
        Take note of what was just read.

        :param owners: who owns ranges, with or without a Lease
        :param now: a time after the answer was read
        """
        found: Mapping[str, MemberLease] = {lease.name: lease for lease in leases}
        owning = set(owners)
        for name in self._seen.keys() - found.keys() - owning:
            del self._seen[name]
        for name in found.keys() | owning:
            lease, before = found.get(name), self._seen.get(name)
            if before is None:
                seconds = lease.seconds if lease is not None else 0
                self._seen[name] = _Sighting(lease, now, max(seconds, self._seconds))
            elif lease is not None and (before.lease is None or lease.version != before.lease.version):
                before.lease, before.changed_at = lease, now
                before.seconds = max(lease.seconds, self._seconds)
            elif lease is None and before.lease is not None:
                before.lease, before.changed_at = None, now

    def took(self, name: str) -> None:
        """The Lease of a member that was over was taken here, as it was seen last."""
        self._seen[name].lease = None

    def live(self, now: float) -> frozenset[str]:
        """Those to whom ranges can be given."""
        return frozenset(
            name
            for name, seen in self._seen.items()
            if seen.lease is not None and seen.lease.holds and not seen.lease.leaving and not self.is_over(name, now)
        )

    def is_over(self, name: str, now: float) -> bool:
        """Whether a member cannot hold its Lease any more, if nobody renews it now."""
        seen = self._seen.get(name)
        return seen is not None and now >= seen.changed_at + seen.seconds

    def lease(self, name: str) -> MemberLease | None:
        """A member's Lease as it was seen last; None if it was gone."""
        seen = self._seen.get(name)
        return seen.lease if seen is not None else None

    @property
    def names(self) -> frozenset[str]:
        """All that were seen, dead ones included."""
        return frozenset(self._seen)

    def seconds_since_change(self, name: str, now: float) -> float:
        """For how long nothing has changed."""
        return now - self._seen[name].changed_at
