"""Queues against plain models of them: whatever is done to them in whatever order, by workers that wait or give up."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.clock import FakeClock
from kinformer.workqueue import DelayingQueue, PriorityQueue, ShutDown, WorkQueue

ITEMS = st.sampled_from("abcd")
#: Quarters are exact as floats: the model needs no tolerance.
DELAYS = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0])


class Workers(RuleBasedStateMachine):
    """Workers that get, wait, are cancelled and are done; a subclass says what queue it is and what its model is."""

    queue: WorkQueue[str]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.held: set[str] = set()
        self.taken: list[str] = []
        self.expected: list[str] = []
        self.waiting: list[asyncio.Task[None]] = []
        self.closed = False

    def logged(self, queue: Any) -> Any:
        """`queue`, noting what is taken in which order; that asks the model for what should have been."""
        take = queue._take

        def logging_take() -> str:
            self.expected.append(self.next_expected())
            item: str = take()
            self.taken.append(item)
            assert item not in self.held
            self.held.add(item)
            return item

        queue._take = logging_take
        return queue

    def next_expected(self) -> str:
        raise NotImplementedError

    def finished(self, item: str) -> None:
        raise NotImplementedError

    def expected_length(self) -> int:
        raise NotImplementedError

    def has_next(self) -> bool:
        raise NotImplementedError

    def settle(self) -> None:
        self.loop.run_until_complete(anyio_settle())
        self.waiting = [task for task in self.waiting if not task.done()]

    @rule()
    def take(self) -> None:
        try:
            self.queue.get_nowait()
        except anyio.WouldBlock:
            assert not self.has_next()
        except ShutDown:
            assert self.closed
            assert not self.has_next()

    @rule(count=st.integers(1, 3))
    def begin_to_wait(self, count: int) -> None:
        async def wait() -> None:
            try:
                await self.queue.get()
            except ShutDown:
                assert self.closed

        self.waiting.extend(self.loop.create_task(wait()) for _ in range(count))
        self.settle()

    @rule(which=st.sampled_from([0, -1]))
    @precondition(lambda self: self.waiting)
    def give_up_waiting(self, which: int) -> None:
        self.waiting[which].cancel()

    @rule()
    def let_run(self) -> None:
        self.settle()
        assert not (self.waiting and self.has_next()), "an item lies there and workers wait"
        assert not (self.waiting and self.closed), "workers wait for a queue that was shut down"

    @rule(item=ITEMS)
    def done(self, item: str) -> None:
        if item in self.held:
            self.held.remove(item)
            self.finished(item)
        self.queue.done(item)

    @rule(seconds=st.sampled_from([0.25, 0.5, 2.0]))
    def turn(self, seconds: float) -> None:
        self.before_turn(self.clock.monotonic() + seconds)
        self.clock.turn(seconds)

    def before_turn(self, until: float) -> None:
        raise NotImplementedError

    @invariant()
    def agrees_with_its_model(self) -> None:
        assert self.taken == self.expected
        assert len(self.queue) == self.expected_length()
        assert self.queue._processing == self.held

    def teardown(self) -> None:
        try:
            for task in self.waiting:
                task.cancel()
            self.loop.run_until_complete(anyio_settle())
        finally:
            self.loop.close()


async def anyio_settle() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


class DelayingQueueMachine(Workers):
    def __init__(self) -> None:
        super().__init__()
        self.queue = self.delaying = self.logged(DelayingQueue(clock=self.clock))
        self.line: list[str] = []
        self.dirty: set[str] = set()
        self.due: dict[str, tuple[float, int]] = {}
        self.sequence = 0

    @rule(item=ITEMS)
    def add(self, item: str) -> None:
        self.expect_added(item)
        self.queue.add(item)

    @rule(item=ITEMS, seconds=DELAYS)
    def add_after(self, item: str, seconds: float) -> None:
        if seconds <= 0:
            self.expect_added(item)
        elif not self.closed:
            due = self.clock.monotonic() + seconds
            if item not in self.due:
                self.sequence += 1
                self.due[item] = (due, self.sequence)
            else:
                self.due[item] = min(self.due[item], (due, self.due[item][1]))
        self.delaying.add_after(item, seconds)

    @precondition(lambda self: len(self.taken) > 10)
    @rule()
    def shut_down(self) -> None:
        self.closed = True
        self.due.clear()
        self.queue.shut_down()

    def before_turn(self, until: float) -> None:
        for item, (due, _) in sorted(self.due.items(), key=lambda entry: entry[1]):
            if due <= until:
                del self.due[item]
                self.expect_added(item)

    def expect_added(self, item: str) -> None:
        if not self.closed and item not in self.dirty:
            self.dirty.add(item)
            if item not in self.held:
                self.line.append(item)

    def next_expected(self) -> str:
        item = self.line.pop(0)
        self.dirty.remove(item)
        return item

    def finished(self, item: str) -> None:
        if item in self.dirty:
            self.line.append(item)

    def expected_length(self) -> int:
        return len(self.line)

    def has_next(self) -> bool:
        return bool(self.line)


class Known:
    """What the model knows of an item in the queue."""

    def __init__(self, item: str, priority: int, place: int, due: float | None) -> None:
        self.item, self.priority, self.place, self.due = item, priority, place, due


class PriorityQueueMachine(Workers):
    def __init__(self) -> None:
        super().__init__()
        self.queue = self.priority = self.logged(PriorityQueue(clock=self.clock))
        self.known: dict[str, Known] = {}
        self.place = 0

    @rule(item=ITEMS, seconds=DELAYS, priority=st.sampled_from([None, -100, 0, 5]))
    def add(self, item: str, seconds: float, priority: int | None) -> None:
        if not self.closed:
            self.expect_added(item, seconds, priority or 0)
        self.priority.add_with_options(item, after=seconds, priority=priority)

    @precondition(lambda self: len(self.taken) > 10)
    @rule()
    def shut_down(self) -> None:
        self.closed = True
        self.known = {item: known for item, known in self.known.items() if known.due is None}
        self.queue.shut_down()

    def expect_added(self, item: str, seconds: float, priority: int) -> None:
        due = self.clock.monotonic() + seconds if seconds > 0 else None
        known = self.known.get(item)
        if known is None:
            self.known[item] = Known(item, priority, self.next_place(), due)
            return
        if priority > known.priority:
            known.priority, known.place = priority, self.next_place()
        if due is None or known.due is None:
            known.due = None
        else:
            known.due = min(known.due, due)

    def before_turn(self, until: float) -> None:
        waiting = [known for known in self.known.values() if known.due is not None]
        for known in sorted(waiting, key=lambda known: (known.due, known.place)):
            if known.due is not None and known.due <= until:
                known.due, known.place = None, self.next_place()

    def next_place(self) -> int:
        self.place += 1
        return self.place

    def candidates(self) -> list[Known]:
        if self.closed:
            return []
        return [known for known in self.known.values() if known.due is None and known.item not in self.held]

    def next_expected(self) -> str:
        item = min(self.candidates(), key=lambda known: (-known.priority, known.place)).item
        del self.known[item]
        return item

    def finished(self, item: str) -> None:
        """Nothing to do: what is held is left out when the next item is looked for."""

    def expected_length(self) -> int:
        return sum(known.due is None for known in self.known.values())

    def has_next(self) -> bool:
        return bool(self.candidates())


for machine in (DelayingQueueMachine, PriorityQueueMachine):
    machine.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)

TestDelayingQueue = DelayingQueueMachine.TestCase
TestPriorityQueue = PriorityQueueMachine.TestCase
