from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import anyio
import pytest
from anyio.lowlevel import checkpoint
from structlog.testing import capture_logs

from kinformer.backoff import Backoff
from kinformer.cache import DeltaFIFO, Indexer, InformerOptions, RealFIFO, Reflector
from kinformer.cache.options import DEFAULT_OPTIONS
from kinformer.cache.reflector import DEFAULT_PAGE_SIZE
from kinformer.cache.watch_errors import (
    ListNotStored,
    RetryWithDeadline,
    UnexpectedError,
    VeryShortWatch,
    default_watch_error_handler,
)
from kinformer.client.errors import (
    ClientError,
    ConnectionLost,
    InternalError,
    ServerUnreachable,
    Status,
    StatusCause,
    StatusDetails,
    TooManyRequests,
    WatchStalled,
    error_from_status,
)
from kinformer.client.types import ListOptions, ObjectList, WatchEvent
from kinformer.clock import FakeClock
from kinformer.meta import accessor_for
from kinformer.models import V1Pod, from_dict
from tests.cache.informers import passing, running, short
from tests.cache.scripted import ScriptedListerWatcher, bookmark, event, obj, settle, status_error
from tests.metrics import metric_value

REFUSED = ServerUnreachable("https://server", ConnectionRefusedError(errno.ECONNREFUSED, "refused"))


def throttled(seconds: int = 0) -> TooManyRequests:
    details = StatusDetails(retry_after_seconds=seconds)
    status = Status(status="Failure", code=429, reason="TooManyRequests", message="busy", details=details)
    return cast("TooManyRequests", error_from_status(status))


def too_large(message: str = "", *causes: StatusCause) -> Exception:
    details = StatusDetails(causes=causes)
    return error_from_status(Status(status="Failure", code=504, reason="Timeout", message=message, details=details))


class Scene:
    """A reflector between a scripted server and a store."""

    def __init__(
        self,
        store: Any = None,
        *,
        supports_watch_list: bool = False,
        options: InformerOptions = DEFAULT_OPTIONS,
        **more: Any,
    ):
        self.clock = FakeClock()
        self.server = ScriptedListerWatcher(supports_watch_list=supports_watch_list)
        self.store: Any = Indexer(accessor_for(dict)) if store is None else store
        self.errors: list[str] = []
        self.reflector: Reflector[dict[str, Any]] = Reflector(
            self.server,
            dict,
            self.store,
            name="pods",
            clock=self.clock,
            options=replace(
                options, watch_error_handler=lambda _, error: self.errors.append(str(error)), random=lambda: 0.0
            ),
            **more,
        )

    @property
    def objects(self) -> list[str]:
        return sorted(map(short, self.store.list()))

    async def once(self) -> Any:
        """What list_and_watch returns, or raises."""
        return await passing(self.clock, self.reflector.list_and_watch)


async def test_the_watch_is_closed_when_the_server_reports_an_error() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    scene.server.fail_watch(status_error(500, "InternalError"))

    assert await scene.once() is None
    assert scene.server.open == 0


async def test_cancelling_closes_the_watch_and_leaves_no_task() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        assert scene.server.open == 1

    assert scene.server.open == 0
    assert scene.clock.next_due is None


@pytest.mark.parametrize("awaits", range(1, 12))
async def test_it_can_be_cancelled_at_any_await(awaits: int) -> None:
    """Within a list, a streaming list, an event, a resync, or a wait: it ends, and the connection is closed."""
    scene = Scene(supports_watch_list=True, resync_period=10)
    server = scene.server
    server.will_refuse_watch(throttled())
    server.will_refuse_watch(status_error(400, "BadRequest"))
    server.will_list(obj("a", 1), rv=1, continue_token="more")
    server.will_list(obj("b", 1), rv=1)
    server.send(event("MODIFIED", "a", 2))
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.reflector.run)
            for _ in range(awaits):
                await checkpoint()
                if awaits > 5 and (wait := scene.clock.next_due) is not None:
                    scene.clock.turn(wait)
            scope.cancel()

    assert server.open == 0
    assert scene.clock.next_due is None


async def test_a_reflector_cancelled_before_it_starts_neither_lists_nor_watches() -> None:
    scene = Scene()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await scene.reflector.run()

    assert not [call for call in scene.server.taken() if call[0] == "watch"]


async def test_a_watch_that_ends_within_a_second_without_events_is_an_error() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    scene.server.end_watch()

    with capture_logs() as logs:
        assert await scene.once() is None
    assert any("very short watch: pods" in str(line.get("error")) for line in logs)
    assert scene.server.taken() == [("list", "0"), ("watch", "1")]


async def test_a_watch_that_ends_after_a_second_is_opened_again() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        await scene.clock.advance(1)
        scene.server.end_watch()
        await scene.clock.settle()

        assert scene.server.taken() == [("list", "0"), ("watch", "1"), ("watch", "1")]


