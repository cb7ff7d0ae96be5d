"""The nodes of one zone that are to be tainted: each once, first come first served, at no more than a rate.

In: names of nodes. Out: calls with one name after the other. A node that was tainted is not taken again until somebody
has removed it: it is removed when it is ready again, or when its taint has gone.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Awaitable, Callable
from typing import Final

from kinformer.clock import Clock
from kinformer.workqueue.bucket import TokenBucket

__all__ = ("Act", "ZoneQueue")

#: Is given a name. Returns None when it is done with it, or the seconds after which to try again at the earliest.
Act = Callable[[str], Awaitable[float | None]]

_BURST: Final = 1
#: Later than the moment itself: what failed stands behind what came in meanwhile.
_A_MOMENT: Final = 1e-9
#: Entries that may be out of date before it is worth looking for them.
_SLACK: Final = 64


class ZoneQueue:
    """
    :param rate: names a second, the first one at once; 0 for none
    """

    def __init__(self, rate: float, clock: Clock) -> None:
        self._clock = clock
        self.rate = rate
        self._bucket = TokenBucket(rate, _BURST, clock)
        #: Names that are not taken again, whether they wait or were done.
        self._known: set[str] = set()
        #: When each name that waits may be tried, and its place among those of the same time.
        self._waiting: dict[str, tuple[float, int]] = {}
        #: The same in order; an entry that is not in `_waiting` as it stands here is out of date.
        self._heap: list[tuple[float, int, str]] = []
        self._sequence = itertools.count()

    def __len__(self) -> int:
        """How many names wait."""
        return len(self._waiting)

    def __contains__(self, name: str) -> bool:
        """Whether a name waits."""
        return name in self._waiting

    def add(self, name: str) -> bool:
        """Have a name wait, unless it was added before and not removed since; whether it was taken."""
        if name in self._known:
            return False
        self._known.add(name)
        self._put(name, self._clock.monotonic())
        return True

    def remove(self, name: str) -> bool:
        """Forget a name, so that it can be added anew; whether it was known."""
        if name not in self._known:
            return False
        self._known.discard(name)
        self._waiting.pop(name, None)
        return True

    def set_rate(self, rate: float) -> None:
        """
        Let so many names a second through from now on, 0 for none.

        Nothing is gained by the change: if the next name would have had to wait, it waits as long as the new rate says.
        """
        if rate == self.rate:
            return
        may_go = self.rate > 0 and self._bucket.try_take()
        self.rate = rate
        self._bucket = TokenBucket(rate, _BURST, self._clock)
        if not may_go:
            self._bucket.try_take()

    def seconds_until_next(self) -> float | None:
        """Seconds until there is something to do; None if there is not, unless a name comes or the rate changes."""
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
                continue  # it was removed meanwhile
            if again is None:
                del self._waiting[name]
            else:
                self._put(name, now + again + _A_MOMENT)

    def _put(self, name: str, when: float) -> None:
        entry = when, next(self._sequence)
        self._waiting[name] = entry
        heapq.heappush(self._heap, (*entry, name))
        # A node that comes and goes while nothing is let through leaves an entry each time.
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
