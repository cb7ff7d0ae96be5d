"""Time, as everything here asks for it: a clock that runs by itself, and one that tests turn.

Queues that delay, informers that resync, leases that expire and limiters that refill take a :class:`Clock` and never
ask the operating system or the event loop on their own. With a :class:`FakeClock` in its place an hour passes in
microseconds, and two runs of a test are the same run.

Seconds are floats. ``monotonic()`` is for distances, ``now()`` for what is written into objects.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio
import anyio.lowlevel

__all__ = ("Clock", "FakeClock", "RealClock", "Timer", "sleep_by_timer")


class Timer(Protocol):
    """A call that is due at some time and can be called off until then."""

    def cancel(self) -> None:
        """Call it off. Cancelling one that has fired, or was cancelled, does nothing."""


class Clock(Protocol):
    """Where time comes from."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    def now(self) -> datetime:
        """The time of day, in UTC."""

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """
        Have `callback` called from the event loop once so many seconds have passed.

        Must be called from the event loop's thread.
        """

    async def sleep(self, seconds: float) -> None:
        """Return once so many seconds have passed; at once, but not before others had their turn, for none or less."""


async def sleep_by_timer(clock: Clock, seconds: float) -> None:
    """Sleep on a clock whose time is not the event loop's: what the ``sleep`` of such a clock does."""
    if seconds <= 0:
        await anyio.lowlevel.checkpoint()
        return
    woken = anyio.Event()
    timer = clock.call_later(seconds, woken.set)
    try:
        await woken.wait()
    finally:
        timer.cancel()


class RealClock:
    """The operating system's time and the running event loop's timers."""

    # Itself, not a method that calls it: it is read with every notification of an informer.
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(max(seconds, 0.0), callback)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(seconds, 0.0))


@dataclass(eq=False, slots=True)
class _FakeTimer:
    callback: Callable[[], object] | None

    def cancel(self) -> None:
        self.callback = None


_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(eq=False, slots=True)
class FakeClock:
    """
    A clock that stands still until it is turned.

    :param start: the time of day at which it starts
    """

    start: datetime = _EPOCH
    _elapsed: float = field(default=0.0, init=False)
    _due: list[tuple[float, int, _FakeTimer]] = field(default_factory=list, init=False)
    _order: itertools.count[int] = field(default_factory=itertools.count, init=False)

    def monotonic(self) -> float:
        return self._elapsed

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self._elapsed)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        timer = _FakeTimer(callback)
        heapq.heappush(self._due, (self._elapsed + max(seconds, 0.0), next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        await sleep_by_timer(self, seconds)

    @property
    def next_due(self) -> float | None:
        """Seconds until the next timer fires, None when there is none: what a test asserts instead of waiting."""
        while self._due and self._due[0][2].callback is None:
            heapq.heappop(self._due)
        return self._due[0][0] - self._elapsed if self._due else None

    def turn(self, seconds: float) -> None:
        """
        Let so many seconds pass: every timer that falls due fires, in its order, each at its own time.

        Tasks that were woken run when the caller next awaits; :meth:`advance` awaits them.
        """
        end = self._elapsed + seconds
        while (wait := self.next_due) is not None and self._elapsed + wait <= end:
            self._fire()
        self._elapsed = end

    async def advance(self, seconds: float) -> None:
        """
        Let so many seconds pass, and after each timer wait until every task of the loop has done what it could.

        A task that sleeps again and again within these seconds wakes each time. Only for tests without real I/O:
        bytes on their way through a socket are not waited for.
        """
        await self.settle()
        end = self._elapsed + seconds
        while (wait := self.next_due) is not None and self._elapsed + wait <= end:
            self._fire()
            await self.settle()
        self._elapsed = end

    async def settle(self) -> None:
        """
        Let every task of the loop do what it can at this time.

        Bytes on their way through a socket are not waited for.
        """
        # anyio's wait_all_tasks_blocked() asks again after 0.1 real seconds. asyncio's own loop tells at once: when
        # this task runs and nothing else is ready, everybody waits. On other loops anyio's way has to do.
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        if ready is None:
            await anyio.wait_all_tasks_blocked()
            return
        while True:
            await asyncio.sleep(0)
            if not ready:
                return

    def _fire(self) -> None:
        due, _, timer = heapq.heappop(self._due)
        self._elapsed = due
        callback, timer.callback = timer.callback, None
        if callback is not None:
            callback()