async def test_events_reach_the_store_in_order_and_the_last_version_is_kept() -> None:
    scene = Scene()
    scene.server.will_list(obj("foo", 1), obj("bar", 2), rv=2)
    async with running(scene.reflector.run):
        scene.server.send(event("DELETED", "foo", 3), event("MODIFIED", "bar", 32), event("ADDED", "baz", 55))
        await scene.clock.settle()

        assert scene.objects == ["bar@32", "baz@55"]
        assert scene.reflector.last_sync_resource_version == "55"


async def test_objects_of_another_type_are_left_out() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        with capture_logs() as logs:
            stranger = WatchEvent("ADDED", cast("Any", from_dict(V1Pod, obj("stranger", 2))))
            scene.server.send(stranger, event("ADDED", "a", 3))
            await scene.clock.settle()

        assert scene.objects == ["a@3"]
        assert "watch_event_of_another_type" in [line["event"] for line in logs]


async def test_dicts_of_another_kind_are_left_out() -> None:
    scene = Scene(expected_kind="Pod")
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        scene.server.send(
            event("ADDED", "a", 2, kind="Service"), event("ADDED", "b", 3, kind="Pod"), event("ADDED", "c", 4)
        )
        await scene.clock.settle()

        assert scene.objects == ["b@3", "c@4"]


async def test_events_of_an_unknown_type_are_skipped() -> None:
    scene = Scene()
    scene.server.will_list(obj("a", 1), rv=1)
    async with running(scene.reflector.run):
        scene.server.send(WatchEvent(cast("Any", "RENAMED"), obj("a", 2)), event("ADDED", "b", 3))
        await scene.clock.settle()

        assert scene.objects == ["a@1", "b@3"]


async def test_an_object_without_a_name_stops_no_other() -> None:
    scene = Scene(DeltaFIFO(lambda o: o["metadata"]["name"]))
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        scene.server.send(
            WatchEvent("ADDED", {"metadata": {"resourceVersion": "2"}}),
            WatchEvent("ADDED", {}),
            event("ADDED", "b", 3),
        )
        await scene.clock.settle()

        assert scene.store.list_keys() == ["b"]
        assert scene.reflector.last_sync_resource_version == "3"


async def test_the_first_list_is_paged_at_version_0_and_then_watched() -> None:
    scene = Scene()
    scene.server.will_list(obj("foo", 1), rv=1)
    async with running(scene.reflector.run):
        scene.server.send(event("MODIFIED", "foo", 2), event("ADDED", "bar", 3))
        await scene.clock.settle()

        listed, watched = (call.options for call in scene.server.calls)
        assert listed == ListOptions(resource_version="0", limit=DEFAULT_PAGE_SIZE)
        assert watched == ListOptions(resource_version="1", allow_watch_bookmarks=True, timeout_seconds=300)
        assert scene.objects == ["bar@3", "foo@2"]


async def test_after_any_failure_the_next_list_restores_the_servers_state() -> None:
    scene = Scene()
    server = scene.server
    async with running(scene.reflector.run):
        server.will_list(rv=1)
        server.send(event("ADDED", "foo", 2), event("ADDED", "bar", 3))
        server.fail_watch(status_error(410, "Expired"))
        await settle(scene.clock)
        server.will_list(obj("foo", 2), obj("bar", 3), rv=3)
        server.send(event("DELETED", "foo", 4), event("ADDED", "qux", 5))
        server.fail_watch(status_error(410, "Expired"))
        await settle(scene.clock)
        server.will_fail_list(status_error(500, "InternalError", "a list error"))
        server.will_refuse_watch(status_error(500, "InternalError", "a watch error"))
        await settle(scene.clock)
        server.will_list(obj("bar", 3), obj("qux", 5), rv=5)
        await settle(scene.clock)
        server.will_list(obj("bar", 3), obj("qux", 5), obj("baz", 6), rv=6)
        await settle(scene.clock)

        assert scene.objects == ["bar@3", "baz@6", "qux@5"]
        assert scene.errors == ["a list error", "a watch error"]


@pytest.mark.parametrize(("failures", "seconds"), [(1, 0.8), (5, 0.8 + 1.6 + 3.2 + 6.4 + 12.8), (8, 110.4)])
async def test_refused_connections_are_tried_again_with_growing_waits_and_no_new_list(
    failures: int, seconds: float
) -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    for _ in range(failures):
        scene.server.will_refuse_watch(REFUSED)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.clock.monotonic() == pytest.approx(seconds)
        assert scene.server.taken() == [("list", "0")] + [("watch", "1")] * (failures + 1)
        assert scene.server.open == 1


