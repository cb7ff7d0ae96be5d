from __future__ import annotations

import asyncio
import sys
import threading
from types import FrameType
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.cache import InformerStateError, metrics
from kinformer.cache import processor as processor_module
from kinformer.cache.catching_up import CacheBehind
from kinformer.cache.handlers import ResourceEventHandlerFuncs
from kinformer.cache.processor import ADD, DELETE, SYNCED, UPDATE, ProcessorListener, SharedProcessor
from kinformer.cache.shared_informer import SharedIndexInformer
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock
from tests.cache.informers import Told, running
from tests.cache.scripted import obj
from tests.metrics import metric_value

A = obj("a", 1)


async def at_once(resource_version: str, namespace: str, timeout: float) -> None:
    """A cache that has come to every version."""


def listener_of(handler: Any, clock: FakeClock | None = None, **options: Any) -> ProcessorListener[Any]:
    settings = {
        "informer_name": "pods",
        "is_started": lambda: True,
        "requested_resync_period": 0.0,
        "resync_period": 0.0,
        "cache_reaches": at_once,
    } | options
    return ProcessorListener(handler, clock=clock or FakeClock(), **settings)


def tell(listener: ProcessorListener[Any], *notifications: tuple[int, Any, Any]) -> None:
    listener.pending.extend(notifications)
    listener.wake()


async def test_what_is_pending_is_told_in_order() -> None:
    told, clock = Told(), FakeClock()
    listener = listener_of(told)
    async with running(listener.run):
        tell(listener, (ADD, A, True), (UPDATE, A, obj("a", 2)))
        await clock.settle()
        tell(listener, (DELETE, obj("a", 2), None))
        await clock.settle()

    assert told.taken() == ["initial add a@1", "update a@1 a@2", "delete a@2"]


async def test_functions_and_coroutine_functions_can_be_mixed_and_run_in_order() -> None:
    told: list[str] = []
    clock = FakeClock()

    async def slow_add(o: Any) -> None:
        told.append("add begins")
        await clock.sleep(1)
        told.append("add ends")

    listener = listener_of(ResourceEventHandlerFuncs(slow_add, delete=lambda _: told.append("delete")))
    async with running(listener.run):
        tell(listener, (ADD, A, False), (DELETE, A, None))
        await clock.settle()
        assert told == ["add begins"]
        await clock.advance(1)

    assert told == ["add begins", "add ends", "delete"]


async def test_whatever_else_a_handler_returns_is_not_looked_at() -> None:
    clock = FakeClock()
    seen: list[Any] = []
    listener = listener_of(ResourceEventHandlerFuncs(lambda o: seen.append(o) or 42))  # type: ignore[func-returns-value]  # 42
    async with running(listener.run):
        tell(listener, (ADD, A, False), (ADD, A, False))
        await clock.settle()

    assert len(seen) == 2


