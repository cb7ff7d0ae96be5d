from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from kinformer.clock import FakeClock
from kinformer_controllers.nodelifecycle.tainting import ZoneQueue

UNLIMITED = math.inf


class Done:
    """Takes note of the names, and is done with each."""

    def __init__(self, answer: Callable[[str], float | None] = lambda name: None) -> None:
        self.names: list[str] = []
        self._answer = answer

    async def __call__(self, name: str) -> float | None:
        self.names.append(name)
        return self._answer(name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def queue_of(clock: FakeClock, *names: str, rate: float = 0.1) -> ZoneQueue:
    queue = ZoneQueue(rate, clock)
    for name in names:
        queue.add(name)
        clock.turn(0.001)
    return queue


async def drained(queue: ZoneQueue, clock: FakeClock, seconds: float) -> list[tuple[float, str]]:
    """What comes out, and when."""
    out: list[tuple[float, str]] = []
    end = clock.monotonic() + seconds

    async def act(name: str) -> float | None:
        out.append((round(clock.monotonic(), 3), name))
        return None

    while True:
        await queue.drain(act)
        wait = queue.seconds_until_next()
        if wait is None or clock.monotonic() + wait > end:
            return out
        clock.turn(wait)


async def test_names_come_in_order_at_the_rate_and_the_first_at_once(clock: FakeClock) -> None:
    queue = queue_of(clock, "a", "b", "c")

    assert await drained(queue, clock, 100) == [(0.003, "a"), (10.003, "b"), (20.003, "c")]


def test_a_name_is_added_once(clock: FakeClock) -> None:
    queue = queue_of(clock, "a")

    assert not queue.add("a")
    assert len(queue) == 1


async def test_a_finished_name_is_not_taken_again_until_removed(clock: FakeClock) -> None:
    queue = queue_of(clock, "a")
    await queue.drain(Done())

    assert "a" not in queue
    assert not queue.add("a")
    assert queue.remove("a")
    assert queue.add("a")
    assert not queue.remove("b")


@pytest.mark.parametrize("removed", ["a", "b", "c"])
async def test_a_name_that_is_removed_does_not_come(clock: FakeClock, removed: str) -> None:
    queue = queue_of(clock, "a", "b", "c", rate=UNLIMITED)
    queue.remove(removed)
    done = Done()
    await queue.drain(done)

    assert done.names == [name for name in "abc" if name != removed]


async def test_a_failed_name_comes_again_later_behind_the_others(clock: FakeClock) -> None:
    queue = queue_of(clock, "a", "b", rate=UNLIMITED)
    failing = Done(lambda name: 5.0 if name == "a" else None)
    await queue.drain(failing)
    assert failing.names == ["a", "b"]

    clock.turn(4.9)
    done = Done()
    await queue.drain(done)
    assert done.names == []
    clock.turn(0.2)
    await queue.drain(done)
    assert done.names == ["a"]


async def test_a_name_that_fails_takes_its_turn_from_the_others(clock: FakeClock) -> None:
    queue = queue_of(clock, "a", "b")
    await queue.drain(Done(lambda name: 0.0))

    assert await drained(queue, clock, 100) == [(10.002, "b"), (20.002, "a")]


async def test_a_name_that_is_removed_while_it_is_tried_is_gone(clock: FakeClock) -> None:
    queue = queue_of(clock, "a", "b", rate=UNLIMITED)
    await queue.drain(Done(lambda name: 1.0 if queue.remove("a") else None))

    assert len(queue) == 0
    assert queue.add("a")


async def test_a_zero_rate_stops_names_and_later_restarts_with_a_wait(
    clock: FakeClock,
) -> None:
    queue = queue_of(clock, "a", "b")
    queue.set_rate(0)
    assert queue.seconds_until_next() is None
    assert await drained(queue, clock, 100) == []

    clock.turn(100)
    queue.set_rate(0.1)
    assert await drained(queue, clock, 100) == [(110.002, "a"), (120.002, "b")]


async def test_a_change_of_the_rate_gains_nothing(clock: FakeClock) -> None:
    queue = queue_of(clock, "a", "b")
    await queue.drain(Done())
    queue.set_rate(0.5)

    assert await drained(queue, clock, 100) == [(2.002, "b")]


async def test_a_change_of_the_rate_loses_nothing(clock: FakeClock) -> None:
    queue = queue_of(clock, "a", "b")
    queue.set_rate(0.01)

    assert await drained(queue, clock, 200) == [(0.002, "a"), (100.002, "b")]


async def test_the_same_rate_once_more_changes_nothing(clock: FakeClock) -> None:
    queue = queue_of(clock, "a", "b")
    await queue.drain(Done())
    clock.turn(9)
    queue.set_rate(0.1)

    assert await drained(queue, clock, 100) == [(10.002, "b")]


def test_a_queue_without_names_waits_for_nothing(clock: FakeClock) -> None:
    assert queue_of(clock).seconds_until_next() is None


def test_names_that_come_and_go_leave_nothing_behind(clock: FakeClock) -> None:
    queue = queue_of(clock, "stays", rate=0)
    for _ in range(10_000):
        queue.add("a")
        queue.remove("a")

    assert len(queue) == 1
    assert len(queue._heap) < 200