async def test_a_custom_backoff_takes_the_place_of_the_usual_one() -> None:
    clock = FakeClock()
    scene = Scene(options=InformerOptions(backoff=Backoff(initial=0.01, maximum=0.1, jitter=0, clock=clock)))
    scene.server.will_list(rv=1)
    for _ in range(5):
        scene.server.will_refuse_watch(REFUSED)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.clock.monotonic() == pytest.approx(0.01 + 0.02 + 0.04 + 0.08 + 0.1)


async def test_reflectors_with_equal_options_have_backoffs_of_their_own() -> None:
    clock = FakeClock()
    shared = InformerOptions(backoff=Backoff(initial=1, maximum=60, jitter=0, clock=clock))
    for _ in range(2):
        scene = Scene(options=shared)
        scene.server.will_list(rv=1)
        for _ in range(3):
            scene.server.will_refuse_watch(REFUSED)
        async with running(scene.reflector.run):
            await settle(scene.clock)

            assert scene.clock.monotonic() == pytest.approx(1 + 2 + 4)


async def test_the_backoff_starts_over_two_minutes_after_it_began() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        for _ in range(3):
            scene.server.will_refuse_watch(REFUSED)
        await settle(scene.clock)
        await scene.clock.advance(121)
        scene.server.will_refuse_watch(REFUSED)
        scene.server.end_watch()
        await scene.clock.settle()

        assert scene.clock.next_due == pytest.approx(0.8)


async def test_a_throttled_watch_is_opened_again_later_without_a_new_list() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    for _ in range(4):
        scene.server.will_refuse_watch(throttled())
    scene.server.fail_watch(throttled())
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.clock.monotonic() == pytest.approx(0.8 + 1.6 + 3.2 + 6.4 + 12.8)
        assert scene.server.taken() == [("list", "0")] + [("watch", "1")] * 6


async def test_a_store_is_behind_once_its_watch_has_ended_with_an_error() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        assert not scene.reflector.contact.is_behind

        scene.server.fail_watch(throttled())
        await scene.clock.settle()
        assert scene.reflector.contact.is_behind


async def test_a_server_that_says_how_long_to_wait_is_waited_for() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    scene.server.will_refuse_watch(throttled(17))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.clock.next_due == 17


@pytest.mark.parametrize(
    ("max_duration", "rewind_at", "retries"), [(0, None, 0), (30, None, 31), (30, 10, 40)], ids=str
)
async def test_internal_errors_are_retried_without_a_list_for_the_time_set(
    max_duration: float, rewind_at: int | None, retries: int
) -> None:
    clock = FakeClock()
    watches = 0

    class Server(ScriptedListerWatcher):
        def watch(self, options: ListOptions) -> Any:
            nonlocal watches
            watches += 1
            if watches == rewind_at:
                clock.turn(60)
            clock.turn(1)
            self.fail_watch(status_error(500, "InternalError", "etcdserver: no leader"))
            return super().watch(options)

    server = Server()
    server.will_list(rv=1)
    reflector = Reflector(
        server,
        dict,
        Indexer(accessor_for(dict)),
        clock=clock,
        options=InformerOptions(max_internal_error_retry=max_duration),
    )
    await reflector.list_and_watch()

    assert watches - 1 == retries
    assert [verb for verb, _ in server.taken()].count("list") == 1


@pytest.mark.parametrize(
    ("max_duration", "steps"),
    [
        (0, [(1, False), (1, False)]),
        (1, [(1, True), (1, True), (1, False)]),
        (30, [(0, True), (30, True), (0.1, False), (0, True)]),
        (30, [(0, True), (29, True), (60, True), (30, True)]),
    ],
)
def test_retries_last_for_the_set_time_after_a_rows_first_failure(
    max_duration: float, steps: list[tuple[float, bool]]
) -> None:
    clock = FakeClock()
    retry = RetryWithDeadline(clock, max_duration)
    answers = []
    for seconds, _ in steps:
        clock.turn(seconds)
        answers.append(retry.failed())

    assert answers == [wanted for _, wanted in steps]


async def test_resyncs_come_at_their_period_once_the_list_is_there() -> None:
    class Resyncing(Indexer[Any]):
        resyncs = 0

        def resync(self) -> None:
            self.resyncs += 1

    scene = Scene(Resyncing(accessor_for(dict)), resync_period=10)
    async with running(scene.reflector.run):
        await scene.clock.advance(25)
        assert scene.store.resyncs == 0
        scene.server.will_list(rv=1)
        await scene.clock.advance(25)
        assert scene.store.resyncs == 2


