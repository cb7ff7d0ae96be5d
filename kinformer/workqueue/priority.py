"""PriorityQueue: items with a higher priority come first.

After a restart, an informer's first list adds every object. With ``LOW_PRIORITY`` these items wait behind all changes
that happen meanwhile. So a user's change does not wait an hour for the backlog. The rules are controller-runtime's:

- A higher priority comes first. Within one priority, items come in order of arrival.
- An item is in the queue once, with the highest priority and the earliest time that it was added with.
- An item whose priority rises goes to the end of the line of its new priority. A priority never falls.
- An item with a delay gets its place in line when it becomes ready.
- An item that a worker holds can be added again. It keeps its place, and is given out once the worker is done.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import TypeVar

from kinformer.arguments import want_limiter
from kinformer.clock import Clock
from kinformer.workqueue.base import WorkQueue
from kinformer.workqueue.limiters import ItemExponentialFailureRateLimiter, RateLimiter
from kinformer.workqueue.metrics import MetricsProvider
from kinformer.workqueue.waiting import Waiting

__all__ = ("LOW_PRIORITY", "PriorityQueue")

T = TypeVar("T", bound=Hashable)

#: The priority of items that may wait: objects of the first list, and resyncs.
LOW_PRIORITY = -100

#: Number of outdated entries from which on it is worth removing them.
_SLACK = 64


# More than 15 fields: one over, with those of every queue: the line, what waits for it, and what was handed out.
class PriorityQueue(WorkQueue[T]):
    """
    A work queue with priorities, delays and rate limits.

    ``len()`` counts items that are ready, including items that were added again while a worker holds them.

    :param limiter: decides how long an item must wait; by default each item waits 5 ms, doubling up to 1000 s
    """

    def __init__(
        self,
        name: str = "",
        *,
        limiter: RateLimiter[T] | None = None,
        clock: Clock | None = None,
        metrics: MetricsProvider | None = None,
    ) -> None:
        super().__init__(name, clock=clock, metrics=metrics)
        if limiter is not None:
            want_limiter(limiter, f"the limiter of queue {name}")
        self._limiter: RateLimiter[T] = (
            limiter if limiter is not None else ItemExponentialFailureRateLimiter(0.005, 1000.0)
        )
        #: Each item with its negated priority, and its place among all items that ever came: the least is next.
        self._entries: dict[T, tuple[int, int, T]] = {}
        self._waiting: Waiting[T] = Waiting(self._clock, self._wait_is_over)
        #: A heap of entries that can be given out. An entry that is not the item's present one is outdated.
        self._line: list[tuple[int, int, T]] = []
        self._places = 0
        self._draining = False

    def add(self, item: T) -> None:
        """Add `item` with priority 0, ready now."""
        self._add(item, 0.0, 0)

    def add_after(self, item: T, seconds: float) -> None:
        """
        Add `item` with priority 0, ready after `seconds`.

        :raises ValueError: if that is NaN
        """
        self.add_with_options(item, after=seconds)

    def add_rate_limited(self, item: T) -> None:
        """Add `item` with priority 0, ready when the limiter allows it."""
        self.add_with_options(item, rate_limited=True)

    def add_with_options(
        self, *items: T, after: float = 0.0, rate_limited: bool = False, priority: int | None = None
    ) -> None:
        """
        Add items.

        :param after: seconds until they are ready
        :param rate_limited: also use the limiter's delay; if `after` is given too, the shorter delay counts
        :param priority: items with a higher number come earlier; 0 if None
        :raises ValueError: if the delay or the priority is NaN, which has no place among those of other items
        """
        if after != after or priority != priority:
            raise ValueError(f"{items!r} cannot wait for {after} seconds with priority {priority}")
        if self._shutting_down:
            return
        for item in items:
            seconds = after
            if rate_limited:
                limited = self._limiter.when(item)
                seconds = min(limited, after) if after else limited
            self._add(item, seconds, priority or 0)

    async def get_with_priority(self) -> tuple[T, int]:
        """
        Like :meth:`get`, with the item's priority. Use it to add the item again if it has to come back.

        :raises ShutDown: if the queue is shut down and has no items left
        """
        await self._until_ready()
        self.handed_out += 1
        priority = -self._line[0][0]
        return self._take(), priority

    def forget(self, item: T) -> None:
        """Reset the retries of `item`, because it succeeded or was given up. Its next failure counts as the first."""
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """Number of retries of `item` since it was last forgotten."""
        return self._limiter.num_requeues(item)

    def shut_down(self) -> None:
        """
        Accept no more items, and give out none of the remaining ones, as in controller-runtime.

        :meth:`shut_down_with_drain` gives out the ready items first.
        """
        self._draining = False
        super().shut_down()

    async def shut_down_with_drain(self) -> None:
        self._draining = True
        await super().shut_down_with_drain()

    def __len__(self) -> int:
        return len(self._entries) - len(self._waiting)

    def _add(self, item: T, seconds: float, priority: int) -> None:
        if self._shutting_down:
            return
        if seconds > 0 and self._metrics is not None:
            self._metrics.retry()
        entry = self._entries.get(item)
        if entry is None:
            self._enter(item, -priority)
            if seconds > 0:
                self._waiting.add(item, seconds)
            else:
                self._line_up_new(item)
            return

        risen = -priority < entry[0]
        if risen:
            self._enter(item, -priority)
        if item in self._waiting:
            if seconds <= 0:
                self._waiting.discard(item)
                self._line_up_new(item)
                return
            self._waiting.add(item, seconds)
            if risen:
                self._waiting.requeue(item)
        elif risen:
            self._line_up(item)

    def _enter(self, item: T, rank: int) -> None:
        """Give `item` the last place among the items of its rank."""
        self._places += 1
        self._entries[item] = (rank, self._places, item)

    def _wait_is_over(self, item: T) -> None:
        self._enter(item, self._entries[item][0])
        self._line_up_new(item)

    def _line_up_new(self, item: T) -> None:
        if self._metrics is not None:
            self._metrics.add(item)
        self._line_up(item)

    def _line_up(self, item: T) -> None:
        # An item that a worker holds is not in the line until it is done. Then it gets its old place.
        if self._processing and item in self._processing:
            return
        entries, line = self._entries, self._line
        heapq.heappush(line, entries[item])
        # Entries that became outdated when a priority rose are at the end of the heap. They are not reached while items
        # with a higher priority keep coming.
        if len(line) > 2 * len(entries) + _SLACK:
            self._line = [entry for entry in line if entries.get(entry[2]) is entry]
            heapq.heapify(self._line)
        if self._waiters:
            self._wake()

    def _ready(self) -> bool:
        if self._shutting_down and not self._draining:
            return False
        line = self._line
        while line:
            if self._entries.get(line[0][2]) is line[0]:
                return True
            heapq.heappop(line)
        return False

    def _take(self) -> T:
        _, _, item = heapq.heappop(self._line)
        del self._entries[item]
        if self._metrics is not None:
            self._metrics.get(item)
        self._processing.add(item)
        return item

    def _release(self, item: T) -> None:
        if item in self._entries and item not in self._waiting:
            self._line_up(item)

    def _stop(self) -> None:
        super()._stop()
        for item in self._waiting.clear():
            del self._entries[item]