@pytest.mark.parametrize(
    "error", [ValueError("no"), ExceptionGroup("several", [ValueError("no")]), StopIteration(), TimeoutError()]
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_that_raises_has_lost_that_one_notification(error: Exception, is_async: bool) -> None:
    told, clock = Told(), FakeClock()

    class Failing(Told):
        def on_add(self, o: Any, is_in_initial_list: bool, /) -> Any:
            if not is_async:
                raise error
            return self.fail()

        async def fail(self) -> None:
            if isinstance(error, StopIteration):  # Python itself makes a RuntimeError of it
                next(iter(()))
            raise error

    told = Failing()
    listener = listener_of(told, informer_name=f"failing {type(error).__name__} {is_async}")
    labels = {"informer": listener.informer_name, "handler": listener.handler_name}
    async with running(listener.run):
        with capture_logs() as logs:
            tell(listener, (ADD, A, False), (UPDATE, A, A), (SYNCED, None, None))
            await clock.settle()

        assert told.taken() == ["update a@1 a@1"]
        assert listener.has_synced
        assert [line["event"] for line in logs] == ["event_handler_failed"]
        assert metric_value("informer_handler_errors_total", labels) == 1


async def test_a_cancellation_that_a_handler_awaited_ends_nothing_but_its_call() -> None:
    clock = FakeClock()

    class Awaiting(Told):
        async def on_add(self, o: Any, is_in_initial_list: bool, /) -> None:  # type: ignore[override]  # may be either
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            await future

    told = Awaiting()
    listener = listener_of(told)
    async with running(listener.run) as scope:
        with capture_logs() as logs:
            tell(listener, (ADD, A, False), (UPDATE, A, A))
            await clock.settle()

        assert told.taken() == ["update a@1 a@1"]
        assert [line["event"] for line in logs] == ["event_handler_failed"]
        assert not scope.cancel_called


@pytest.mark.parametrize("waits", [True, False])
async def test_a_handler_that_cancels_its_own_task_ends_no_listener(waits: bool) -> None:
    clock = FakeClock()

    class Cancelling(Told):
        async def on_add(self, o: Any, is_in_initial_list: bool, /) -> None:  # type: ignore[override]  # may be either
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            if waits:
                await asyncio.sleep(0)

    told = Cancelling()
    listener = listener_of(told)
    async with running(listener.run):
        tell(listener, (ADD, A, False))
        await clock.settle()
        tell(listener, (UPDATE, A, A))
        await clock.settle()

        assert told.taken() == ["update a@1 a@1"]


async def test_a_handler_that_is_cancelled_along_with_the_listener_lets_it_end() -> None:
    clock = FakeClock()
    seen: list[str] = []

    async def wait_long(_: Any) -> None:
        try:
            await clock.sleep(3600)
        finally:
            seen.append("cancelled")

    listener = listener_of(ResourceEventHandlerFuncs(wait_long))
    async with running(listener.run):
        tell(listener, (ADD, A, False))
        await clock.settle()

    assert seen == ["cancelled"]
    assert clock.next_due is None


async def test_a_handler_may_remove_itself_within_its_own_call() -> None:
    clock = FakeClock()
    told: list[str] = []

    def add(o: Any) -> None:
        told.append("add")
        listener.remove()

    listener = listener_of(ResourceEventHandlerFuncs(add))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.run)
        tell(listener, (ADD, A, False), (ADD, A, False))
        await clock.settle()

    assert told == ["add"]


async def test_a_handler_may_remove_itself_while_it_awaits() -> None:
    clock = FakeClock()
    told: list[str] = []

    async def add(o: Any) -> None:
        told.append("add")
        listener.remove()
        await clock.sleep(1)
        tell(listener, (ADD, A, False))

    listener = listener_of(ResourceEventHandlerFuncs(add))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.run)
        tell(listener, (ADD, A, False), (ADD, A, False))
        await clock.advance(1)

    assert told == ["add"]


async def test_a_listener_that_was_removed_before_it_ran_tells_nothing() -> None:
    told = Told()
    listener = listener_of(told)
    tell(listener, (ADD, A, False))
    listener.remove()
    await listener.run()

    assert told.taken() == []
    await listener.wait_idle()


async def test_a_removed_handler_is_idle_only_when_its_call_has_ended() -> None:
    clock, told = FakeClock(), list[str]()

    async def add(o: Any) -> None:
        await clock.sleep(1)
        told.append("call ended")

    async def wait() -> None:
        await listener.wait_idle()
        told.append("idle")

    listener = listener_of(ResourceEventHandlerFuncs(add))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.run)
        tell(listener, (ADD, A, False))
        await clock.settle()
        listener.remove()
        tasks.start_soon(wait)
        await clock.settle()
        assert told == []
        await clock.advance(1)

    assert told == ["call ended", "idle"]


async def test_a_slow_handler_delays_nobody_else() -> None:
    clock = FakeClock()
    slow: list[Any] = []

    async def wait_long(o: Any) -> None:
        await clock.sleep(60)
        slow.append(o)

    quick = Told()
    processor: SharedProcessor[Any] = SharedProcessor(clock)
    processor.add(listener_of(ResourceEventHandlerFuncs(wait_long)))
    processor.add(listener_of(quick))
    async with anyio.create_task_group() as tasks:
        processor.start(tasks)
        for _ in range(3):
            processor.distribute((ADD, A, False))
        processor.wake()
        await clock.settle()
        assert len(quick.taken()) == 3
        assert len(slow) == 0
        await clock.advance(180)
        assert len(slow) == 3
        tasks.cancel_scope.cancel()