async def test_a_resync_is_left_out_when_nobody_wants_it() -> None:
    wanted = iter([False, True])
    clock = FakeClock()
    known = Indexer(accessor_for(dict))
    known.add(obj("a", 1))
    queue = DeltaFIFO(accessor_for(dict), known)
    server = ScriptedListerWatcher()
    server.will_list(obj("a", 1), rv=1)
    reflector = Reflector(
        server,
        dict,
        queue,
        clock=clock,
        resync_period=10,
        should_resync=lambda: next(wanted),
        options=InformerOptions(use_watch_list=False),
    )
    async with running(reflector.run):
        await clock.advance(10)
        queue.drain(lambda *_: None)
        assert len(queue) == 0
        await clock.advance(10)
        assert len(queue) == 1


async def test_a_failing_resync_ends_the_watch_and_everything_is_listed_again() -> None:
    class Failing(Indexer[Any]):
        resyncs = 0

        def resync(self) -> None:
            self.resyncs += 1
            if self.resyncs == 2:
                raise RuntimeError("cannot resync")

    scene = Scene(Failing(accessor_for(dict)), resync_period=1)
    scene.server.will_list(rv=1)

    assert await scene.once() is None
    assert scene.store.resyncs == 2
    assert scene.server.open == 0


async def test_pages_have_the_size_asked_for_and_carry_no_later_version() -> None:
    scene = Scene(options=InformerOptions(page_size=4))
    names = [f"pod-{n}" for n in range(10)]
    scene.server.will_list(*(obj(name, 1) for name in names[:4]), rv=10, continue_token="C1")
    scene.server.will_list(*(obj(name, 1) for name in names[4:8]), rv=10, continue_token="C2")
    scene.server.will_list(*(obj(name, 1) for name in names[8:]), rv=10)
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert [call.options for call in scene.server.calls[:3]] == [
            ListOptions(resource_version="0", limit=4),
            ListOptions(limit=4, continue_token="C1"),
            ListOptions(limit=4, continue_token="C2"),
        ]
        assert len(scene.objects) == 10


async def test_a_list_at_a_known_version_comes_whole_from_the_servers_cache() -> None:
    scene = Scene()
    scene.server.will_list(rv=10)
    scene.server.will_list(rv=11)
    scene.server.fail_watch(status_error(410, "Expired"))
    async with running(scene.reflector.run):
        await settle(scene.clock)

        lists = [call.options for call in scene.server.calls if call.verb == "list"]
        assert lists == [ListOptions(resource_version="0", limit=500), ListOptions(resource_version="10")]


async def test_a_server_that_pages_at_version_0_is_asked_for_pages_always() -> None:
    scene = Scene()
    scene.server.will_list(obj("a", 1), rv=10, continue_token="C1")
    scene.server.will_list(obj("b", 1), rv=10)
    scene.server.will_list(rv=11)
    scene.server.fail_watch(status_error(410, "Expired"))
    async with running(scene.reflector.run):
        await settle(scene.clock)

        lists = [call.options for call in scene.server.calls if call.verb == "list"]
        assert lists[-1] == ListOptions(resource_version="10", limit=500)


async def test_a_list_is_never_older_than_what_was_seen() -> None:
    scene = Scene()
    scene.server.will_list(obj("a", 1), rv=10)
    scene.server.send(event("MODIFIED", "a", 12))
    scene.server.fail_watch(status_error(410, "Expired"))
    scene.server.will_list(rv=13)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.server.taken() == [("list", "0"), ("watch", "10"), ("list", "12"), ("watch", "13")]


@pytest.mark.parametrize(
    "events",
    [
        [event("ADDED", "b", 9), event("DELETED", "b", 12), event("ADDED", "b", 9)],
        [bookmark(12), event("ADDED", "b", 9)],
        [event("MODIFIED", "a", 12), event("MODIFIED", "a", 9)],
        [event("DELETED", "b", 12), bookmark(3), event("ADDED", "c", 9)],
    ],
    ids=["after a deletion", "after a bookmark", "after a change", "after an old bookmark"],
)
@pytest.mark.parametrize("batches", ["one batch", "one by one"])
async def test_an_event_older_than_those_before_it_ends_the_watch(events: list[Any], batches: str) -> None:
    scene = Scene()
    scene.server.will_list(obj("a", 1), rv=8)
    for batch in [events] if batches == "one batch" else [[one] for one in events]:
        scene.server.send(*batch)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        assert [name for name in scene.objects if name.endswith("@9")] == []

        scene.server.will_list(obj("a", 13), rv=13)
        await settle(scene.clock)

        assert scene.server.taken() == [("list", "0"), ("watch", "8"), ("list", "12"), ("watch", "13")]
        assert scene.objects == ["a@13"]


