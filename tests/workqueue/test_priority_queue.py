"""PriorityQueue: what matters more first, each item once, at its highest priority and earliest time."""

from __future__ import annotations

import random

import anyio
import pytest
from prometheus_client import CollectorRegistry

from kinformer.clock import FakeClock
from kinformer.workqueue import (
    LOW_PRIORITY,
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    PrometheusMetrics,
    ShutDown,
)


class Watched:
    """A queue, the clock it goes by, and its metrics."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.registry = CollectorRegistry()
        self.queue: PriorityQueue[str] = PriorityQueue(
            "test", clock=self.clock, metrics=PrometheusMetrics(self.registry)
        )

    def counted(self, metric: str) -> float | None:
        return self.registry.get_sample_value(f"workqueue_{metric}", {"name": "test"})

    def counts(self) -> tuple[float | None, float | None, float | None]:
        """depth, adds, retries"""
        return self.counted("depth"), self.counted("adds_total"), self.counted("retries_total")


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def clock(watched: Watched) -> FakeClock:
    return watched.clock


@pytest.fixture
def queue(watched: Watched) -> PriorityQueue[str]:
    return watched.queue


async def take_all(queue: PriorityQueue[str]) -> list[str]:
    return [await queue.get() for _ in range(len(queue))]


async def test_an_item_comes_out(watched: Watched, queue: PriorityQueue[str]) -> None:
    queue.add("foo")

    assert await queue.get_with_priority() == ("foo", 0)
    assert watched.counts() == (0, 1, 0)


async def test_items_of_one_priority_come_in_the_order_of_arrival(queue: PriorityQueue[str]) -> None:
    queue.add("foo")
    queue.add("bar")

    assert await take_all(queue) == ["foo", "bar"]


async def test_an_item_that_a_worker_holds_is_not_handed_out(watched: Watched, queue: PriorityQueue[str]) -> None:
    queue.add("foo")
    assert await queue.get() == "foo"

    queue.add("foo")
    queue.add("bar")

    assert await queue.get() == "bar"
    with pytest.raises(anyio.WouldBlock):
        queue.get_nowait()
    assert watched.counts() == (1, 3, 0)


async def test_an_item_keeps_its_place_when_its_worker_is_done(watched: Watched, queue: PriorityQueue[str]) -> None:
    queue.add("foo")
    assert await queue.get() == "foo"
    queue.add("foo")
    queue.add("bar")
    assert await queue.get() == "bar"

    queue.add("baz")
    queue.done("foo")

    assert await queue.get() == "foo"
    assert watched.counts() == (1, 4, 0)


async def test_an_item_that_a_worker_holds_counts_once_it_is_added_again(queue: PriorityQueue[str]) -> None:
    queue.add("foo")
    assert len(queue) == 1
    assert await queue.get_with_priority() == ("foo", 0)

    queue.add("foo")
    assert len(queue) == 1
    queue.done("foo")

    assert await queue.get_with_priority() == ("foo", 0)
    assert len(queue) == 0


def test_items_are_in_the_queue_once(watched: Watched, queue: PriorityQueue[str]) -> None:
    queue.add("foo")
    queue.add("foo")

    assert len(queue) == 1
    assert watched.counts() == (1, 1, 0)


@pytest.mark.parametrize("priorities", [(1, 2), (2, 1)])
async def test_an_item_has_the_highest_priority_it_was_added_with(
    watched: Watched, queue: PriorityQueue[str], priorities: tuple[int, int]
) -> None:
    for priority in priorities:
        queue.add_with_options("foo", priority=priority)

    assert await queue.get_with_priority() == ("foo", 2)
    assert len(queue) == 0
    assert watched.counts() == (0, 1, 0)


async def test_an_item_whose_priority_rises_overtakes(watched: Watched, queue: PriorityQueue[str]) -> None:
    queue.add_with_options("foo", "bar", "baz")
    queue.add_with_options("baz", priority=1)

    assert await queue.get_with_priority() == ("baz", 1)
    assert len(queue) == 2
    assert watched.counts() == (2, 3, 0)


async def test_an_item_whose_priority_rises_joins_its_new_lines_end(queue: PriorityQueue[str]) -> None:
    queue.add_with_options("foo", priority=0)
    queue.add_with_options("bar", priority=1)
    queue.add_with_options("foo", priority=1)

    assert await queue.get_with_priority() == ("bar", 1)
    assert await queue.get_with_priority() == ("foo", 1)


async def test_objects_of_an_initial_list_wait_behind_what_happens(queue: PriorityQueue[str]) -> None:
    queue.add_with_options("listed-1", "listed-2", "changed", priority=LOW_PRIORITY)
    queue.add("changed")
    queue.add("new")

    assert await take_all(queue) == ["changed", "new", "listed-1", "listed-2"]


@pytest.mark.parametrize("after", [-1.0, 0.0, 1.0])
async def test_higher_priorities_come_first_and_each_in_order_whatever_they_waited_for(
    watched: Watched, clock: FakeClock, queue: PriorityQueue[str], after: float
) -> None:
    priorities = [10, 5, 0, -5, -10]
    for i in range(200):
        for priority in priorities:
            queue.add_with_options(f"{priority}-{i}", after=after, priority=priority)
    clock.turn(max(after, 0.0))

    for priority in priorities:
        for i in range(200):
            assert await queue.get_with_priority() == (f"{priority}-{i}", priority)
    assert watched.counts() == (0, 1000, 1000 if after > 0 else 0)


async def test_an_item_with_a_delay_is_ready_when_it_has_passed(
    watched: Watched, clock: FakeClock, queue: PriorityQueue[str]
) -> None:
    got = []

    async def work() -> None:
        got.append(await queue.get())

    async with anyio.create_task_group() as workers:
        workers.start_soon(work)
        queue.add_after("foo", 1.0)
        await anyio.wait_all_tasks_blocked()
        assert clock.next_due == 1.0
        assert got == []
        await clock.advance(1.0)

    assert got == ["foo"]
    assert watched.counts() == (0, 1, 1)


async def test_an_item_that_has_become_ready_comes_before_those_of_lower_priority(
    watched: Watched, clock: FakeClock, queue: PriorityQueue[str]
) -> None:
    queue.add_with_options("foo", priority=-100)
    queue.add_with_options("prio", after=1.0, priority=0)

    clock.turn(1.0)

    assert await queue.get_with_priority() == ("prio", 0)
    assert watched.counts() == (1, 2, 1)


async def test_an_item_wakes_a_worker_at_once(watched: Watched, queue: PriorityQueue[str]) -> None:
    got = []

    async def work() -> None:
        got.append(await queue.get())

    async with anyio.create_task_group() as workers:
        workers.start_soon(work)
        await anyio.wait_all_tasks_blocked()
        queue.add("foo")

    assert got == ["foo"]
    assert watched.counts() == (0, 1, 0)


async def test_a_waiting_item_is_ready_when_added_without_a_delay(
    watched: Watched, clock: FakeClock, queue: PriorityQueue[str]
) -> None:
    queue.add_after("foo", 60.0)
    assert len(queue) == 0

    queue.add("foo")

    assert clock.next_due is None
    assert await queue.get() == "foo"
    queue.done("foo")
    clock.turn(60.0)
    assert len(queue) == 0
    assert watched.counts() == (0, 1, 1)


async def test_an_item_that_is_ready_stays_so_when_added_with_a_delay(
    watched: Watched, queue: PriorityQueue[str]
) -> None:
    queue.add("foo")
    queue.add_after("foo", 3600.0)

    assert await queue.get_with_priority() == ("foo", 0)
    assert len(queue) == 0
    assert watched.counts() == (0, 1, 1)


async def test_of_two_delays_the_shorter_counts(clock: FakeClock, queue: PriorityQueue[str]) -> None:
    queue.add_after("foo", 5.0)
    queue.add_after("foo", 1.0)
    queue.add_after("foo", 3.0)

    clock.turn(1.0)

    assert await take_all(queue) == ["foo"]


async def test_delays_end_in_their_order(clock: FakeClock, queue: PriorityQueue[str]) -> None:
    queue.add_after("foo", 1.0)
    queue.add_after("bar", 0.2)
    assert len(queue) == 0

    clock.turn(1.0)

    assert await take_all(queue) == ["bar", "foo"]


async def test_an_item_that_rises_while_waiting_goes_behind_those_due(
    clock: FakeClock, queue: PriorityQueue[str]
) -> None:
    queue.add_with_options("foo", after=1.0)
    queue.add_with_options("bar", after=1.0, priority=1)
    queue.add_with_options("foo", after=2.0, priority=1)

    clock.turn(1.0)

    assert await queue.get_with_priority() == ("bar", 1)
    assert await queue.get_with_priority() == ("foo", 1)


async def test_a_higher_priority_without_a_delay_ends_the_waiting(watched: Watched, queue: PriorityQueue[str]) -> None:
    queue.add_with_options("foo", after=3600.0, priority=0)
    assert watched.counts() == (0, 0, 1)

    queue.add_with_options("foo", priority=1)

    assert watched.counts() == (1, 1, 1)
    assert await queue.get_with_priority() == ("foo", 1)
    assert watched.counts() == (0, 1, 1)


def test_what_waits_is_neither_counted_nor_measured_until_it_is_ready(
    watched: Watched, clock: FakeClock, queue: PriorityQueue[str]
) -> None:
    for _ in range(2):
        queue.add_after("foo", 0.5)
        queue.add("baz")
        queue.add_after("bar", 0.5)
        queue.add("bal")
        assert len(queue) == 2
        assert watched.counted("depth") == 2

        clock.turn(1.0)
        assert len(queue) == 4
        assert watched.counted("depth") == 4

        for _ in range(4):
            queue.done(queue.get_nowait())
        assert len(queue) == 0
        assert watched.counted("depth") == 0


def test_an_item_whose_wait_is_over_is_measured_once(
    watched: Watched, clock: FakeClock, queue: PriorityQueue[str]
) -> None:
    queue.add_after("foo", 0.05)
    clock.turn(0.05)
    assert (len(queue), watched.counted("depth")) == (1, 1)

    queue.add("foo")
    assert (len(queue), watched.counted("depth")) == (1, 1)

    assert queue.get_nowait() == "foo"
    assert (len(queue), watched.counted("depth")) == (0, 0)


def test_rate_limited_items_do_not_wait_for_each_other() -> None:
    clock = FakeClock()
    limiter = ItemExponentialFailureRateLimiter(0.005, 1000.0)
    queue: PriorityQueue[str] = PriorityQueue(limiter=limiter, clock=clock)
    for _ in range(7):
        limiter.when("bar")

    queue.add_with_options("foo", "bar", rate_limited=True)

    clock.turn(0.005)
    assert queue.get_nowait() == "foo"
    assert clock.next_due == pytest.approx(0.635)
    clock.turn(0.636)
    assert queue.get_nowait() == "bar"


def test_rate_limits_are_counted_and_forgotten(clock: FakeClock, queue: PriorityQueue[str]) -> None:
    queue.add_rate_limited("foo")
    assert clock.next_due == pytest.approx(0.005)
    queue.add_rate_limited("foo")
    assert queue.num_requeues("foo") == 2

    queue.forget("foo")

    assert queue.num_requeues("foo") == 0


@pytest.mark.parametrize(("after", "due"), [(0.0, 0.005), (0.001, 0.001), (1.0, 0.005)])
def test_of_a_delay_and_a_rate_limit_the_shorter_counts(
    clock: FakeClock, queue: PriorityQueue[str], after: float, due: float
) -> None:
    queue.add_with_options("foo", after=after, rate_limited=True)

    assert clock.next_due == pytest.approx(due)


async def test_shut_down_sends_waiting_workers_home(queue: PriorityQueue[str]) -> None:
    async def work() -> None:
        with pytest.raises(ShutDown, match="test"):
            await queue.get_with_priority()

    async with anyio.create_task_group() as workers:
        for _ in range(20):
            workers.start_soon(work)
        await anyio.wait_all_tasks_blocked()
        queue.shut_down()


async def test_shut_down_hands_out_nothing_that_is_left(clock: FakeClock, queue: PriorityQueue[str]) -> None:
    queue.add("baz")
    queue.add_after("bar", 1.0)

    queue.shut_down()
    queue.add_with_options("foo", after=1.0)
    queue.add("foo")

    assert clock.next_due is None
    for _ in range(2):
        with pytest.raises(ShutDown):
            await queue.get_with_priority()


async def test_drain_hands_out_what_is_ready_and_waits_until_it_is_done(
    clock: FakeClock, queue: PriorityQueue[str]
) -> None:
    queue.add_with_options("foo", "bar")
    queue.add_after("waits", 1.0)
    worked = []

    async def work() -> None:
        async for item in queue:
            with queue.processing(item):
                await anyio.lowlevel.checkpoint()
                worked.append(item)

    async with anyio.create_task_group() as workers:
        workers.start_soon(work)
        await queue.shut_down_with_drain()
        assert worked == ["foo", "bar"]

    assert clock.next_due is None


async def test_shut_down_ends_a_drain_that_waits(queue: PriorityQueue[str]) -> None:
    queue.add_with_options("foo", "bar")
    await queue.get()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.shut_down_with_drain)
        await anyio.wait_all_tasks_blocked()
        queue.shut_down()

    with pytest.raises(ShutDown):
        queue.get_nowait()


async def test_many_workers_empty_a_large_queue_and_no_two_hold_one_item() -> None:
    clock = FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(clock=clock)
    draw = random.Random(7)
    held: set[str] = set()
    done = 0

    async def work() -> None:
        nonlocal done
        async for item in queue:
            with queue.processing(item):
                assert item not in held
                held.add(item)
                await anyio.lowlevel.checkpoint()
                held.remove(item)
                done += 1

    async with anyio.create_task_group() as workers:
        for _ in range(100):
            workers.start_soon(work)
        for _ in range(20):
            for i in range(100):
                chance = draw.randrange(100)
                if chance < 10:
                    queue.add_after(f"foo{i}", chance / 1000)
                else:
                    queue.add_with_options(f"foo{i}", priority=chance)
            await clock.advance(0.1)
        assert len(queue) == 0
        queue.shut_down()

    assert done >= 20 * 90


def test_rising_items_leave_nothing_behind_while_lower_ones_wait(clock: FakeClock, queue: PriorityQueue[str]) -> None:
    queue.add_with_options("starved", priority=LOW_PRIORITY)
    for i in range(10_000):
        queue.add_with_options(f"item-{i}", priority=LOW_PRIORITY)
        queue.add(f"item-{i}")
        queue.done(queue.get_nowait())

    assert len(queue._line) < 100
    assert queue.get_nowait() == "starved"


@pytest.mark.parametrize("options", [{"after": float("nan")}, {"priority": float("nan")}])
def test_nan_is_refused_as_a_delay_and_as_a_priority(queue: PriorityQueue[str], options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"'foo'.* cannot wait for .*nan"):
        queue.add_with_options("foo", **options)  # type: ignore[arg-type]  # what a type checker would find, too
    with pytest.raises(ValueError, match=r"'foo'.* cannot wait for nan seconds"):
        queue.add_after("foo", float("nan"))

    assert len(queue) == 0
