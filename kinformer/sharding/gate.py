"""RangeGate: decides which keys may be synced in this process at the moment.

A worker that has taken a key from its queue asks the gate first. A range is in one of these states:

    elsewhere --claimed--> filling --filled--> open --drain--> draining --gave_up--> elsewhere
                              |                  ^                 |
                              +------drain-------|---------------->+
                                                 +------keep-------+

- elsewhere: the key is dropped. When the range comes to this member, its objects are added, and their handlers queue
  the keys. A key whose objects are held by all members waits here instead, because no event would queue it again.
- filling: the caches do not have the range's objects yet. The key waits here, and is queued again when they have them.
- open: the key is synced, if the guard allows writes.
- draining: no further key is synced. The member waits until running syncs have ended. If the range stays,
  waiting keys are queued again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum

from kinformer.sharding.hashing import Ranges

__all__ = ("RangeGate", "RangeState")


class RangeState(Enum):
    """The state of a range for this member. A range that has none of these is elsewhere."""

    FILLING = "filling"
    OPEN = "open"
    DRAINING = "draining"


class RangeGate:
    """
    The gate of one member. It knows the state of each range.

    :param may_write: whether this process may write now
    :param on_drained: called when the last running sync of a draining range has ended
    """

    def __init__(
        self,
        ranges: Ranges,
        may_write: Callable[[], bool],
        on_drained: Callable[[], object] = lambda: None,
    ) -> None:
        self.ranges = ranges
        #: The number of syncs that were begun so far.
        self.syncs = 0
        #: The ranges in which a sync was cancelled. Its last write may still be on its way.
        self._cut: set[int] = set()
        self._may_write = may_write
        self._on_drained = on_drained
        self._states: dict[int, RangeState] = {}
        #: The ranges whose objects are in the caches.
        self._filled: set[int] = set()
        #: The number of each range's claim. A range that left and came back must be filled again.
        self._claims: dict[int, int] = {}
        self._claimed = 0
        self._running: Counter[int] = Counter()
        self._waiting: dict[int, dict[object, Callable[[], object]]] = {}
        #: The keys that keep waiting while their range is elsewhere, like those above.
        self._lasting: dict[int, dict[object, Callable[[], object]]] = {}

    # --- called by workers

    @property
    def by_owner(self) -> bool:
        """Whether objects are divided by their owner."""
        return self.ranges.by_owner

    @contextmanager
    def entered(
        self, text: str, key: object, again: Callable[[], object], *, held_by_all: bool = False
    ) -> Iterator[bool]:
        """
        Give whether a key may be synced. The answer holds until the context is left.

        :param text: the part of the key that is hashed
        :param key: identifies this key among those that wait
        :param again: called to queue the key again, if it cannot be synced yet
        :param held_by_all: whether its objects are in the caches even while its range is elsewhere
        """
        number = self.ranges.of(text)
        state = self._states.get(number)
        if state is not RangeState.OPEN or not self._may_write():
            if held_by_all:
                self._lasting.setdefault(number, {})[key] = again
            elif state is not None:
                self._waiting.setdefault(number, {})[key] = again
            yield False
            return
        self.syncs += 1
        self._running[number] += 1
        try:
            yield True
        except BaseException:
            self._cut.add(number)
            raise
        finally:
            self._running[number] -= 1
            if not self._running[number]:
                del self._running[number]
                if self._states.get(number) is RangeState.DRAINING:
                    self._on_drained()

    # --- state

    @property
    def held(self) -> frozenset[int]:
        """The ranges that are not elsewhere."""
        return frozenset(self._states)

    @property
    def states(self) -> dict[int, RangeState]:
        """The state of each range that is not elsewhere."""
        return dict(self._states)

    @property
    def draining(self) -> frozenset[int]:
        """The ranges of which no further keys are synced."""
        return self.in_state(RangeState.DRAINING)

    def in_state(self, state: RangeState) -> frozenset[int]:
        """The ranges in one state."""
        return frozenset(number for number, found in self._states.items() if found is state)

    @property
    def drained(self) -> frozenset[int]:
        """The draining ranges without running syncs, and without syncs that were cancelled halfway."""
        return frozenset(number for number in self.draining - self._cut if number not in self._running)

    @property
    def has_cut(self) -> bool:
        """Whether a range does not count as drained because one of its syncs was cancelled."""
        return bool(self._cut)

    @property
    def running(self) -> int:
        """Number of keys that are being synced."""
        return self._running.total()

    # --- called by the member

    def claim(self, numbers: Collection[int]) -> None:
        """Note that these ranges are ours. Their objects are not in the caches yet."""
        self._claimed += 1
        for number in numbers:
            self._states[number] = RangeState.FILLING
            self._claims[number] = self._claimed
            self._filled.discard(number)

    @property
    def unfilled(self) -> dict[int, int]:
        """The ranges whose objects are not in the caches yet, with the numbers of their claims for :meth:`filled`."""
        return {number: claim for number, claim in self._claims.items() if number not in self._filled}

    def filled(self, claims: Mapping[int, int]) -> None:
        """Note that the objects of these ranges are in the caches, and open those that are not draining."""
        for number, claim in claims.items():
            if self._claims.get(number) != claim:
                continue
            self._filled.add(number)
            if self._states[number] is RangeState.FILLING:
                self._open(number)

    def drain(self, numbers: Collection[int]) -> None:
        """Sync no further keys of these ranges."""
        for number in numbers:
            if number in self._states:
                self._states[number] = RangeState.DRAINING

    def keep(self, numbers: Collection[int]) -> None:
        """Stop draining these ranges, because they stay."""
        for number in numbers:
            if self._states.get(number) is not RangeState.DRAINING:
                continue
            if number in self._filled:
                self._open(number)
            else:
                self._states[number] = RangeState.FILLING

    def gave_up(self, numbers: Collection[int]) -> None:
        """Note that these ranges are not ours any more."""
        for number in numbers:
            self._states.pop(number, None)
            self._claims.pop(number, None)
            self._waiting.pop(number, None)
            self._filled.discard(number)

    def forget_cuts(self) -> None:
        """Note that writes of cancelled syncs have arrived by now, or never will."""
        self._cut.clear()

    def let_waiting_in(self) -> None:
        """If this process may write now, queue the keys again that came while it was not allowed to."""
        if self._may_write():
            for number in self.in_state(RangeState.OPEN) & (self._waiting.keys() | self._lasting.keys()):
                self._open(number)

    def _open(self, number: int) -> None:
        self._states[number] = RangeState.OPEN
        for waiting in (self._waiting, self._lasting):
            for again in waiting.pop(number, {}).values():
                again()
