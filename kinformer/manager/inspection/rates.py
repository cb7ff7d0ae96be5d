"""Rates and quantiles: how fast counters grow, and the median and the 99th percentile of measured times.

The code that counts only adds one to a counter. All counters are read about once a second, so measuring rates costs
nothing while the work is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

__all__ = ("EVERY", "Rates", "quantile")

#: Seconds between two readings.
EVERY: Final = 1.0
#: How many readings are kept. Rates are averages over this many seconds at most.
_KEPT: Final = 10


class Rates:
    """The values of counters over the last seconds."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, Mapping[Hashable, int]]] = deque(maxlen=_KEPT + 1)

    def is_due(self, now: float) -> bool:
        """Whether it is time for the next reading."""
        return not self._readings or now - self._readings[-1][0] >= EVERY

    def read(self, now: float, counters: Mapping[Hashable, int]) -> None:
        """
        Keep the current values of the counters.

        :param now: monotonic seconds
        """
        self._readings.append((now, counters))

    def per_second(self, counter: Hashable, count: int, now: float) -> float | None:
        """
        How fast a counter has grown since the oldest reading, per second. None if there is no earlier reading.

        :param count: the current value
        """
        for at, counters in self._readings:
            before = counters.get(counter)
            if before is not None and now > at:
                return max(count - before, 0) / (now - at)
        return None


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """
    The value that is greater than this share of the others; None if there are no values.

    :param ordered: the values, in order of size
    :param share: such as 0.5 for the median
    """
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else None