async def test_a_handler_that_takes_its_time_gives_others_their_turn_after_milliseconds() -> None:
    clock = FakeClock()
    order: list[str] = []

    def busy(_: Any) -> None:
        clock.turn(0.003)
        order.append("call")

    async def other() -> None:
        while len(order) < 8:
            order.append("other")
            await asyncio.sleep(0)

    listener = listener_of(ResourceEventHandlerFuncs(busy), clock)
    tell(listener, *[(ADD, A, False)] * 4)
    async with running(listener.run, other):
        await clock.settle()

    assert order[:5] == ["call", "call", "other", "call", "call"]


async def test_a_handler_that_becomes_slow_soon_lets_others_take_their_turn() -> None:
    clock = FakeClock()
    order: list[str] = []

    def busy(_: Any) -> None:
        if len(order) >= 20:
            clock.turn(0.003)
        order.append("call")

    async def other() -> None:
        while order.count("call") < 100:
            order.append("other")
            await asyncio.sleep(0)

    listener = listener_of(ResourceEventHandlerFuncs(busy), clock)
    tell(listener, *[(ADD, A, False)] * 100)
    async with running(listener.run, other):
        await clock.settle()

    slow = order.index("call", 20)
    assert "other" in order[slow : slow + 9]
    # From there on it is looked at after each call, as two of them take the whole of a turn.
    assert order[-20:-1].count("other") >= 6


async def test_the_buffer_grows_without_bound_and_gives_its_memory_back() -> None:
    clock = FakeClock()
    seen = 0

    def count(_: Any) -> None:
        nonlocal seen
        seen += 1

    listener = listener_of(ResourceEventHandlerFuncs(count), informer_name="deep")
    labels = {"informer": "deep", "handler": listener.handler_name}
    tell(listener, *[(ADD, A, False)] * 100_000)
    full = listener.pending.__sizeof__()

    assert metric_value("informer_pending_notifications", labels) == 100_000
    async with running(listener.run):
        await clock.settle()
    assert seen == 100_000
    assert metric_value("informer_pending_notifications", labels) == 0
    assert listener.pending.__sizeof__() < full / 100


async def test_a_new_listener_gets_existing_objects_in_parts_with_turns_between() -> None:
    clock = FakeClock()
    order: list[str] = []

    async def other() -> None:
        while True:
            order.append("other")
            await anyio.lowlevel.checkpoint()
            if len(order) > 1000:
                await anyio.sleep_forever()

    listener = listener_of(ResourceEventHandlerFuncs(lambda _: order.append("call")))
    listener.tell_of_all([A] * 600)
    async with running(listener.run), running(other):
        await clock.settle()

    assert order.count("call") == 600
    assert order.index("other") <= 256
    turns = [len(calls) for calls in "".join(it[0] for it in order).split("o") if calls]
    assert max(turns) == 256
    assert listener.untold == 0


async def test_changes_and_the_lists_end_come_after_all_existing_objects() -> None:
    told, clock = Told(), FakeClock()
    there = [obj(f"o{number}", 1) for number in range(600)]
    listener = listener_of(told)
    listener.tell_of_all(there)
    tell(listener, (SYNCED, None, None), (DELETE, there[-1], None))
    assert listener.untold >= 602
    synced_after: list[int] = []

    async def note_when_synced() -> None:
        await listener.wait_synced()
        synced_after.append(len(told.told))

    async with running(note_when_synced), running(listener.run):
        await clock.settle()

    assert synced_after[0] >= 600
    assert told.taken() == [f"initial add o{number}@1" for number in range(600)] + ["delete o599@1"]


