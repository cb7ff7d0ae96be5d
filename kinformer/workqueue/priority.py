"""PriorityQueue: what matters more comes first.

After a restart an informer's first list adds every object there is. With ``LOW_PRIORITY`` those wait behind whatever
happens meanwhile, and a user's change is not an hour behind the backlog. The rules are controller-runtime's:

- the higher priority first; within one, in order of arrival;
- an item is in the queue once, with the highest priority and the earliest time that it was added with;
- an item whose priority rises goes to the end of the line of its new priority; it never falls;
- an item that had to wait is in line from when it is ready;
- an item that a worker holds can be added again; it keeps its place and is handed out once the worker is done.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import TypeVar

from kinformer.clock import Clock
from kinformer.workqueue.base import WorkQueue
from kinformer.workqueue.limiters import ItemExponentialFailureRateLimiter, RateLimiter
from kinformer.workqueue.metrics import MetricsProvider
from kinformer.workqueue.waiting import Waiting

__all__ = ("LOW_PRIORITY", "PriorityQueue")

T = TypeVar("T", bound=Hashable)

#: For what may wait: objects of an initial list, resyncs.
LOW_PRIORITY = -100

#: Entries that may be out of date before it is worth looking for them.
_SLACK = 64


class PriorityQueue(WorkQueue[T]):
    """
    A work queue with priorities, delays and rate limits.

    ``len()`` counts what is ready, including items that a worker holds and that were added again.

    :param limiter: says how long an item has to wait; each item from 5 ms doubling up to 1000 s if None
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
        self._limiter: RateLimiter[T] = (
            limiter if limiter is not None else ItemExponentialFailureRateLimiter(0.005, 1000.0)
        )
        #: Each item with its priority, negated, and its place among all that ever came: the least is the next.
        self._entries: dict[T, tuple[int, int, T]] = {}
        self._waiting: Waiting[T] = Waiting(self._clock, self._wait_is_over)
        #: What can be handed out, as a heap. What is not the item's entry any more is out of date.
        self._line: list[tuple[int, int, T]] = []
        self._places = 0
        self._draining = False

    def add(self, item: T) -> None:
        """Add `item` with priority 0, ready now."""
        self._add(item, 0.0, 0)

    def add_after(self, item: T, seconds: float) -> None:
        """Add `item` with priority 0, ready once so many seconds have passed."""
        self._add(item, seconds, 0)

    def add_rate_limited(self, item: T) -> None:
        """Add `item` with priority 0, ready when the limiter says that it may come back."""
        self.add_with_options(item, rate_limited=True)

    def add_with_options(
        self, *items: T, after: float = 0.0, rate_limited: bool = False, priority: int | None = None
    ) -> None:
        """
        Add items.

        :param after: seconds until they are ready
        :param rate_limited: ask the limiter as well; the shorter wait counts, if both ask for one
        :param priority: 0 if None; the higher, the earlier
        """
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
        As :meth:`get`, with the priority that the item had: what to give it if it has to come back.

        :raises ShutDown: if the queue is shut down and has nothing left to hand out
        """
        await self._until_ready()
        self.handed_out += 1
        priority = -self._line[0][0]
        return self._take(), priority

    def forget(self, item: T) -> None:
        """`item` needs no retries any more, for good or for bad: its next failure is its first."""
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """How often `item` has come back since it was last forgotten."""
        return self._limiter.num_requeues(item)

    def shut_down(self) -> None:
        """
        Take no further items and hand out none of those that are left.

        So controller-runtime has it; :meth:`shut_down_with_drain` hands out what is ready first.
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
        """Give `item` the last place for now among those of its rank."""
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
        # What a worker holds stays out of the line until it is done, and has its place in it then.
        if self._processing and item in self._processing:
            return
        entries, line = self._entries, self._line
        heapq.heappush(line, entries[item])
        # While what matters more keeps coming, nobody gets to the entries that risen items left further down.
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
