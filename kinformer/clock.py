"""Clocks: a real one, and one that tests turn. All of kinformer reads the time from a clock.

Queues with delays, informers with resyncs, leases and rate limiters take a :class:`Clock`. They never ask the operating
system or the event loop directly. With a :class:`FakeClock`, an hour passes in microseconds, and every run of a test is
the same.

Seconds are floats. ``monotonic()`` is for intervals, ``now()`` for times that are written into objects.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio
import anyio.lowlevel

__all__ = ("Clock", "FakeClock", "RealClock", "Timer", "move_on_after", "sleep_by_timer")


class Timer(Protocol):
    """A call that is due at some time and can be cancelled until then."""

    def cancel(self) -> None:
        """Cancel the call. This has no effect if it has fired or was cancelled."""


class Clock(Protocol):
    """A source of time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment. They never go back."""

    def now(self) -> datetime:
        """The time of day, in UTC."""

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """
        Call `callback` from the event loop after this many seconds.

        This must be called from the event loop's thread.
        """

    async def sleep(self, seconds: float) -> None:
        """Return after this many seconds. For 0 or less, return after other tasks have had their turn."""


@contextmanager
def move_on_after(clock: Clock, seconds: float | None) -> Iterator[anyio.CancelScope]:
    """
    Cancel a block when it takes longer than this many seconds, as :func:`anyio.move_on_after` does, on a clock.

    :param seconds: None: there is no limit
    :return: the scope of the block. Its ``cancelled_caught`` says whether the block was cancelled
    """
    with anyio.CancelScope() as scope:
        timer = clock.call_later(seconds, scope.cancel) if seconds is not None else None
        try:
            yield scope
        finally:
            if timer is not None:
                timer.cancel()


async def sleep_by_timer(clock: Clock, seconds: float) -> None:
    """Sleep on a clock whose time is not the event loop's. The ``sleep`` of such clocks calls this."""
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

    # The function itself, not a method that calls it: it is called for every notification of an informer.
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
    A clock for tests. It stands still until it is turned.

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
        """Seconds until the next timer fires, None if there is none. Tests can assert this instead of waiting."""
        while self._due and self._due[0][2].callback is None:
            heapq.heappop(self._due)
        return self._due[0][0] - self._elapsed if self._due else None

    def turn(self, seconds: float) -> None:
        """
        Let this many seconds pass. Every timer that falls due fires, in order, each at its own time.

        Tasks that are woken run when the caller next awaits; :meth:`advance` waits for them.
        """
        end = self._elapsed + seconds
        while (wait := self.next_due) is not None and self._elapsed + wait <= end:
            self._fire()
        self._elapsed = end

    async def advance(self, seconds: float) -> None:
        """
        Let this many seconds pass. After each timer, wait until every task of the event loop waits again.

        A task that sleeps several times within these seconds wakes each time. Use this only in tests without real I/O:
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
        Wait until every task of the event loop waits: for the clock, for I/O, or for another task.

        Bytes on their way through a socket are not waited for.
        """
        # anyio's wait_all_tasks_blocked() checks again after 0.1 real seconds. asyncio's own loop shows it at once: if
        # only this task is ready to run, all others wait. On other loops, anyio's function must do.
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