async def test_an_old_event_behind_initial_events_ends_the_watch() -> None:
    scene = Scene()
    scene.server.will_list(rv=0)
    scene.server.send(event("ADDED", "a", 1), event("DELETED", "a", 2), event("ADDED", "a", 1))
    with capture_logs() as logs:
        async with running(scene.reflector.run):
            await scene.clock.settle()
            assert scene.objects == []

            scene.server.will_list(rv=3)
            await settle(scene.clock)

    assert scene.server.taken() == [("list", "0"), ("watch", "0"), ("list", "2"), ("watch", "3")]
    told = [line["error"] for line in logs if line["event"] == "watch_ended"]
    assert told == ["watch of pods: an event of version 1 came after version 2"]


async def test_versions_that_are_no_numbers_have_no_order() -> None:
    scene = Scene()
    scene.server.will_list(rv="m")
    async with running(scene.reflector.run):
        scene.server.send(event("ADDED", "a", "z"), event("ADDED", "b", "c"))
        scene.server.send(event("ADDED", "c", "b"))
        await scene.clock.settle()

        assert scene.objects == ["a@z", "b@c", "c@b"]
        assert scene.server.taken() == [("list", "0"), ("watch", "m")]


@pytest.mark.parametrize("most_recent", [13, 4], ids=["a stale replica", "restored from a backup"])
async def test_a_list_older_than_was_seen_is_not_used(most_recent: int) -> None:
    scene = Scene()
    scene.server.will_list(obj("a", 1), rv=10)
    scene.server.fail_watch(status_error(410, "Expired"))
    scene.server.will_list(rv=7)
    scene.server.will_list(obj("b", 3), rv=most_recent)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.server.taken()[2:] == [("list", "10"), ("list", ""), ("watch", str(most_recent))]
        assert scene.objects == ["b@3"]


async def test_after_an_expired_version_the_list_is_of_the_most_recent_state() -> None:
    scene = Scene()
    scene.server.will_list(rv=10)
    scene.server.fail_watch(status_error(410, "Gone"))
    scene.server.will_fail_list(status_error(410, "Expired"))
    scene.server.will_list(rv=11)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert [call.options.limit for call in scene.server.calls if call.verb == "list"] == [500, 0, 0]
        assert scene.server.taken() == [("list", "0"), ("watch", "10"), ("list", "10"), ("list", ""), ("watch", "11")]
        assert scene.errors == []


async def test_while_the_version_is_unavailable_every_list_is_the_most_recent() -> None:
    scene = Scene()
    scene.server.will_list(rv=10)
    scene.server.fail_watch(status_error(410, "Gone"))
    scene.server.will_fail_list(status_error(410, "Expired"))
    scene.server.will_fail_list(status_error(500, "InternalError", "no luck"))
    scene.server.will_list(rv=11)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        lists = [version for verb, version in scene.server.taken() if verb == "list"]
        assert lists == ["0", "10", "", ""]


async def test_after_an_expired_page_the_whole_list_is_asked_for() -> None:
    scene = Scene(options=InformerOptions(page_size=4))
    scene.server.will_list(obj("a", 1), rv=10)
    scene.server.fail_watch(status_error(410, "Expired"))
    scene.server.will_list(obj("a", 1), rv=11, continue_token="C1")
    scene.server.will_fail_list(status_error(410, "Expired"))
    scene.server.will_list(obj("a", 1), obj("b", 2), rv=11)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        lists = [call.options for call in scene.server.calls if call.verb == "list"]
        assert lists == [
            ListOptions(resource_version="0", limit=4),
            ListOptions(resource_version="10", limit=4),
            ListOptions(limit=4, continue_token="C1"),
            ListOptions(resource_version="10"),
        ]
        assert scene.objects == ["a@1", "b@2"]


async def test_the_version_of_a_list_in_pages_is_that_of_the_first() -> None:
    scene = Scene(options=InformerOptions(page_size=1))
    scene.server.will_list(obj("a", 1), rv=10, continue_token="C1")
    scene.server.will_list(obj("b", 11), rv=11)
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.server.taken()[-1] == ("watch", "10")


async def test_a_page_that_fails_for_another_reason_fails_the_list() -> None:
    scene = Scene(options=InformerOptions(page_size=1))
    scene.server.will_list(obj("a", 1), rv=10, continue_token="C1")
    scene.server.will_fail_list(status_error(403, "Forbidden", "not this page"))

    assert str(await scene.once()) == "not this page"
    assert scene.objects == []


@pytest.mark.parametrize(
    "error",
    [
        too_large("", StatusCause(reason="ResourceVersionTooLarge")),
        too_large("", StatusCause(message="Too large resource version")),
        too_large("Too large resource version"),
    ],
    ids=["1.18.6 and later", "1.17 to 1.18.5", "before 1.17"],
)
async def test_a_version_from_the_future_is_listed_at_the_most_recent_state(
    error: Exception,
) -> None:
    scene = Scene()
    scene.server.will_list(rv=20)
    scene.server.fail_watch(status_error(410, "Expired"))
    scene.server.will_fail_list(error)
    scene.server.will_list(rv=30)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.server.taken()[2:4] == [("list", "20"), ("list", "")]


