"""Queue: once each, one worker at a time each, an orderly end, and nothing lost to a worker that is cancelled."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections import Counter

import anyio
import anyio.lowlevel
import pytest

from kinformer.workqueue import Queue, ShutDown


class Lifo:
    """The newest first; remembers what was touched."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.touched: set[str] = set()

    def push(self, item: str) -> None:
        self.items.append(item)

    def pop(self) -> str:
        return self.items.pop()

    def touch(self, item: str) -> None:
        self.touched.add(item)

    def __len__(self) -> int:
        return len(self.items)


async def test_immediate_shutdown_drops_the_rest_and_waits_for_nobody() -> None:
    # More of them than the calls that Python nests.
    items = [str(number) for number in range(sys.getrecursionlimit() + 1)]
    for queue in (Queue[str](), Queue[str](order=Lifo())):
        for item in items:
            queue.add(item)
        held = await queue.get()
        queue.add(held)
        queue.shut_down_now()

        assert len(queue) == 0
        queue.done(held)
        assert len(queue) == 0
        with pytest.raises(ShutDown):
            await queue.get()


@pytest.mark.parametrize("drain", [False, True])
async def test_items_added_before_the_end_are_worked_on_and_later_not(drain: bool) -> None:
    queue: Queue[int | str] = Queue()
    got: list[int | str] = []

    async def produce(item: int) -> None:
        for _ in range(50):
            queue.add(item)
            await anyio.lowlevel.checkpoint()

    async def work() -> None:
        async for item in queue:
            with queue.processing(item):
                got.append(item)
                await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as workers:
        for _ in range(10):
            workers.start_soon(work)
        async with anyio.create_task_group() as producers:
            for item in range(50):
                producers.start_soon(produce, item)
        if drain:
            await queue.shut_down_with_drain()
        else:
            queue.shut_down()
        queue.add("added after shut down")

    assert set(got) == set(range(50))
    assert len(queue) == 0


@pytest.mark.parametrize("drain", [False, True])
async def test_items_added_again_are_worked_on_even_while_shutting_down(drain: bool) -> None:
    queue: Queue[int] = Queue()
    got: Counter[int] = Counter()

    async def work() -> None:
        async for item in queue:
            got[item] += 1
            if got[item] < 2:
                queue.add(item)
            await anyio.lowlevel.checkpoint()
            queue.done(item)

    async with anyio.create_task_group() as workers:
        for _ in range(10):
            workers.start_soon(work)
        for item in range(50):
            queue.add(item)
        while got.total() < 60:
            await anyio.lowlevel.checkpoint()
        if drain:
            await queue.shut_down_with_drain()
        else:
            queue.shut_down()

    assert set(got) == set(range(50))
    assert len(queue) == 0


def test_length_counts_an_item_that_was_added_twice_once() -> None:
    queue: Queue[str] = Queue()

    queue.add("foo")
    assert len(queue) == 1
    queue.add("bar")
    assert len(queue) == 2
    queue.add("foo")
    assert len(queue) == 2


def test_an_empty_queue_is_still_true() -> None:
    assert Queue[str]()


async def test_items_come_in_the_order_of_their_first_add() -> None:
    queue: Queue[str] = Queue()
    for item in ("b", "a", "c", "a", "b"):
        queue.add(item)

    assert [await queue.get() for _ in range(3)] == ["b", "a", "c"]


async def test_an_item_added_while_held_comes_back_when_the_worker_finishes() -> None:
    queue: Queue[str] = Queue()
    queue.add("foo")
    item = await queue.get()

    queue.add(item)
    assert len(queue) == 0
    queue.done(item)

    assert await queue.get() == "foo"
    queue.done("foo")
    assert len(queue) == 0


async def test_adding_twice_gives_an_item_once_and_touches_it() -> None:
    order = Lifo()
    queue: Queue[str] = Queue(order=order)
    queue.add("bar")
    queue.add("bar")

    queue.done(await queue.get())

    assert len(queue) == 0
    assert order.touched == {"bar"}


async def test_adding_twice_while_held_gives_the_item_once_more_afterwards() -> None:
    order = Lifo()
    queue: Queue[str] = Queue(order=order)
    queue.add("foo")
    await queue.get()
    queue.add("foo")
    queue.add("foo")
    got = []

    async def work() -> None:
        got.append(await queue.get())
        queue.done("foo")

    async with anyio.create_task_group() as workers:
        workers.start_soon(work)
        await anyio.wait_all_tasks_blocked()
        assert got == []
        queue.done("foo")

    assert got == ["foo"]
    assert len(queue) == 0
    assert order.touched == set()


async def test_an_order_of_ones_own_decides_who_is_next() -> None:
    queue: Queue[str] = Queue(order=Lifo())
    for item in "abc":
        queue.add(item)

    assert [await queue.get() for _ in range(3)] == ["c", "b", "a"]


