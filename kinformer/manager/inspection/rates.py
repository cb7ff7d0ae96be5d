"""Rates: how fast counters grow, from what they were at a few moments.

Whoever counts only adds one. What becomes of that in a second is found out here, by reading all counters every so
often: nothing is measured while the work is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Final

__all__ = ("EVERY", "Rates")

#: Seconds between two readings.
EVERY: Final = 1.0
#: Readings that are kept: rates are over this many seconds at most.
_KEPT: Final = 10


class Rates:
    """Readings of counters over the last seconds."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, Mapping[Hashable, int]]] = deque(maxlen=_KEPT + 1)

    def is_due(self, now: float) -> bool:
        """Whether the last reading is long enough ago for another one."""
        return not self._readings or now - self._readings[-1][0] >= EVERY

    def read(self, now: float, counters: Mapping[Hashable, int]) -> None:
        """
        Keep what the counters are now.

        :param now: monotonic seconds
        """
        self._readings.append((now, counters))

    def per_second(self, counter: Hashable, count: int, now: float) -> float | None:
        """
        How fast a counter has grown to `count`, since the oldest reading; None if there is nothing to compare with.
        """
        for at, counters in self._readings:
            before = counters.get(counter)
            if before is not None and now > at:
                return max(count - before, 0) / (now - at)
        return None