@pytest.mark.parametrize(("minimum", "lower"), [(0, 300), (1, 300), (1800, 1800)])
@pytest.mark.parametrize("drawn", [0.0, 0.5, 0.999])
async def test_watches_end_after_a_time_drawn_from_the_minimum_to_twice_that(
    minimum: float, lower: int, drawn: float
) -> None:
    clock = FakeClock()
    server = ScriptedListerWatcher()
    server.will_list(rv=1)
    reflector = Reflector(
        server,
        dict,
        Indexer(accessor_for(dict)),
        clock=clock,
        options=InformerOptions(min_watch_timeout=minimum, random=lambda: drawn),
    )
    async with running(reflector.run):
        await clock.settle()

        assert server.calls[-1].options.timeout_seconds == int(lower * (1 + drawn))


async def test_the_version_goes_on_with_every_kind_of_event() -> None:
    scene = Scene()
    scene.server.will_list(rv=10)
    versions = []
    async with running(scene.reflector.run):
        for sent in (event("ADDED", "a", 10), event("MODIFIED", "a", 20), bookmark(30), event("DELETED", "a", 40)):
            scene.server.send(sent)
            await scene.clock.settle()
            versions.append(scene.reflector.last_sync_resource_version)

    assert versions == ["10", "20", "30", "40"]


async def test_a_watch_without_a_version_has_none_until_a_later_event() -> None:
    scene = Scene()
    scene.server.will_list(rv="")
    versions = []
    async with running(scene.reflector.run):
        for sent in (event("ADDED", "b", 7), event("ADDED", "a", 3), event("MODIFIED", "a", 8), event("ADDED", "c", 9)):
            scene.server.send(sent)
            await scene.clock.settle()
            versions.append(scene.reflector.last_sync_resource_version)

    assert versions == ["", "", "8", "9"]


async def test_a_store_that_knows_bookmarks_is_told_of_each() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        scene.server.send(bookmark(9))
        await scene.clock.settle()

        assert scene.store.last_store_sync_resource_version() == "9"


async def test_an_unsafely_deleted_object_leaves_with_the_list_after_the_error() -> None:
    kept = [obj("foo-1", 1), obj("foo-2", 2), obj("foo-3", 3)]
    scene = Scene()
    scene.server.will_list(*kept, rv=3)
    scene.server.send(event("ADDED", "foo", 4))
    scene.server.fail_watch(status_error(500, "StorageReadError", "corrupt object has been deleted"))
    scene.server.will_list(*kept, rv=5)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        assert "foo@4" in scene.objects
        await settle(scene.clock)

        assert scene.objects == ["foo-1@1", "foo-2@2", "foo-3@3"]
        assert scene.reflector.last_sync_resource_version == "5"


def transform_once(o: Any) -> Any:
    return {**o, "transformed": o.get("transformed", 0) + 1}


@pytest.mark.parametrize("kind", ["real", "delta"])
async def test_lists_and_watches_go_through_the_stores_transformer(kind: str) -> None:
    known = Indexer(accessor_for(dict))
    queue: Any = (DeltaFIFO if kind == "delta" else RealFIFO)(accessor_for(dict), known, transformer=transform_once)
    scene = Scene(queue)
    scene.server.will_list(obj("foo-1", 1), obj("foo-2", 2), rv=3)
    scene.server.send(event("ADDED", "foo-3", 4))
    async with running(scene.reflector.run):
        await scene.clock.settle()

    got: list[Any] = []
    queue.drain(lambda deltas, _: got.extend(delta.object for delta in deltas))
    assert [o["transformed"] for o in got] == [1, 1, 1]


async def test_an_event_whose_transformer_fails_is_logged_and_the_next_is_stored() -> None:
    def transform(o: Any) -> Any:
        if o["metadata"]["name"] == "bad":
            raise RuntimeError("will not have it")
        return o

    scene = Scene(DeltaFIFO(accessor_for(dict), transformer=transform))
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        with capture_logs() as logs:
            scene.server.send(event("ADDED", "bad", 2), event("ADDED", "good", 3))
            await scene.clock.settle()

        assert scene.store.list_keys() == ["ns/good"]
        assert scene.reflector.last_sync_resource_version == "3"
        assert [(line["event"], line["key"]) for line in logs if line["log_level"] == "error"] == [
            ("object_left_out", "ns/bad")
        ]


class Failing(Indexer[Any]):
    """A store that does not take its first list."""

    failures = 1

    def replace(self, objects: Any, resource_version: str = "") -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("not now")
        super().replace(objects, resource_version)


