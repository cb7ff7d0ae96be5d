"""Turns: when this replica may write a GroupQuota that other replicas write, too.

A write succeeds only if the quota has not changed since the version from which it was computed. Without an order, the
replica that wrote last is the first to know the new version. So it would win again and again, and the others would only
meet conflicts. So busy replicas take turns. They need no messages for this: the id of a reservation begins with the
name of its replica, so every replica sees which one has written.

- The replica that has not written for the longest time is first. It writes as soon as it sees the last write.
- The second one waits for one slot after the last write that it has seen, the third for two slots. A slot is the time
  in which a write should be made and seen. So a replica that is dead or has nothing to write delays the others by one
  slot. After it has missed two turns, the others no longer wait for it.
- A replica is overtaken if another one writes twice while it waits: they do not agree on whose turn it is, because one
  of them still waits for a dead one. It then waits for nobody, and for half as long as the others.
- Replicas that take turns do not know of a new replica that only meets conflicts. So the next one lets some time pass
  now and then.
- A replica whose oldest request has less than half of its time left waits for shorter slots, at last not at all.
- If several requests wait, or several replicas are busy, some time passes between two writes, so that the next one
  charges more requests. Each version of a quota is sent to all replicas, so versions cost more than requests.

Turns are only for speed and fairness. That no charge is lost or made twice depends only on the server's comparison of
versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kinformer.clock import Clock

__all__ = ("Turns",)

# The others do not wait for a replica that has not written for this many seconds and for this many slots.
_BUSY_FOR, _BUSY_FOR_SLOTS = 2.0, 8.0

# The number of turns that a replica may miss in a row.
_MISSES: Final = 2

# The length of a slot in seconds: the least, the greatest, and the first, before a write was measured.
_LEAST, _MOST, _FIRST = 0.005, 2.0, 0.04

# The length of a slot, as a multiple of the average duration of a write. Some writes take three times as long as the
# average, and the others have to see the write, too. A busy replica does not use the whole slot, so a long slot costs
# only if a replica has nothing to write.
_WRITES: Final = 4.0

# The weight of the last write in the average.
_WEIGHT: Final = 0.2

# The seconds between two writes of a busy quota.
_PACE: Final = 0.025

# The gap for new replicas, in slots; and its period: this many slots, or this many seconds if that is shorter.
_GAP, _GAP_EACH, _GAP_AT_LEAST_EACH = 0.5, 10.0, 1.0


@dataclass(slots=True)
class _Other:
    """Another replica that has written. Replicas are in the order of their last writes."""

    written: float
    #: Whether its turn is before this replica's, and how many turns it has missed.
    is_before_me: bool = False
    missed: int = 0


@dataclass(slots=True)
class _Quota:
    others: dict[str, _Other] = field(default_factory=dict)
    #: When the last write of any replica was seen, and when this replica last wrote.
    last: float = float("-inf")
    mine: float = float("-inf")
    #: Who has written since then, and whether one of them has done so twice.
    since: set[str] = field(default_factory=set)
    is_overtaken: bool = False
    #: When there was last a gap between two writes in which a new replica could have written.
    passed: float = float("-inf")
    slot: float = _FIRST

    @property
    def busy_for(self) -> float:
        """Seconds after its last write for which a replica counts as busy."""
        return max(_BUSY_FOR, _BUSY_FOR_SLOTS * self.slot)

    def written(self, now: float, seconds: float) -> None:
        """Note a write of any replica, and about how long it took."""
        if now - seconds - self.last >= _GAP * self.slot:
            self.passed = now
        self.last = now


class Turns:
    """
    The turns of this replica.

    :param name: its name, with which the ids of its reservations begin
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self._quotas: dict[str, _Quota] = {}

    def saw(self, quota: str, ids: Iterable[str]) -> None:
        """Note that reservations with these ids were added to a quota, in this order."""
        at: _Quota | None = None
        now = self._clock.monotonic()
        for name in dict.fromkeys(id_.partition("-")[0] for id_ in ids):
            if name == self._name:
                continue
            at = at or self._quotas.setdefault(quota, _Quota())
            at.others.pop(name, None)
            at.others[name] = _Other(now)
            at.is_overtaken |= name in at.since
            at.since.add(name)
            at.written(now, at.slot / _WRITES)

    def wrote(self, quota: str, seconds: float) -> None:
        """Note that this replica has charged a quota, and how long that took."""
        at, now = self._quotas.setdefault(quota, _Quota()), self._clock.monotonic()
        slot = min(max(_WRITES * seconds, _LEAST), _MOST)
        at.slot += _WEIGHT * (slot - at.slot)
        busy_for = at.busy_for
        for name, other in list(at.others.items()):
            if now - other.written > busy_for:
                del at.others[name]
            other.missed += other.is_before_me
            other.is_before_me = True
        at.written(now, seconds)
        at.mine = now
        at.since.clear()
        at.is_overtaken = False

    def forget(self, quota: str) -> None:
        """Forget a quota that is gone."""
        self._quotas.pop(quota, None)

    def pause(self, quota: str, patience: float = 1.0, waiting: int = 1) -> float:
        """
        Return the seconds until this replica may write a quota; 0 if it may do so now. Other writes can change this.

        :param patience: the remaining time of the request that has waited longest, as a fraction: from 1 down to 0
        :param waiting: how many requests wait here
        """
        at = self._quotas.get(quota)
        if at is None:
            return 0.0
        now = self._clock.monotonic()
        hurry = min(2.0 * patience, 1.0)
        busy = [other for other in at.others.values() if now - other.written <= at.busy_for]
        is_newcomer = now - at.mine > at.busy_for
        if is_newcomer or at.is_overtaken:
            return max(at.last + _PACE / 2 * hurry - now, 0.0) if busy else 0.0
        turns = sum(other.is_before_me and other.missed < _MISSES for other in busy)
        pause = turns * at.slot * hurry + (_PACE * hurry if busy or waiting > 1 else 0.0)
        if not turns and now - at.passed >= min(_GAP_EACH * at.slot, _GAP_AT_LEAST_EACH):
            pause += _GAP * at.slot * hurry
        return max(at.last + pause - now, 0.0)
