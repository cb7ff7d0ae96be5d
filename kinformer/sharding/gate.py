"""RangeGate: which keys may be synced here now.

A worker that has taken a key from its queue asks the gate first. A range is in one of these states:

    elsewhere --claimed--> filling --filled--> open --drain--> draining --gave_up--> elsewhere
                              |                  ^                 |
                              +------drain-------|---------------->+
                                                 +------keep-------+

- elsewhere: the key is dropped. When the range comes, its objects come as new ones, and with them its keys. A key whose
  objects are held by all members waits here instead, as no event will tell of it again.
- filling: the caches do not have the range's objects yet. The key waits here and is queued again when they do.
- open: the key is synced, while the guard lets this process write.
- draining: no key is let in; those that are being synced are waited for. Should the range stay, they are queued again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum

from kinformer.sharding.hashing import Ranges

__all__ = ("RangeGate", "RangeState")


class RangeState(Enum):
    """What a range is to this member; a range that is in none of these is elsewhere."""

    FILLING = "filling"
    OPEN = "open"
    DRAINING = "draining"


class RangeGate:
    """
    :param may_write: whether this process may write now
    :param on_drained: called when the last running sync of a range that is drained has ended
    """

    def __init__(
        self,
        ranges: Ranges,
        may_write: Callable[[], bool],
        on_drained: Callable[[], object] = lambda: None,
    ) -> None:
        self.ranges = ranges
        #: The ranges of which a sync was cancelled, and with it perhaps a write that was on its way.
        self._cut: set[int] = set()
        self._may_write = may_write
        self._on_drained = on_drained
        self._states: dict[int, RangeState] = {}
        #: Those whose objects are there.
        self._filled: set[int] = set()
        #: Which claim of each range it is: one that went and came back has to be filled again.
        self._claims: dict[int, int] = {}
        self._claimed = 0
        self._running: Counter[int] = Counter()
        self._waiting: dict[int, dict[object, Callable[[], object]]] = {}
        #: The same of keys that wait also while their range is elsewhere.
        self._lasting: dict[int, dict[object, Callable[[], object]]] = {}

    # --- what workers ask

    @contextmanager
    def entered(
        self, text: str, key: object, again: Callable[[], object], *, held_by_all: bool = False
    ) -> Iterator[bool]:
        """
        Whether a key may be synced, for as long as this context lasts.

        :param text: what is hashed of the key
        :param key: what tells it from other keys that wait
        :param again: queues it, should it be one that waits
        :param held_by_all: whether the objects that it is about are there also while its range is elsewhere
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

    # --- what is known

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
        """Those of which no more keys are let in."""
        return self.in_state(RangeState.DRAINING)

    def in_state(self, state: RangeState) -> frozenset[int]:
        """The ranges in one state."""
        return frozenset(number for number, found in self._states.items() if found is state)

    @property
    def drained(self) -> frozenset[int]:
        """Those that are to be drained, and of which nothing runs, nor was cancelled in the middle."""
        return frozenset(number for number in self.draining - self._cut if number not in self._running)

    @property
    def has_cut(self) -> bool:
        """Whether there is a range that is not drained because one of its syncs was cancelled."""
        return bool(self._cut)

    @property
    def running(self) -> int:
        """How many keys are being synced."""
        return self._running.total()

    # --- what the member says

    def claim(self, numbers: Collection[int]) -> None:
        """These are ours; their objects are not there yet."""
        self._claimed += 1
        for number in numbers:
            self._states[number] = RangeState.FILLING
            self._claims[number] = self._claimed
            self._filled.discard(number)

    @property
    def unfilled(self) -> dict[int, int]:
        """The ranges whose objects are not there yet, each with what :meth:`filled` wants to know of its claim."""
        return {number: claim for number, claim in self._claims.items() if number not in self._filled}

    def filled(self, claims: Mapping[int, int]) -> None:
        """The objects are there of what was :attr:`unfilled`: let the keys in of all that are still to be served."""
        for number, claim in claims.items():
            if self._claims.get(number) != claim:
                continue
            self._filled.add(number)
            if self._states[number] is RangeState.FILLING:
                self._open(number)

    def drain(self, numbers: Collection[int]) -> None:
        """Let no more keys of these in."""
        for number in numbers:
            if number in self._states:
                self._states[number] = RangeState.DRAINING

    def keep(self, numbers: Collection[int]) -> None:
        """These were to be drained, and stay."""
        for number in numbers:
            if self._states.get(number) is not RangeState.DRAINING:
                continue
            if number in self._filled:
                self._open(number)
            else:
                self._states[number] = RangeState.FILLING

    def gave_up(self, numbers: Collection[int]) -> None:
        """These are not ours any more."""
        for number in numbers:
            self._states.pop(number, None)
            self._claims.pop(number, None)
            self._waiting.pop(number, None)
            self._filled.discard(number)

    def forget_cuts(self) -> None:
        """What was on its way when syncs were cancelled has arrived, or never will."""
        self._cut.clear()

    def let_waiting_in(self) -> None:
        """Queue again what came while this process could not write, if it can now."""
        if self._may_write():
            for number in self.in_state(RangeState.OPEN) & (self._waiting.keys() | self._lasting.keys()):
                self._open(number)

    def _open(self, number: int) -> None:
        self._states[number] = RangeState.OPEN
        for waiting in (self._waiting, self._lasting):
            for again in waiting.pop(number, {}).values():
                again()
