from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import structlog.testing

from kinformer.client.errors import ConnectionLost, Status, error_from_status
from kinformer.clock import FakeClock
from kinformer.models import CoreV1Event, V1ObjectMeta, V1ReplicationController
from kinformer.record import NORMAL, ClientSink, EventBroadcaster
from kinformer.record.broadcaster import FLUSHED_AT_ONCE
from tests.record.events import MemorySink

RC = V1ReplicationController(metadata=V1ObjectMeta(name="web", namespace="ns", uid="u1"))

UNREACHABLE = ConnectionLost("http://nowhere", "broken pipe")
REFUSED = error_from_status(Status(reason="Forbidden", code=403, message="no"))
GONE = error_from_status(Status(reason="NotFound", code=404, message="gone"))


@asynccontextmanager
async def running(broadcaster: EventBroadcaster) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(broadcaster.run)
        yield
        tasks.cancel_scope.cancel()


async def test_an_event_is_created_and_the_same_again_patched() -> None:
    clock, sink = FakeClock(), MemorySink()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")
    recorder.event(RC, NORMAL, "Seen", "hello")

    async with running(broadcaster):
        await anyio.wait_all_tasks_blocked()
        recorder.event(RC, NORMAL, "Seen", "hello")
        await anyio.wait_all_tasks_blocked()

    assert sink.writes == ["create hello", "patch hello"]
    assert [event.count for event in sink.stored.values()] == [2]


class PatientSink(MemorySink, ClientSink):
    """A memory for a client that is busy as long as a test says."""

    patience = 1.0
    is_busy = True


async def test_events_wait_while_the_client_has_other_requests() -> None:
    clock, sink = FakeClock(), PatientSink()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")
    recorder.event(RC, NORMAL, "Seen", "first")

    async with running(broadcaster):
        await clock.advance(0.5)
        assert sink.writes == []

        sink.is_busy = False
        await clock.advance(0.1)
        assert sink.writes == ["create first"]


async def test_events_wait_for_a_second_in_all_while_others_go_on() -> None:
    clock, sink = FakeClock(), PatientSink()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")
    for word in ("first", "second"):
        recorder.event(RC, NORMAL, "Seen", word)

    async with running(broadcaster):
        await clock.advance(0.9)
        assert sink.writes == []

        await clock.advance(0.2)
        assert sink.writes == ["create first", "create second"]


async def test_flushing_does_not_wait_for_other_requests() -> None:
    clock, sink = FakeClock(), PatientSink()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    broadcaster.new_recorder("test").event(RC, NORMAL, "Seen", "hello")

    async with running(broadcaster):
        await anyio.wait_all_tasks_blocked()
        assert await broadcaster.flush(5.0) == 0
        assert sink.writes == ["create hello"]


async def test_an_event_is_tried_again_while_the_server_cannot_be_reached() -> None:
    clock, sink = FakeClock(), MemorySink([UNREACHABLE, UNREACHABLE])
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    broadcaster.new_recorder("test").event(RC, NORMAL, "Seen", "hello")

    async with running(broadcaster):
        await clock.advance(20)

    assert len(sink.writes) == 3
    assert len(sink.stored) == 1


async def test_an_event_is_dropped_after_twelve_tries_and_the_next_written() -> None:
    clock, sink = FakeClock(), MemorySink([UNREACHABLE] * 12)
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")
    recorder.event(RC, NORMAL, "Seen", "lost")
    recorder.event(RC, NORMAL, "Seen", "kept")

    async with running(broadcaster):
        await clock.advance(120)

    assert sink.writes == ["create lost"] * 12 + ["create kept"]


async def test_a_refused_event_is_not_tried_again() -> None:
    clock, sink = FakeClock(), MemorySink([REFUSED])
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    broadcaster.new_recorder("test").event(RC, NORMAL, "Seen", "hello")

    async with running(broadcaster):
        await clock.advance(60)

    assert sink.writes == ["create hello"]


async def test_an_event_that_the_server_has_let_expire_is_made_anew() -> None:
    clock, sink = FakeClock(), MemorySink()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")

    async with running(broadcaster):
        recorder.event(RC, NORMAL, "Seen", "hello")
        await anyio.wait_all_tasks_blocked()
        sink.errors.append(GONE)
        recorder.event(RC, NORMAL, "Seen", "hello")
        await anyio.wait_all_tasks_blocked()

    assert sink.writes == ["create hello", "patch hello", "create hello"]
    assert [event.count for event in sink.stored.values()] == [2]


async def test_what_comes_while_the_queue_is_full_is_dropped_and_said_once() -> None:
    sink = MemorySink()
    broadcaster = EventBroadcaster(clock=FakeClock(), max_queued=3)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")

    with structlog.testing.capture_logs() as logs:
        for n in range(10):
            recorder.event(RC, NORMAL, "Seen", f"message {n}")
        async with running(broadcaster):
            await anyio.wait_all_tasks_blocked()

    assert sink.writes == ["create message 0", "create message 1", "create message 2"]
    assert broadcaster.dropped == 7
    assert [line["event"] for line in logs] == ["event_queue_full", "events_dropped"]


async def test_a_listener_that_fails_goes_on_with_the_next_event() -> None:
    seen: list[str] = []

    async def listen(event: CoreV1Event) -> None:
        seen.append(event.message)
        raise ValueError("no")

    broadcaster = EventBroadcaster(clock=FakeClock())
    async with running(broadcaster):
        await anyio.wait_all_tasks_blocked()
        broadcaster.start_event_watcher(listen)
        recorder = broadcaster.new_recorder("test")
        with structlog.testing.capture_logs():
            recorder.event(RC, NORMAL, "Seen", "one")
            recorder.event(RC, NORMAL, "Seen", "two")
            await anyio.wait_all_tasks_blocked()

    assert seen == ["one", "two"]


