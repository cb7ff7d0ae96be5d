"""until: run something again and again, for as long as nobody cancels it.

Workers are kept running this way, and so is whatever looks after something each so many seconds. The loop ends when its
task is cancelled, or when the function raises: nothing is swallowed here. Where the function awaits something that was
cancelled by others, the loop raises :exc:`~kinformer.cancellation.CancelledElsewhere`: it would seem to end in order.
"""

from __future__ import annotations

import random as _random
from collections.abc import Awaitable, Callable

import anyio.lowlevel

from kinformer.backoff import Backoff, jittered
from kinformer.cancellation import cancellations_as_errors
from kinformer.clock import Clock, RealClock

__all__ = ("backoff_until", "jitter_until", "until")


async def until(
    function: Callable[[], Awaitable[object]], period: float, *, sliding: bool = True, clock: Clock | None = None
) -> None:
    """
    Run `function` each `period` seconds until cancelled, the first time at once.

    :param sliding: count the seconds from the end of a run; otherwise from its start, and a run that took longer than
        the period is followed by the next one at once
    """
    await jitter_until(function, period, 0.0, sliding=sliding, clock=clock)


async def jitter_until(
    function: Callable[[], Awaitable[object]],
    period: float,
    jitter: float,
    *,
    sliding: bool = True,
    clock: Clock | None = None,
    random: Callable[[], float] = _random.random,
) -> None:
    """
    As :func:`until`, with a share of the period drawn by chance on top of it each time.

    :param jitter: the largest share: 1.0 for up to twice the period
    """
    await _repeat(function, lambda: jittered(period, jitter, random), sliding, clock)


async def backoff_until(
    function: Callable[[], Awaitable[object]], backoff: Backoff, *, sliding: bool = True, clock: Clock | None = None
) -> None:
    """As :func:`until`, with the waits of `backoff` instead of a period."""
    await _repeat(function, backoff.next, sliding, clock or backoff.clock)


async def _repeat(
    function: Callable[[], Awaitable[object]], next_wait: Callable[[], float], sliding: bool, clock: Clock | None
) -> None:
    clock = clock if clock is not None else RealClock()
    what = getattr(function, "__qualname__", repr(function))
    while True:
        await anyio.lowlevel.checkpoint_if_cancelled()
        if sliding:
            with cancellations_as_errors(what):
                await function()
            await clock.sleep(next_wait())
        else:
            due = clock.monotonic() + next_wait()
            with cancellations_as_errors(what):
                await function()
            await clock.sleep(due - clock.monotonic())
