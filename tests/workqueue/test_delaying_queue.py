"""DelayingQueue: items that are ready later, each once, at the earliest of its times."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from kinformer.clock import FakeClock, RealClock, Timer
from kinformer.workqueue import DelayingQueue


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> DelayingQueue[str]:
    return DelayingQueue(clock=clock)


def take(queue: DelayingQueue[str]) -> str:
    item = queue.get_nowait()
    queue.done(item)
    return item


def test_an_item_is_ready_once_its_time_has_come_and_only_once(clock: FakeClock, queue: DelayingQueue[str]) -> None:
    queue.add_after("foo", 0.05)
    assert len(queue) == 0

    clock.turn(0.06)
    assert len(queue) == 1
    assert take(queue) == "foo"

    clock.turn(10.0)
    assert len(queue) == 0
    assert clock.next_due is None


def test_a_waiting_item_keeps_its_time_when_added_for_later(clock: FakeClock, queue: DelayingQueue[str]) -> None:
    queue.add_after("foo", 0.05)
    queue.add_after("foo", 0.07)

    clock.turn(0.06)
    assert take(queue) == "foo"
    clock.turn(0.02)
    assert len(queue) == 0


def test_a_waiting_item_is_ready_sooner_when_added_for_sooner(clock: FakeClock, queue: DelayingQueue[str]) -> None:
    queue.add_after("foo", 0.05)
    queue.add_after("foo", 0.03)
    assert len(queue) == 0

    clock.turn(0.04)
    assert take(queue) == "foo"
    clock.turn(0.02)
    assert len(queue) == 0


def test_items_are_ready_each_at_its_own_time_whatever_was_added_when(
    clock: FakeClock, queue: DelayingQueue[str]
) -> None:
    queue.add_after("first", 1.0)
    queue.add_after("second", 0.05)
    assert len(queue) == 0

    clock.turn(0.06)
    assert take(queue) == "second"

    queue.add_after("third", 2.0)
    clock.turn(1.0)
    assert take(queue) == "first"

    clock.turn(2.0)
    assert take(queue) == "third"


def test_items_due_together_come_in_the_order_of_their_times(clock: FakeClock, queue: DelayingQueue[str]) -> None:
    queue.add_after("first", 1.0)
    queue.add_after("second", 0.5)
    queue.add_after("third", 0.25)
    queue.add_after("fourth", 0.25)

    clock.turn(2.0)

    assert [take(queue) for _ in range(4)] == ["third", "fourth", "second", "first"]


async def test_a_worker_that_waits_gets_the_item_when_its_time_comes(
    clock: FakeClock, queue: DelayingQueue[str]
) -> None:
    got = []

    async def work() -> None:
        got.append(await queue.get())

    async with anyio.create_task_group() as workers:
        workers.start_soon(work)
        queue.add_after("foo", 1.0)
        await clock.advance(0.9)
        assert got == []
        await clock.advance(0.1)

    assert got == ["foo"]


@pytest.mark.parametrize("drain", [False, True])
async def test_what_waits_is_dropped_when_the_queue_shuts_down(
    clock: FakeClock, queue: DelayingQueue[str], drain: bool
) -> None:
    queue.add_after("foo", 1.0)

    if drain:
        await queue.shut_down_with_drain()
    else:
        queue.shut_down()
    queue.add_after("bar", 1.0)
    queue.add_after("baz", 0.0)

    assert clock.next_due is None
    clock.turn(2.0)
    assert len(queue) == 0


def test_one_timer_serves_all_items(clock: FakeClock, queue: DelayingQueue[str]) -> None:
    for i in range(100):
        queue.add_after(f"item-{i}", 5.0 - i * 0.01)

    assert clock.next_due == pytest.approx(4.01)
    clock.turn(4.015)
    assert len(queue) == 1
    assert clock.next_due == pytest.approx(0.005)


def test_a_timer_that_fires_a_little_early_is_believed() -> None:
    class Coarse(FakeClock):
        def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
            return super().call_later(seconds - 1e-4, callback)

    clock = Coarse()
    queue: DelayingQueue[str] = DelayingQueue(clock=clock)
    queue.add_after("foo", 1.0)
    queue.add_after("bar", 1.0)
    queue.add_after("baz", 1.00005)

    clock.turn(0.9999)

    assert [take(queue), take(queue)] == ["foo", "bar"]
    assert len(queue) == 0
    clock.turn(1.0)
    assert take(queue) == "baz"


def test_a_long_waiting_item_asked_for_soon_often_leaves_nothing_behind(
    clock: FakeClock, queue: DelayingQueue[str]
) -> None:
    queue.add_after("other", 36_000.0)
    for _ in range(10_000):
        queue.add_after("foo", 36_000.0)
        queue.add_after("foo", 0.01)
        clock.turn(0.01)
        assert take(queue) == "foo"

    assert len(queue._waiting._heap) < 100
    clock.turn(36_000.0)
    assert take(queue) == "other"


async def test_the_real_clock_is_the_default() -> None:
    queue: DelayingQueue[str] = DelayingQueue()
    assert isinstance(queue._clock, RealClock)

    queue.add_after("foo", 1e-9)

    with anyio.fail_after(60):
        assert await queue.get() == "foo"


def test_a_time_that_is_no_number_is_refused_and_delays_nobody(clock: FakeClock, queue: DelayingQueue[str]) -> None:
    with pytest.raises(ValueError, match="'foo' cannot wait for nan seconds"):
        queue.add_after("foo", float("nan"))
    queue.add_after("bar", 1.0)

    clock.turn(1.0)
    assert take(queue) == "bar"
    assert len(queue) == 0
