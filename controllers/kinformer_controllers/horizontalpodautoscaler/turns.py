"""When an autoscaler is evaluated next: once in a period, and together with the others of its namespace.

Autoscalers of one namespace can use one list of its pods' metrics, if they are evaluated one after the other. So in a
namespace with many autoscalers, all are due at one time in each period. Each namespace has another such time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from zlib import crc32

from kinformer.clock import Clock
from kinformer.workqueue import RateLimiter

__all__ = ("Turns",)

#: If less than this part of the period is left until the next turn, an autoscaler waits for the turn after it.
_LEAST: Final = 0.1


class Turns(RateLimiter[str]):
    """
    How long an autoscaler waits for its next evaluation. It is the same after a failed one.

    :param shares: whether a namespace has many autoscalers
    """

    def __init__(self, period: float, shares: Callable[[str], bool], clock: Clock) -> None:
        self._period = period
        self._shares = shares
        self._clock = clock

    def when(self, item: str) -> float:
        """The seconds until the next evaluation of an autoscaler."""
        namespace = item.partition("/")[0]
        if not self._shares(namespace):
            return self._period
        at = crc32(namespace.encode()) / 2**32 * self._period
        left = (at - self._clock.monotonic()) % self._period
        return left if left > _LEAST * self._period else left + self._period

    def num_requeues(self, item: str) -> int:
        return 1

    def forget(self, item: str) -> None:
        """Do nothing: no failures are counted."""
