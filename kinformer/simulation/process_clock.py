"""The clock of a simulated process, which may be wrong, and the time at which every run begins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio

from kinformer.clock import Timer
from kinformer.simulation.loop import SimulatedLoop

__all__ = ("EPOCH", "ProcessClock")

#: The wall-clock time at which every run begins.
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)


class ProcessClock:
    """
    The clock of a process: the loop's time, and a wall clock that may be wrong.

    :ivar skew: by how many seconds its wall clock is ahead of the others
    :ivar zone: by how much its local time is ahead of UTC
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        self.skew = 0.0
        self.zone = timedelta()
        self._loop = loop
        self._rate = 1.0
        self._set_at = self._set_to = 0.0

    def monotonic(self) -> float:
        return self._set_to + (self._loop.time() - self._set_at) * self._rate

    @property
    def rate(self) -> float:
        """How many seconds this clock counts in one second of the world."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._set_to, self._set_at, self._rate = self.monotonic(), self._loop.time(), rate

    def leap(self, seconds: float) -> None:
        """Move the monotonic time forward, as if the machine had slept. Timers that were set stay as they are."""
        self._set_to += seconds

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self._loop.time() + self.skew)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return self._loop.call_later(max(seconds, 0.0) / self._rate, callback)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(seconds, 0.0) / self._rate)