async def test_a_list_that_the_store_refuses_is_reported_and_tried_again() -> None:
    scene = Scene(Failing(accessor_for(dict)))
    scene.server.will_list(obj("a", 1), rv=1)
    scene.server.will_list(obj("a", 1), rv=1)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.errors == ["unable to sync list result: pods: RuntimeError: not now"]
        assert scene.store.list_keys() == ["ns/a"]


async def test_a_list_that_cannot_be_stored_is_an_error_with_its_cause() -> None:
    scene = Scene(Failing(accessor_for(dict)))
    scene.server.will_list(obj("a", 1), rv=1)
    error = await scene.once()

    assert isinstance(error, ListNotStored)
    assert isinstance(error.__cause__, RuntimeError)


async def test_the_version_is_read_before_a_transformer_may_take_it_away() -> None:
    def strip(o: Any) -> Any:
        del o["metadata"]["resourceVersion"]
        return o

    scene = Scene(DeltaFIFO(accessor_for(dict), transformer=strip))
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        scene.server.send(event("ADDED", "a", 2))
        await scene.clock.settle()

        assert scene.reflector.last_sync_resource_version == "2"


async def test_a_stalled_or_broken_watch_is_opened_again_where_it_broke() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        scene.server.send(event("ADDED", "a", 2))
        scene.server.fail_watch(WatchStalled("https://server", "silent"))
        scene.server.send(event("ADDED", "b", 3))
        scene.server.fail_watch(ConnectionLost("https://server", "reset"))
        await scene.clock.settle()

        assert scene.server.taken() == [("list", "0"), ("watch", "1"), ("watch", "2"), ("watch", "3")]
        assert scene.objects == ["a@2", "b@3"]


async def test_what_cannot_be_reached_at_all_is_listed_again_after_a_wait() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    scene.server.will_refuse_watch(ServerUnreachable("https://server", "no route to host"))
    scene.server.will_list(rv=2)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.server.taken() == [("list", "0"), ("watch", "1"), ("list", "1"), ("watch", "2")]
        assert scene.errors == ["cannot reach the server at https://server: no route to host"]


async def test_an_error_handler_that_fails_is_logged_and_the_reflector_goes_on() -> None:
    def fail(_: str, error: Exception) -> None:
        raise RuntimeError("the handler, too")

    clock = FakeClock()
    server = ScriptedListerWatcher()
    server.will_fail_list(status_error(403, "Forbidden"))
    server.will_list(rv=1)
    reflector = Reflector(
        server, dict, Indexer(accessor_for(dict)), clock=clock, options=InformerOptions(watch_error_handler=fail)
    )
    async with running(reflector.run):
        with capture_logs() as logs:
            await settle(clock)

        assert "watch_error_handler_failed" in [line["event"] for line in logs]
        assert server.open == 1


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (status_error(410, "Expired"), "debug"),
        (ConnectionLost("https://server", "reset"), "info"),
        (InternalError(Status(message="boom")), "error"),
        (VeryShortWatch("pods"), "error"),
    ],
)
def test_errors_are_logged_at_the_level_that_they_deserve(error: Any, level: str) -> None:
    with capture_logs() as logs:
        default_watch_error_handler("pods", error)

    assert [line["log_level"] for line in logs] == [level]


async def _cancelled_elsewhere() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def _recursion() -> None:
    raise RecursionError("maximum recursion depth exceeded while decoding")


async def _key_error() -> None:
    raise KeyError("no such thing")


@pytest.mark.parametrize("resync_period", [0, 10])
@pytest.mark.parametrize("where", ["list", "open", "watch"])
@pytest.mark.parametrize("fail", [_key_error, _recursion, _cancelled_elsewhere])
async def test_any_error_of_a_list_or_watch_is_reported_and_counted(
    fail: Callable[[], Awaitable[None]], where: str, resync_period: float
) -> None:
    failures = [where]

    class Broken(ScriptedListerWatcher):
        async def list(self, options: ListOptions) -> ObjectList[Any]:
            if failures == ["list"]:
                failures.clear()
                await fail()
            return await super().list(options)

        @asynccontextmanager
        async def watch(self, options: ListOptions) -> AsyncIterator[Any]:
            if failures == ["open"]:
                failures.clear()
                await fail()
            async with super().watch(options) as batches:
                yield self._failing(batches)

        async def _failing(self, batches: Any) -> Any:
            if failures == ["watch"]:
                failures.clear()
                await fail()
            async for batch in batches:
                yield batch

    told: list[ClientError] = []
    server, store, clock = Broken(), Indexer(accessor_for(dict)), FakeClock()
    server.will_list(obj("a", 1), rv=1)
    server.will_list(obj("a", 1), rv=1)
    reflector = Reflector(
        server,
        dict,
        store,
        name=f"broken {where} {resync_period} {fail.__name__}",
        clock=clock,
        resync_period=resync_period,
        options=InformerOptions(watch_error_handler=lambda name, error: told.append(error)),
    )
    async with running(reflector.run):
        await clock.advance(5)
        server.send(event("ADDED", "b", 2))
        await clock.settle()
        assert sorted(store.list_keys()) == ["ns/a", "ns/b"]
        assert reflector.contact.failing_for == 0

    (error,) = told
    assert isinstance(error, UnexpectedError)
    cause = type(error.__cause__).__name__
    assert str(error).startswith(f"list and watch of {reflector.name} raised {cause}")
    assert metric_value("informer_failures_total", {"name": reflector.name, "error": cause}) == 1


