"""Waiting: items that are not due yet, with one timer for all of them.

Queues with delays keep their waiting items here. Each item waits once, for the earliest of its times. There is no task
and no polling: the clock is asked for one call, at the time of the earliest item.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from kinformer.clock import Clock, Timer

__all__ = ("Waiting",)

T = TypeVar("T", bound=Hashable)

#: Number of outdated entries from which on it is worth removing them.
_SLACK = 64


class Waiting(Generic[T]):
    """
    :param ready: called from the event loop with each item when it is due, the earliest first
    """

    __slots__ = ("_armed_for", "_clock", "_due", "_heap", "_ready", "_sequence", "_timer")

    def __init__(self, clock: Clock, ready: Callable[[T], object]) -> None:
        self._clock = clock
        self._ready = ready
        #: The time at which each item is due, and its place among items with the same time.
        self._due: dict[T, tuple[float, int]] = {}
        #: The same as a heap. An entry that differs from the item's in `_due` is outdated.
        self._heap: list[tuple[float, int, T]] = []
        self._sequence = 0
        self._timer: Timer | None = None
        self._armed_for = 0.0

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, item: object) -> bool:
        return item in self._due

    def due_in(self, item: T) -> float | None:
        """Seconds until `item` is due, 0 if it is late; None if it does not wait."""
        due = self._due.get(item)
        return None if due is None else max(due[0] - self._clock.monotonic(), 0.0)

    def add(self, item: T, seconds: float) -> None:
        """
        Let `item` wait for `seconds`, or until its earlier time if it waits already.

        :raises ValueError: if `seconds` is NaN, which has no place among the times of other items
        """
        due = self._clock.monotonic() + seconds
        if due != due:
            raise ValueError(f"{item!r} cannot wait for {seconds} seconds")
        known = self._due.get(item)
        if known is None:
            self._sequence += 1
            sequence = self._sequence
        elif known[0] <= due:
            return
        else:
            sequence = known[1]
        self._put(item, due, sequence)
        if self._timer is None or due < self._armed_for:
            self._arm(due)

    def requeue(self, item: T) -> None:
        """Put `item`, which must be waiting, behind all others that are due at the same time."""
        self._sequence += 1
        self._put(item, self._due[item][0], self._sequence)

    def discard(self, item: T) -> None:
        """Remove `item`, if it waits."""
        if self._due.pop(item, None) is not None and not self._due:
            self.clear()

    def clear(self) -> list[T]:
        """Remove every item, and return them."""
        items = list(self._due)
        self._due.clear()
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return items

    def _put(self, item: T, due: float, sequence: int) -> None:
        self._due[item] = (due, sequence)
        heapq.heappush(self._heap, (due, sequence, item))
        # An item that waits for hours and is added with a shorter delay again and again leaves an entry each time.
        if len(self._heap) > 2 * len(self._due) + _SLACK:
            self._heap = [(due, sequence, item) for item, (due, sequence) in self._due.items()]
            heapq.heapify(self._heap)

    def _arm(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed_for = due
        self._timer = self._clock.call_later(due - self._clock.monotonic(), self._fire)

    def _fire(self) -> None:
        # Event loops fire timers a little early, because of their clock's resolution. The item that this timer was set
        # for counts as due when it fires, whatever the clock reads. Otherwise the queue would loop until the time
        # comes.
        now = max(self._clock.monotonic(), self._armed_for)
        self._timer = None
        heap = self._heap
        while heap:
            due, sequence, item = heap[0]
            if self._due.get(item) != (due, sequence):
                heapq.heappop(heap)
                continue
            if due > now:
                self._arm(due)
                return
            heapq.heappop(heap)
            del self._due[item]
            self._ready(item)
