"""The loop: virtual time, a seeded order of tasks, and owners that can be held."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import pytest

from kinformer.simulation.handles import SimulatedTask
from kinformer.simulation.loop import OWNER, Deadlock, Livelock, Owner, SimulatedLoop

T = TypeVar("T")


def run(main: Callable[[], Coroutine[Any, Any, T]], seed: int = 1) -> T:
    return SimulatedLoop(seed).run_and_close(main)


async def order_of(count: int) -> list[int]:
    """In which order tasks run that became ready together."""
    ran: list[int] = []
    gate = asyncio.Event()

    async def step(number: int) -> None:
        await gate.wait()
        ran.append(number)

    async with asyncio.TaskGroup() as tasks:
        for number in range(count):
            tasks.create_task(step(number))
        await asyncio.sleep(1)
        gate.set()
    return ran


def test_a_day_takes_no_time_and_is_shown_by_the_loop() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(86_400)
        return loop.time() - began

    assert run(main) == pytest.approx(86_400)


def test_timers_fire_by_time_and_then_by_their_making() -> None:
    async def main() -> list[str]:
        loop, fired = asyncio.get_running_loop(), list[str]()
        for name, seconds in (("c", 2), ("a", 1), ("b", 1)):
            loop.call_later(seconds, fired.append, name)
        await asyncio.sleep(3)
        return fired

    assert run(main) == ["a", "b", "c"]


def test_the_seed_decides_the_order_of_tasks_ready_together() -> None:
    orders = [run(lambda: order_of(6), seed) for seed in (1, 1, 2, 3)]

    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == list(range(6)) for order in orders)


def test_the_order_does_not_depend_on_the_order_of_becoming_ready() -> None:
    async def woken(backwards: bool) -> list[int]:
        loop, ran = asyncio.get_running_loop(), list[int]()
        futures = [loop.create_future() for _ in range(6)]

        async def step(number: int) -> None:
            await futures[number]
            ran.append(number)

        async with asyncio.TaskGroup() as tasks:
            for number in range(6):
                tasks.create_task(step(number))
            await asyncio.sleep(1)
            for future in reversed(futures) if backwards else futures:
                future.set_result(None)
        return ran

    assert run(lambda: woken(False)) == run(lambda: woken(True))


def test_callbacks_run_in_the_order_in_which_they_were_scheduled() -> None:
    async def main() -> list[int]:
        loop, ran = asyncio.get_running_loop(), list[int]()
        for number in range(20):
            loop.call_soon(ran.append, number)
        await asyncio.sleep(1)
        return ran

    assert run(main) == list(range(20))


def test_everybody_waiting_for_ever_is_an_error() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="everybody waits at 0"):
        run(main)


def test_asking_for_turns_for_ever_is_an_error_that_names_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinformer.simulation.loop._TURNS_WITHOUT_TIME", 100)

    async def main() -> None:
        asyncio.current_task().set_name("the busy one")  # type: ignore[union-attr]
        while True:  # noqa: ASYNC110  # nobody tells it to stop
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="the busy one"):
        run(main)


def test_sleeping_until_a_moment_ends_whatever_is_rounded() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(1e5)
        until = loop.time() + 0.1
        while loop.time() < until:  # noqa: ASYNC110  # as a poll with a deadline does
            await asyncio.sleep((until - loop.time()) / 2)
        return loop.time() - until

    assert run(main) < 1e-5


def held(act: Callable[[SimulatedLoop, Owner], object], until: float) -> list[float]:
    """When a task of an owner ticks, to whom something is done after 2.5 seconds."""

    async def main() -> list[float]:
        loop, owner, ticks = asyncio.get_running_loop(), Owner("process"), list[float]()
        assert isinstance(loop, SimulatedLoop)

        async def tick() -> None:
            OWNER.set(owner)
            while True:
                await asyncio.sleep(1)
                ticks.append(loop.now)

        task = loop.create_task(tick())
        await asyncio.sleep(2.5)
        act(loop, owner)
        await asyncio.sleep(until - 2.5)
        task.cancel()
        return ticks

    return run(main)


def test_what_is_held_stands_still_and_goes_on_when_it_is_released() -> None:
    def act(loop: SimulatedLoop, owner: Owner) -> None:
        loop.hold(owner)
        loop.call_later(10, loop.release, owner)

    assert held(act, 15) == pytest.approx([1, 2, 12.5, 13.5, 14.5])


def test_a_clock_that_stands_still_fires_no_timer_and_shows_its_time() -> None:
    shown: list[float] = []

    def act(loop: SimulatedLoop, owner: Owner) -> None:
        loop.hold_timers(owner)

        async def look() -> None:
            OWNER.set(owner)
            shown.append(loop.time())

        loop.call_later(5, lambda: loop.create_task(look()))
        loop.call_later(10, loop.release_timers, owner)

    assert held(act, 14) == pytest.approx([1, 2, 12.5, 13.5])
    assert shown == pytest.approx([2.5])


def test_what_nobody_catches_is_noted() -> None:
    loop = SimulatedLoop(1)

    async def main() -> None:
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    loop.run_and_close(main)

    assert [type(each["exception"]) for each in loop.errors] == [ZeroDivisionError]


def test_a_callbacks_error_names_it_and_is_equal_in_every_run() -> None:
    loop = SimulatedLoop(1)

    async def main() -> None:
        loop.call_soon(fail, object())
        await asyncio.sleep(1)

    def fail(_: object) -> None:
        raise ValueError

    loop.run_and_close(main)

    name = "test_a_callbacks_error_names_it_and_is_equal_in_every_run.<locals>.fail"
    assert [each["message"] for each in loop.errors] == [f"Exception in callback {name}"]


def test_a_task_begins_at_a_later_turn_even_if_eager() -> None:
    ran: list[str] = []

    async def begin() -> None:
        ran.append("task")

    async def main() -> None:
        task = SimulatedTask(begin(), loop=asyncio.get_running_loop(), eager_start=True)
        ran.append("maker")
        await task

    run(main)

    assert ran == ["maker", "task"]


def test_a_cancelled_callback_does_not_run() -> None:
    async def main() -> list[str]:
        loop, ran = asyncio.get_running_loop(), list[str]()
        handles = [loop.call_soon(ran.append, "soon"), loop.call_later(1, ran.append, "later")]
        for handle in handles * 2:
            handle.cancel()
        assert all(handle.cancelled() for handle in handles)
        await asyncio.sleep(2)
        return ran

    assert run(main) == []


def test_tasks_that_are_left_are_cancelled() -> None:
    ended: list[str] = []

    async def stay() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cleaned up")

    async def main() -> None:
        main.task = asyncio.get_running_loop().create_task(stay())  # type: ignore[attr-defined]
        await asyncio.sleep(1)

    run(main)

    assert ended == ["cleaned up"]


def test_what_a_cancelled_task_had_is_freed_without_the_garbage_collector() -> None:
    had: list[weakref.ref[Owner]] = []

    async def have() -> None:
        owner = Owner("held by the task")
        had.append(weakref.ref(owner))
        await anyio.sleep_forever()

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(have)
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()

    run(main)

    assert had[0]() is None