async def test_get_without_waiting_tells_empty_from_shut_down() -> None:
    queue: Queue[str] = Queue("pods")
    with pytest.raises(anyio.WouldBlock):
        queue.get_nowait()

    queue.add("foo")
    queue.shut_down()

    assert queue.get_nowait() == "foo"
    with pytest.raises(ShutDown, match="pods"):
        queue.get_nowait()


async def test_drain_waits_until_workers_are_done_with_what_they_hold() -> None:
    queue: Queue[str] = Queue()
    queue.add("foo")
    queue.add("bar")
    first, second = await queue.get(), await queue.get()

    async with anyio.create_task_group() as tasks:
        drained = asyncio.Event()

        async def drain() -> None:
            await queue.shut_down_with_drain()
            drained.set()

        tasks.start_soon(drain)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ShutDown):
            await queue.get()

        queue.done(first)
        await anyio.wait_all_tasks_blocked()
        assert not drained.is_set()
        queue.done(second)

    assert drained.is_set()


async def test_others_have_a_turn_after_each_64_items_that_were_ready() -> None:
    queue, turns = Queue[int](), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    for number in range(64 * 70):
        queue.add(number)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        for _ in range(64 * 70):
            queue.done(await queue.get())
        tasks.cancel_scope.cancel()

    assert turns == 70


async def test_drain_of_a_queue_with_nothing_to_do_returns_at_once() -> None:
    queue: Queue[str] = Queue()

    await queue.shut_down_with_drain()
    await queue.shut_down_with_drain()

    assert queue.shutting_down


async def test_shut_down_does_not_wait_for_what_workers_hold() -> None:
    queue: Queue[str] = Queue()
    queue.add("foo")
    queue.add("bar")
    await queue.get()
    await queue.get()

    queue.shut_down()

    with pytest.raises(ShutDown):
        await queue.get()


async def test_shut_down_ends_a_drain_that_waits() -> None:
    queue: Queue[str] = Queue()
    queue.add("foo")
    queue.add("bar")
    await queue.get()
    await queue.get()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.shut_down_with_drain)
        tasks.start_soon(queue.shut_down_with_drain)
        await anyio.wait_all_tasks_blocked()
        queue.shut_down()

    assert queue.shutting_down


async def test_drain_waits_for_an_item_added_again_while_held() -> None:
    queue: Queue[str] = Queue()
    queue.add("foo")
    item = await queue.get()
    queue.add("foo")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.shut_down_with_drain)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ShutDown):
            await queue.get()

        queue.done(item)

        again = await queue.get()
        queue.done(again)
        with pytest.raises(ShutDown):
            await queue.get()


def test_a_queue_lets_go_of_items_that_are_done() -> None:
    class Big:
        pass

    queue: Queue[Big] = Queue()
    item = Big()
    gone = weakref.ref(item)
    queue.add(item)
    queue.done(queue.get_nowait())

    del item
    gc.collect()

    assert gone() is None


async def two_workers_in_line(queue: Queue[str]) -> tuple[asyncio.Task[str], asyncio.Task[str]]:
    """As plain asyncio tasks: an anyio scope does not cancel a task that was told to go on already, asyncio does."""
    first = asyncio.create_task(queue.get())
    await anyio.wait_all_tasks_blocked()
    second = asyncio.create_task(queue.get())
    await anyio.wait_all_tasks_blocked()
    return first, second


async def test_the_next_worker_gets_an_item_if_the_first_is_cancelled() -> None:
    queue: Queue[str] = Queue()
    first, second = await two_workers_in_line(queue)

    queue.add("foo")
    first.cancel()

    assert await second == "foo"
    assert first.cancelled()


async def test_a_wait_with_a_deadline_leaves_the_line_without_a_trace() -> None:
    queue: Queue[str] = Queue()

    for _ in range(10):
        with anyio.move_on_after(0):
            await queue.get()
    assert not queue._waiters
    queue.add("foo")

    assert await queue.get() == "foo"


async def test_an_items_context_ends_its_work_even_when_it_fails() -> None:
    queue: Queue[str] = Queue()
    queue.add("foo")
    item = await queue.get()

    with pytest.raises(ValueError, match="broken"), queue.processing(item) as key:  # noqa: PT012 - the block is the test
        queue.add(key)
        raise ValueError("broken")

    assert await queue.get() == "foo"


async def test_another_thread_adds_through_the_loop() -> None:
    queue: Queue[str] = Queue()
    loop = asyncio.get_running_loop()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, lambda: loop.call_soon_threadsafe(queue.add, "foo"))
        with anyio.fail_after(60):
            assert await queue.get() == "foo"