async def test_a_listener_cancelled_by_others_continues_with_the_next_event() -> None:
    seen: list[str] = []

    async def listen(event: CoreV1Event) -> None:
        seen.append(event.message)
        shared = asyncio.get_running_loop().create_future()
        shared.cancel()
        await shared

    broadcaster = EventBroadcaster(clock=FakeClock())
    broadcaster.start_event_watcher(listen)
    recorder = broadcaster.new_recorder("test")
    async with running(broadcaster):
        with structlog.testing.capture_logs() as logs:
            recorder.event(RC, NORMAL, "Seen", "one")
            recorder.event(RC, NORMAL, "Seen", "two")
            await anyio.wait_all_tasks_blocked()

    assert seen == ["one", "two"]
    assert [line["event"] for line in logs] == ["event_listener_failed"] * 2


async def test_a_sink_whose_write_is_cancelled_by_others_is_tried_again() -> None:
    clock, sink = FakeClock(), MemorySink()
    create, tried = sink.create, 0

    async def cancelled_once(event: CoreV1Event) -> CoreV1Event:
        nonlocal tried
        tried += 1
        if tried == 1:
            shared = asyncio.get_running_loop().create_future()
            shared.cancel()
            await shared
        return await create(event)

    sink.create = cancelled_once  # type: ignore[method-assign]
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    broadcaster.new_recorder("test").event(RC, NORMAL, "Seen", "hello")
    async with running(broadcaster):
        await clock.advance(20)

    assert tried == 2
    assert len(sink.stored) == 1


async def test_events_can_be_logged() -> None:
    broadcaster = EventBroadcaster(clock=FakeClock())
    broadcaster.start_structured_logging()
    broadcaster.new_recorder("test").event(RC, NORMAL, "Seen", "hello")

    with structlog.testing.capture_logs() as logs:
        async with running(broadcaster):
            await anyio.wait_all_tasks_blocked()

    assert [(line["event"], line["object"], line["message"]) for line in logs] == [
        ("event_occurred", "ns/web", "hello")
    ]


async def test_flushing_waits_until_all_is_written_and_tries_each_event_once() -> None:
    clock, sink = FakeClock(), MemorySink([UNREACHABLE, UNREACHABLE])
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(sink)
    recorder = broadcaster.new_recorder("test")
    recorder.event(RC, NORMAL, "Seen", "lost")
    recorder.event(RC, NORMAL, "Seen", "kept")

    async with running(broadcaster):
        await clock.settle()  # the first waits for its second try
        with anyio.fail_after(60):
            assert await broadcaster.flush(5.0) == 0

    assert sink.writes == ["create lost", "create lost", "create kept"]


async def test_flushing_writes_the_events_of_different_objects_at_the_same_time() -> None:
    clock, begun, may_end = FakeClock(), list[str](), anyio.Event()

    class SlowSink(MemorySink):
        async def create(self, event: CoreV1Event) -> CoreV1Event:
            begun.append(f"{event.involved_object.name} {event.message}")
            await may_end.wait()
            return await super().create(event)

    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(SlowSink())
    recorder = broadcaster.new_recorder("test")
    for name in ("a", "b", "c"):
        about = V1ReplicationController(metadata=V1ObjectMeta(name=name, namespace="ns", uid=name))
        recorder.event(about, NORMAL, "Seen", "one")
        recorder.event(about, NORMAL, "Changed", "two")

    async with running(broadcaster), anyio.create_task_group() as tasks:
        tasks.start_soon(broadcaster.flush, 5.0)
        await clock.settle()
        assert sorted(begun) == ["a one", "b one", "c one"]
        may_end.set()
    assert sorted(begun[3:]) == ["a two", "b two", "c two"]


async def test_flushing_ends_when_its_time_is_over_and_says_what_is_lost() -> None:
    clock = FakeClock()
    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_event_watcher(lambda _: anyio.sleep_forever())
    recorder = broadcaster.new_recorder("test")
    lost: list[int] = []

    async def flush() -> None:
        lost.append(await broadcaster.flush(5.0))

    async with running(broadcaster), anyio.create_task_group() as tasks:
        for text in ("one", "two"):
            recorder.event(RC, NORMAL, "Seen", text)
        tasks.start_soon(flush)
        await clock.advance(4.9)
        assert not lost
        await clock.advance(0.2)

    assert lost == [2]


async def test_flushing_writes_several_events_at_once_and_counts_lost_ones() -> None:
    clock, begun, lost = FakeClock(), list[str](), list[int]()

    class StuckSink(MemorySink):
        async def create(self, event: CoreV1Event) -> CoreV1Event:
            begun.append(event.involved_object.name or "")
            await anyio.sleep_forever()
            raise AssertionError

    broadcaster = EventBroadcaster(clock=clock)
    broadcaster.start_recording_to_sink(StuckSink())
    recorder = broadcaster.new_recorder("test")

    async def flush() -> None:
        lost.append(await broadcaster.flush(5.0))

    async with running(broadcaster), anyio.create_task_group() as tasks:
        await clock.settle()
        for number in range(40):
            about = V1ReplicationController(metadata=V1ObjectMeta(name=f"rc-{number}", namespace="ns", uid=f"{number}"))
            recorder.event(about, NORMAL, "Seen", "one")
        tasks.start_soon(flush)
        await clock.settle()
        # The queue's own task may have taken one before.
        assert FLUSHED_AT_ONCE <= len(begun) <= FLUSHED_AT_ONCE + 1
        await clock.advance(5.1)

    assert lost == [40]
