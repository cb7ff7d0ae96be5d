"""The queue of the nodes of one zone that have to be tainted: in order, each once, at a limited rate.

In: names of nodes. Out: calls with one name after the other. A name that is done cannot be added again until it was
removed. It is removed when the node is ready again, or when its taint is gone.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Awaitable, Callable
from typing import Final

from kinformer.clock import Clock
from kinformer.workqueue.bucket import TokenBucket

__all__ = ("Act", "ZoneQueue")

#: Called with a name. Returns None if it is done, otherwise the least seconds until the next try.
Act = Callable[[str], Awaitable[float | None]]

_BURST: Final = 1
#: Added to the time of a retry, so that it comes after names that were added meanwhile.
_A_MOMENT: Final = 1e-9
#: The number of outdated entries that is tolerated in the heap.
_SLACK: Final = 64


class ZoneQueue:
    """
    The queue.

    :param rate: names a second, the first one at once; 0 to stop
    """

    def __init__(self, rate: float, clock: Clock) -> None:
        self._clock = clock
        self.rate = rate
        self._bucket = TokenBucket(rate, _BURST, clock)
        #: Names that wait or are done.
        self._known: set[str] = set()
        #: By waiting name: the earliest time of its next try, and its place among names with the same time.
        self._waiting: dict[str, tuple[float, int]] = {}
        #: The same in order. An entry that differs from that in `_waiting` is outdated.
        self._heap: list[tuple[float, int, str]] = []
        self._sequence = itertools.count()

    def __len__(self) -> int:
        """Return the number of waiting names."""
        return len(self._waiting)

    def __contains__(self, name: str) -> bool:
        """Whether a name waits."""
        return name in self._waiting

    def add(self, name: str) -> bool:
        """Add a name, unless it was added before and not removed since. Returns whether it was added."""
        if name in self._known:
            return False
        self._known.add(name)
        self._put(name, self._clock.monotonic())
        return True

    def remove(self, name: str) -> bool:
        """Remove a name, so that it can be added again. Returns whether it was known."""
        if name not in self._known:
            return False
        self._known.discard(name)
        self._waiting.pop(name, None)
        return True

    def set_rate(self, rate: float) -> None:
        """
        Set the rate, in names a second; 0 to stop.

        If the next name had to wait at the old rate, it has to wait at the new rate, too.
        """
        if rate == self.rate:
            return
        may_go = self.rate > 0 and self._bucket.try_take()
        self.rate = rate
        self._bucket = TokenBucket(rate, _BURST, self._clock)
        if not may_go:
            self._bucket.try_take()

    def seconds_until_next(self) -> float | None:
        """Return the seconds until the next name; None if there is none before a name is added or the rate changes."""
        head = self._head()
        if head is None or self.rate <= 0:
            return None
        token = max((1.0 - self._bucket.tokens) / self.rate, 0.0)
        return max(token, self._waiting[head][0] - self._clock.monotonic(), 0.0)

    async def drain(self, act: Act) -> None:
        """Call `act` with one name after the other, as many as the rate allows now."""
        while (name := self._head()) is not None:
            now = self._clock.monotonic()
            if self.rate <= 0 or self._waiting[name][0] > now or not self._bucket.try_take():
                return
            again = await act(name)
            if name not in self._waiting:
                continue  # it was removed during the call
            if again is None:
                del self._waiting[name]
            else:
                self._put(name, now + again + _A_MOMENT)

    def _put(self, name: str, when: float) -> None:
        entry = when, next(self._sequence)
        self._waiting[name] = entry
        heapq.heappush(self._heap, (*entry, name))
        # A node that is added and removed while the rate is 0 leaves an outdated entry each time.
        if len(self._heap) > 2 * len(self._waiting) + _SLACK:
            self._heap = [(*entry, name) for name, entry in self._waiting.items()]
            heapq.heapify(self._heap)

    def _head(self) -> str | None:
        while self._heap:
            when, sequence, name = self._heap[0]
            if self._waiting.get(name) == (when, sequence):
                return name
            heapq.heappop(self._heap)
        return None
