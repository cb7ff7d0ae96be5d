"""until: again and again, at the intended times, until cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from kinformer.backoff import Backoff
from kinformer.clock import FakeClock
from kinformer.workqueue import backoff_until, jitter_until, until


def noting(clock: FakeClock, runs: list[float], takes: float = 0.0) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        runs.append(round(clock.monotonic(), 6))
        if takes:
            await clock.sleep(takes)

    return run


async def test_a_function_runs_at_once_and_then_each_period_after_it_ended() -> None:
    clock = FakeClock()
    runs: list[float] = []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: until(noting(clock, runs, takes=0.5), 1.0, clock=clock))
        await clock.advance(4.0)
        tasks.cancel_scope.cancel()

    assert runs == [0.0, 1.5, 3.0]


async def test_without_sliding_the_period_runs_from_the_start_only_once() -> None:
    clock = FakeClock()
    quick: list[float] = []
    slow: list[float] = []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: until(noting(clock, quick, takes=0.5), 1.0, sliding=False, clock=clock))
        tasks.start_soon(lambda: until(noting(clock, slow, takes=1.5), 1.0, sliding=False, clock=clock))
        await clock.advance(3.5)
        tasks.cancel_scope.cancel()

    assert quick == [0.0, 1.0, 2.0, 3.0]
    assert slow == [0.0, 1.5, 3.0]


async def test_chance_adds_a_share_of_the_period() -> None:
    clock = FakeClock()
    runs: list[float] = []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: jitter_until(noting(clock, runs), 1.0, 0.5, clock=clock, random=lambda: 0.5))
        await clock.advance(3.0)
        tasks.cancel_scope.cancel()

    assert runs == [0.0, 1.25, 2.5]


async def test_a_backoff_says_how_long_to_wait_on_its_own_clock() -> None:
    clock = FakeClock()
    runs: list[float] = []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(backoff_until, noting(clock, runs), Backoff(initial=1.0, jitter=0.0, clock=clock))
        await clock.advance(8.0)
        tasks.cancel_scope.cancel()

    assert runs == [0.0, 1.0, 3.0, 7.0]


async def test_a_function_is_not_run_once_its_task_is_cancelled() -> None:
    runs: list[float] = []

    with anyio.CancelScope() as scope:
        scope.cancel()
        await until(noting(FakeClock(), runs), 1.0)

    assert runs == []


async def test_what_the_function_raises_ends_the_loop() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await until(fail, 1.0, clock=FakeClock())


async def test_a_period_of_none_still_lets_others_run() -> None:
    clock = FakeClock()
    runs: list[float] = []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: until(noting(clock, runs), 0.0, clock=clock))
        while len(runs) < 10:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()

    assert len(runs) == 10