def test_the_log_has_the_traceback_of_what_nobody_expected() -> None:
    try:
        raise KeyError("no such thing")
    except KeyError as error:
        unexpected = UnexpectedError("pods", error)
        unexpected.__cause__ = error
    with capture_logs() as logs:
        default_watch_error_handler("pods", unexpected)

    (line,) = logs
    assert (line["event"], line["log_level"]) == ("watch_failed", "error")
    assert line["error"] == "list and watch of pods raised KeyError: 'no such thing'"
    assert line["stack"].endswith("KeyError: 'no such thing'")


async def test_a_reflector_says_for_how_long_no_watch_could_be_opened() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        assert scene.reflector.contact.failing_for == 0

        scene.server.fail_watch(status_error(410, "Expired"))
        for _ in range(20):
            scene.server.will_fail_list(status_error(403, "Forbidden"))
        await scene.clock.advance(100)
        assert 90 < scene.reflector.contact.failing_for < 100

        for _ in range(20):
            scene.server.will_list(rv=2)
        await settle(scene.clock)
        assert scene.reflector.contact.failing_for == 0


async def test_models_let_go_of_their_source_bytes_and_managed_fields() -> None:
    pod = {**obj("a", 1), "spec": {"containers": []}}
    pod["metadata"]["managedFields"] = [{"manager": "me"}]

    def made() -> Any:
        return from_dict(V1Pod, json.loads(json.dumps(pod)))

    clock = FakeClock()
    server: Any = ScriptedListerWatcher()
    server.will_list(made(), rv=1)
    server.send(WatchEvent("MODIFIED", made()))
    seen: list[Any] = []

    class Seeing(Indexer[Any]):
        def update(self, obj: Any) -> None:
            seen.append(obj)

        def replace(self, objects: Any, resource_version: str = "") -> None:
            seen.extend(objects)

    async with running(Reflector(server, V1Pod, Seeing(accessor_for(V1Pod)), clock=clock).run):
        await clock.settle()

    assert [o.metadata.managed_fields for o in seen] == [None, None]


async def test_a_whole_batch_is_stored_before_the_worker_is_called() -> None:
    at_batches: list[list[str]] = []
    store: Indexer[dict[str, Any]] = Indexer(accessor_for(dict))

    async def on_batch() -> None:
        at_batches.append(sorted(map(short, store.list())))

    scene = Scene(store, on_batch=on_batch)
    scene.server.will_list(obj("a", 1), rv=1)
    scene.server.send(event("ADDED", "b", 2), event("ADDED", "c", 3))
    async with running(scene.reflector.run):
        await scene.clock.settle()

    assert at_batches == [["a@1"], ["a@1", "b@2", "c@3"]]


async def test_an_empty_batch_is_nothing() -> None:
    scene = Scene()
    scene.server.will_list(rv=1)
    scene.server.send()
    scene.server.send(event("ADDED", "a", 2))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.objects == ["a@2"]


async def test_no_event_comes_between_the_parts_of_a_resync() -> None:
    happened: list[str] = []

    class InParts(Indexer[Any]):
        def resyncing(self) -> Any:
            for part in range(3):
                happened.append(f"part {part}")
                yield

        def update(self, obj: Any) -> None:
            happened.append(f"event {short(obj)}")

    scene = Scene(InParts(accessor_for(dict)), resync_period=10, on_batch=lambda: scene.clock.sleep(0.001))
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        await scene.clock.advance(10.0015)
        scene.server.send(event("MODIFIED", "a", 2))
        await scene.clock.advance(1)

    assert happened == ["part 0", "part 1", "part 2", "event a@2"]


async def test_the_rest_of_a_resync_is_processed_before_the_next_list() -> None:
    batches: list[str] = []
    queue = DeltaFIFO(accessor_for(dict), Indexer(accessor_for(dict)))

    async def on_batch() -> None:
        batches.append(f"{len(queue)} queued")

    scene = Scene(queue, resync_period=10, on_batch=on_batch)
    scene.server.will_list(rv=1)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        batches.clear()
        queue.add(obj("left", 1))
        scene.server.fail_watch(status_error(410, "Expired"))
        await scene.clock.settle()

        assert batches == ["1 queued"]