async def test_a_listener_removed_during_its_first_objects_is_called_no_more() -> None:
    clock = FakeClock()
    calls = 0

    def call(_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 300:
            listener.remove()

    listener = listener_of(ResourceEventHandlerFuncs(call))
    listener.tell_of_all([A] * 600)
    async with running(listener.run):
        await clock.settle()

    assert calls == 300
    assert listener.untold == 0


def test_handlers_are_added_and_removed_without_looking_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    processor: SharedProcessor[Any] = SharedProcessor(FakeClock())
    rebuilt: list[int] = []
    rebuild = SharedProcessor._rebuild
    monkeypatch.setattr(SharedProcessor, "_rebuild", lambda self: (rebuilt.append(1), rebuild(self)))
    listeners = [listener_of(Told()) for _ in range(100)]
    for listener in listeners:
        processor.add(listener)
    processor.distribute((ADD, A, False))
    assert [len(listener.pending) for listener in listeners] == [1] * 100

    for listener in listeners[:99]:
        processor.remove(listener)
    assert rebuilt == []
    processor.wake()
    assert rebuilt == [1]
    processor.distribute((ADD, A, False))
    processor.distribute_sync((UPDATE, A, A))
    assert [len(listener.pending) for listener in listeners] == [0] * 99 + [3]
    assert list(processor) == listeners[99:]


def test_metrics_can_be_read_in_a_thread_while_handlers_come_and_go() -> None:
    interval = sys.getswitchinterval()
    errors: list[BaseException] = []
    over = threading.Event()

    def scrape() -> None:
        while not over.is_set():
            try:
                list(metrics._depths.collect())
            except RuntimeError as error:
                errors.append(error)
                return

    kept = [listener_of(Told(), informer_name="scraped") for _ in range(300)]
    thread = threading.Thread(target=scrape)
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for _ in range(3000):
            kept.append(listener_of(Told(), informer_name="scraped"))
            if len(kept) > 400:
                del kept[:100]
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(interval)

    assert errors == []


async def test_nobody_keeps_a_listener_for_the_sake_of_its_metric() -> None:
    listener = listener_of(Told(), informer_name="gone")
    labels = {"informer": "gone", "handler": listener.handler_name}
    assert metric_value("informer_pending_notifications", labels) == 0
    del listener

    assert metric_value("informer_pending_notifications", labels) is None


def test_resyncs_are_told_only_to_those_whose_time_has_come() -> None:
    clock = FakeClock()
    processor: SharedProcessor[Any] = SharedProcessor(clock)
    often, seldom, never = (listener_of(Told(), clock, resync_period=period) for period in (2, 3, 0))
    for listener in (often, seldom, never):
        processor.add(listener)
    due = []
    for second in range(1, 7):
        clock.turn(1)
        if processor.should_resync():
            processor.distribute_sync((UPDATE, A, A))
        due.append((second, len(often.pending), len(seldom.pending), len(never.pending)))

    assert due == [(1, 0, 0, 0), (2, 1, 0, 0), (3, 1, 1, 0), (4, 2, 1, 0), (5, 2, 1, 0), (6, 3, 2, 0)]


def test_a_new_listener_takes_part_in_the_running_resync() -> None:
    clock = FakeClock()
    processor: SharedProcessor[Any] = SharedProcessor(clock)
    old, new = listener_of(Told(), clock), listener_of(Told(), clock)
    processor.add(old)
    processor.should_resync()
    processor.add(new)
    processor.distribute_sync((UPDATE, A, A))

    assert (len(old.pending), len(new.pending)) == (0, 1)


async def test_a_stopped_processor_has_no_listeners_and_runs_none() -> None:
    clock = FakeClock()
    told = Told()
    processor: SharedProcessor[Any] = SharedProcessor(clock)
    listener = listener_of(told)
    processor.add(listener)
    async with anyio.create_task_group() as tasks:
        processor.start(tasks)
        await clock.settle()
        processor.stop()
    processor.distribute((ADD, A, False))
    processor.wake()

    assert list(processor) == []
    assert not listener.pending


async def test_waiting_for_a_handlers_sync_ends_after_its_last_first_object() -> None:
    clock = FakeClock()
    told = Told()
    listener = listener_of(told)
    async with running(listener.run), anyio.create_task_group() as waiting:
        waiting.start_soon(listener.wait_synced)
        tell(listener, (ADD, A, True))
        await clock.settle()
        assert not listener.has_synced
        tell(listener, (SYNCED, None, None))

    assert listener.has_synced


def test_adding_a_handler_costs_the_same_with_few_or_many_others() -> None:
    processor: SharedProcessor[Any] = SharedProcessor(FakeClock())
    executed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal executed
        if frame.f_code.co_filename != processor_module.__file__:
            return None  # a finalizer, which the collector may call at any time
        frame.f_trace_opcodes = True
        executed += event == "opcode"
        return trace

    def added(handlers: int) -> int:
        nonlocal executed
        listeners = [listener_of(ResourceEventHandlerFuncs()) for _ in range(handlers)]
        executed = 0
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # Python 3.12 asks at this time whether any frame wants opcodes
        sys.settrace(trace)
        try:
            for listener in listeners:
                processor.add(listener)
        finally:
            sys.settrace(before)
        return executed

    few = added(100)
    added(1000)

    assert few > 100
    assert added(100) == few


def test_informers_take_handlers_for_the_same_whether_there_are_few_or_many() -> None:
    informer: SharedIndexInformer[dict[str, Any]] = SharedIndexInformer(FakeControllerSource(), dict, clock=FakeClock())
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    def added(handlers: int) -> int:
        nonlocal calls
        calls = 0
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            for _ in range(handlers):
                informer.add_event_handler(ResourceEventHandlerFuncs())
        finally:
            sys.setprofile(before)
        return calls

    few = added(100)
    added(1000)

    assert added(100) <= few * 1.1


async def test_waiting_for_a_version_ends_after_all_earlier_handler_calls() -> None:
    clock, told, over = FakeClock(), list[str](), list[str]()

    async def slow_add(o: Any) -> None:
        await clock.sleep(1)
        told.append(o["metadata"]["name"])

    listener = listener_of(ResourceEventHandlerFuncs(add=slow_add), clock)

    async def wait() -> None:
        await listener.wait_for_version("2")
        over.append("waited")

    listener.tell_of_all([obj(f"listed-{number}", 1) for number in range(3)])
    async with running(listener.run), anyio.create_task_group() as tasks:
        tell(listener, (ADD, A, False))
        tasks.start_soon(wait)
        await clock.advance(3.5)
        assert (told, over) == (["listed-0", "listed-1", "listed-2"], [])

        tell(listener, (ADD, obj("b", 3), False))  # after that version
        await clock.advance(1)
        assert (told[3:], over) == (["a"], ["waited"])


async def test_a_handler_that_is_late_is_named_with_what_waits_for_it() -> None:
    clock, errors = FakeClock(), list[str]()

    async def endless(_: Any) -> None:
        await clock.sleep(3600)

    listener = listener_of(ResourceEventHandlerFuncs(add=endless), clock)

    async def wait() -> None:
        with pytest.raises(CacheBehind) as late:
            await listener.wait_for_version("2", timeout=5)
        errors.append(str(late.value))

    async with running(listener.run), anyio.create_task_group() as tasks:
        tell(listener, (ADD, A, False), (ADD, A, False))
        tasks.start_soon(wait)
        await clock.advance(5)
    assert len(errors) == 1
    assert errors[0].startswith("pods + event handler tests.cache.test_processor.")
    assert errors[0].endswith("has not been called up to version 2 after 5 s: 1 notifications wait")


async def test_whoever_waits_for_a_handler_that_is_removed_is_told_so() -> None:
    clock, errors = FakeClock(), list[str]()
    listener = listener_of(ResourceEventHandlerFuncs(), clock)

    async def wait() -> None:
        with pytest.raises(InformerStateError) as gone:
            await listener.wait_for_version("2")
        errors.append(str(gone.value))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await clock.settle()
        listener.remove()
        await clock.settle()
        tasks.start_soon(wait)
    assert [error.endswith("has ended: it is not called up to version 2") for error in errors] == [True, True]
