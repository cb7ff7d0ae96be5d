from __future__ import annotations

from datetime import timedelta

import anyio
import anyio.lowlevel

from kinformer.clock import FakeClock, RealClock, move_on_after


def test_a_fake_clock_stands_still() -> None:
    clock = FakeClock()

    assert clock.monotonic() == clock.monotonic() == 0.0
    assert clock.now() == clock.start


def test_turning_it_fires_due_timers_in_order_at_their_times() -> None:
    clock = FakeClock()
    fired: list[tuple[str, float]] = []
    clock.call_later(2, lambda: fired.append(("second", clock.monotonic())))
    clock.call_later(1, lambda: fired.append(("first", clock.monotonic())))
    clock.call_later(9, lambda: fired.append(("not yet", clock.monotonic())))

    clock.turn(5)

    assert fired == [("first", 1.0), ("second", 2.0)]
    assert clock.now() == clock.start + timedelta(seconds=5)
    assert clock.next_due == 4.0


def test_a_timer_started_by_a_timer_fires_in_the_same_turn() -> None:
    clock = FakeClock()
    fired: list[float] = []
    clock.call_later(1, lambda: clock.call_later(1, lambda: fired.append(clock.monotonic())))

    clock.turn(2)

    assert fired == [2.0]


def test_a_timer_that_was_called_off_does_not_fire() -> None:
    clock = FakeClock()
    fired: list[str] = []
    clock.call_later(1, lambda: fired.append("oh")).cancel()

    assert clock.next_due is None
    clock.turn(2)
    assert fired == []


async def test_advancing_wakes_a_task_each_time_it_sleeps() -> None:
    clock = FakeClock()
    woken: list[float] = []

    async def tick() -> None:
        while True:
            await clock.sleep(10)
            woken.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await clock.advance(35)
        tasks.cancel_scope.cancel()

    assert woken == [10.0, 20.0, 30.0]
    assert clock.next_due is None


async def test_settling_lets_chains_of_tasks_come_to_rest() -> None:
    clock = FakeClock()
    steps: list[int] = []

    async def step(n: int) -> None:
        steps.append(n)
        await anyio.lowlevel.checkpoint()
        if n:
            tasks.start_soon(step, n - 1)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(step, 50)
        await clock.settle()
        assert steps == list(range(50, -1, -1))


async def test_sleeping_for_no_time_returns_after_others_had_their_turn() -> None:
    others: list[str] = []
    async with anyio.create_task_group() as tasks:
        for clock in (FakeClock(), RealClock()):
            tasks.start_soon(_note, others)
            await clock.sleep(0)

    assert others == ["here", "here"]


async def _note(others: list[str]) -> None:
    others.append("here")


async def test_the_real_clock_goes_on_and_calls_back() -> None:
    clock = RealClock()
    called = anyio.Event()
    before = clock.monotonic()
    clock.call_later(0, called.set)

    with anyio.fail_after(60):
        await called.wait()

    assert clock.monotonic() >= before
    assert clock.now().utcoffset() == timedelta(0)


async def test_a_block_is_cancelled_when_its_time_is_over() -> None:
    clock = FakeClock()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.advance, 5)
        with move_on_after(clock, 5) as scope:
            await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert clock.monotonic() == 5.0


async def test_a_block_that_ends_in_time_leaves_no_timer() -> None:
    clock = FakeClock()

    with move_on_after(clock, 5) as scope, move_on_after(clock, None):
        await anyio.lowlevel.checkpoint()

    assert not scope.cancel_called
    assert clock.next_due is None
