"""until: runs a function again and again until cancelled. parallelize_until: runs many pieces of work, a few at a time.

The first is used for workers, and for checks that run at an interval. The loop ends when its task is cancelled, or when
the function raises; no error is swallowed. If the function awaits something that other code has cancelled, the loop
raises :exc:`~kinformer.cancellation.CancelledElsewhere`. Otherwise this would look like an orderly end.
"""

from __future__ import annotations

import random as _random
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel

from kinformer.backoff import Backoff, jittered
from kinformer.cancellation import cancellations_as_errors
from kinformer.clock import Clock, RealClock

__all__ = ("backoff_until", "jitter_until", "parallelize_until", "until")


async def until(
    function: Callable[[], Awaitable[object]], period: float, *, sliding: bool = True, clock: Clock | None = None
) -> None:
    """
    Run `function` every `period` seconds until cancelled, the first time at once.

    :param sliding: count the period from the end of a run. If False, it counts from the start of a run; a run that took
        longer than the period is then followed by the next one at once.
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
    Like :func:`until`, with a random share of the period added each time.

    :param jitter: the largest share: 1.0 for up to twice the period
    """
    await _repeat(function, lambda: jittered(period, jitter, random), sliding, clock)


async def backoff_until(
    function: Callable[[], Awaitable[object]], backoff: Backoff, *, sliding: bool = True, clock: Clock | None = None
) -> None:
    """Like :func:`until`, with the waits of `backoff` instead of a period."""
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


async def parallelize_until(
    workers: int, pieces: int, do_work_piece: Callable[[int], Awaitable[object]], *, chunk_size: int = 1
) -> None:
    """
    Await ``do_work_piece(n)`` for each n from 0 to `pieces`, and return when all are done.

    At most `workers` pieces run at a time, each in a task that lives as long as there are pieces. If this is cancelled,
    no further piece is started. If a piece raises, the others are cancelled.

    :param chunk_size: the number of consecutive pieces that one worker takes at once
    :raises ExceptionGroup: with the exceptions that pieces raised
    """
    chunk_size = max(chunk_size, 1)
    chunks = iter(range(0, pieces, chunk_size))

    async def work() -> None:
        for start in chunks:
            for piece in range(start, min(start + chunk_size, pieces)):
                await anyio.lowlevel.checkpoint_if_cancelled()
                await do_work_piece(piece)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(workers, -(-pieces // chunk_size))):
            tasks.start_soon(work)
