"""Turns: when this replica may write a GroupQuota that other replicas write as well.

A write is stored only if nobody has written since the version that it was reckoned from. Without an order, the replica
that has just written is the first to know the new version, and so wins again and again, while the others try in vain.
So busy replicas take turns. They need no messages for that: every replica sees who has written, since the id of a
reservation begins with the name of its replica.

- Whoever has not written for the longest time is first. It writes as soon as it sees the last write.
- The others let it: the second waits one slot from the last write it has seen, the third two. A slot is the time in
  which a write should be made and seen. So a replica that is dead or has nothing to write holds the others up for a
  slot, and when it has missed two turns it is not waited for any more.
- Those who take turns do not know of a newcomer that tries in vain. So whoever is next lets some time pass now and
  then.
- A replica whose oldest request has less than half of its time left waits for shorter slots, down to none.

All this is about speed and fairness. That nothing is lost or charged twice depends on the server's comparison of
versions alone, and not on anybody's being patient.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kinformer.clock import Clock

__all__ = ("Turns",)

# A replica that has not written for so many seconds, and for so many slots, is nobody whom others wait for.
_BUSY_FOR, _BUSY_FOR_SLOTS = 2.0, 8.0

# Turns that a replica may miss in a row.
_MISSES: Final = 2

# A slot in seconds: at least, at most, and before a write was measured.
_LEAST, _MOST, _FIRST = 0.005, 2.0, 0.04

# A slot in times that a write takes on average. Some take three times as long, and each has to be seen by the others.
# A busy replica does not use its slot up, so that a long one costs only where somebody has nothing to write.
_WRITES: Final = 4.0

# How much the last write counts in the average.
_WEIGHT: Final = 0.2

# What is left to newcomers, in slots; and how often: each so many slots, or each so many seconds if that is sooner.
_GAP, _GAP_EACH, _GAP_AT_LEAST_EACH = 0.5, 10.0, 1.0


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
    #: When so much time had last passed between two writes that a newcomer could have written.
    passed: float = float("-inf")
    slot: float = _FIRST

    def written(self, now: float, seconds: float) -> None:
        """Somebody has written, which took about so long."""
        if now - seconds - self.last >= _GAP * self.slot:
            self.passed = now
        self.last = now


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
            at.written(now, at.slot / _WRITES)

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
        at.written(now, seconds)
        at.mine = now

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
        slot = at.slot * min(2.0 * patience, 1.0)
        busy_for = max(_BUSY_FOR, _BUSY_FOR_SLOTS * at.slot)
        turns = sum(other.is_before_me and now - other.written <= busy_for for other in at.others.values())
        is_newcomer = now - at.mine > busy_for
        if not turns and not is_newcomer and now - at.passed >= min(_GAP_EACH * at.slot, _GAP_AT_LEAST_EACH):
            return max(at.last + _GAP * slot - now, 0.0)
        return max(at.last + turns * slot - now, 0.0)
