"""Turns: when this replica may write a GroupQuota that other replicas write as well.

A write is stored only if nobody has written since the version that it was reckoned from. Without an order, the replica
that has just written is the first to know the new version, and so wins again and again, while the others try in vain.
So busy replicas take turns. They need no messages for that: every replica sees who has written, since the id of a
reservation begins with the name of its replica.

- Whoever has not written for the longest time is first. It writes as soon as it sees the last write.
- The others let it: the second waits one slot from the last write it has seen, the third two. A slot is the time in
  which a write should be made and seen. So a replica that is dead or has nothing to write holds the others up for a
  slot, and when it has missed two turns it is not waited for any more.
- A replica that writes alone cannot know whether another one tries in vain. So it lets some time pass now and then.
- A replica whose oldest request has little time left waits for a shorter slot, in proportion.

All this is about speed and fairness. That nothing is lost or charged twice depends on the server's comparison of
versions alone, and not on anybody's being patient.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kinformer.clock import Clock

__all__ = ("Turns",)

# Seconds after which a replica that has not written is nobody whom others wait for.
_BUSY_FOR: Final = 2.0

# Turns that a replica may miss in a row.
_MISSES: Final = 2

# A slot in seconds: at least, at most, and before a write was measured.
_LEAST, _MOST, _FIRST = 0.005, 1.0, 0.04

# A slot in times that a write takes on average. Some take three times as long, and each has to be seen by the others.
# A busy replica does not use its slot up, so that a long one costs only where somebody has nothing to write.
_WRITES: Final = 4.0

# How much the last write counts in the average.
_WEIGHT: Final = 0.2

# What a replica that writes alone leaves to others, in slots; and how often: in slots, and in seconds at least.
_GAP, _ALONE, _ALONE_AT_MOST = 0.5, 10.0, 1.0


@dataclass(slots=True)
class _Other:
    """A replica that has written. The order of these is the order of their last writes."""

    written: float
    #: Whether it has written since this replica did, and how many turns it has missed.
    is_before_me: bool = False
    missed: int = 0


@dataclass(slots=True)
class _Quota:
    others: dict[str, _Other] = field(default_factory=dict)
    #: When anybody was seen to write last, and when this replica did.
    last: float = float("-inf")
    mine: float = float("-inf")
    #: When this replica last let so much time pass that others could write of whom nobody knows.
    passed: float = float("-inf")
    slot: float = _FIRST


class Turns:
    """
    :param name: what the ids of this replica's reservations begin with
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self._quotas: dict[str, _Quota] = {}

    def saw(self, quota: str, ids: Iterable[str]) -> None:
        """Reservations with these ids were added to a quota, in this order."""
        at: _Quota | None = None
        now = self._clock.monotonic()
        for name in dict.fromkeys(id_.partition("-")[0] for id_ in ids):
            if name == self._name:
                continue
            at = at or self._quotas.setdefault(quota, _Quota())
            at.others.pop(name, None)
            at.others[name] = _Other(now)
            at.last = now

    def wrote(self, quota: str, seconds: float) -> None:
        """This replica has charged a quota, which took so long."""
        at, now = self._quotas.setdefault(quota, _Quota()), self._clock.monotonic()
        slot = min(max(_WRITES * seconds, _LEAST), _MOST)
        at.slot += _WEIGHT * (slot - at.slot)
        for name, other in list(at.others.items()):
            if other.is_before_me:
                other.missed += 1
                if other.missed >= _MISSES:
                    del at.others[name]
            other.is_before_me = True
        if now - at.mine >= _GAP * at.slot + seconds:
            at.passed = now
        at.last = at.mine = now

    def forget(self, quota: str) -> None:
        """A quota is gone."""
        self._quotas.pop(quota, None)

    def pause(self, quota: str, patience: float = 1.0) -> float:
        """
        Seconds until this replica may write a quota; 0 if it may now. Others' writes can change that at any time.

        :param patience: what is left of the time of the request that has waited longest, from 1 down to 0
        """
        at = self._quotas.get(quota)
        if at is None:
            return 0.0
        now = self._clock.monotonic()
        before_me = [other for other in at.others.values() if now - other.written <= _BUSY_FOR]
        if before_me:
            turns = sum(other.is_before_me for other in before_me)
            return max(at.last + turns * at.slot * patience - now, 0.0)
        if now - at.passed < min(_ALONE * at.slot, _ALONE_AT_MOST):
            return 0.0
        return max(at.mine + _GAP * at.slot * patience - now, 0.0)
