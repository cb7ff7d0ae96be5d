from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.cache import DeltaFIFO, Indexer, InformerOptions, ListWatch, RealFIFO, Reflector
from kinformer.cache.consistency import InconsistentList
from kinformer.cache.streaming_list import shows_end
from kinformer.client.errors import ConnectionLost
from kinformer.client.types import ListOptions
from kinformer.clock import FakeClock
from kinformer.meta import accessor_for
from kinformer.models import V1Pod
from tests.cache.informers import running
from tests.cache.scripted import Call, ScriptedListerWatcher, bookmark, event, obj, settle, status_error
from tests.cache.test_reflector import Scene, throttled, transform_once

END = bookmark(2, initial_events_end=True)


def streaming(store: Any = None, **options: Any) -> Scene:
    return Scene(store, supports_watch_list=True, **options)


@pytest.mark.parametrize(
    ("asked", "supported", "verb"), [(True, True, "watch"), (True, False, "list"), (False, True, "list")]
)
async def test_a_streaming_list_is_used_if_wanted_and_known_to_the_client(
    asked: bool, supported: bool, verb: str
) -> None:
    scene = Scene(supports_watch_list=supported, options=InformerOptions(use_watch_list=asked))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.server.calls[0].verb == verb


@pytest.mark.parametrize(
    ("answer", "call"),
    [(True, Call("list", ListOptions())), (False, None), (status_error(403, "Forbidden"), None)],
    ids=["at once", "not at once", "unknown"],
)
async def test_auto_takes_a_plain_list_where_it_costs_less(answer: Any, call: Call | None) -> None:
    async def lists_at_once() -> bool:
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    scene = Scene(supports_watch_list=True, options=InformerOptions(use_watch_list="auto"))
    scene.server.lists_at_once = lists_at_once
    async with running(scene.reflector.run):
        await scene.clock.settle()

        first = scene.server.calls[0]
        assert first == call if call is not None else first.options.send_initial_events


async def test_auto_takes_a_streaming_list_where_nobody_knows() -> None:
    scene = Scene(supports_watch_list=True, options=InformerOptions(use_watch_list="auto"))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.server.calls[0].options.send_initial_events


def test_another_word_for_streaming_lists_is_refused() -> None:
    with pytest.raises(ValueError, match="use_watch_list is 'never': want True, False or 'auto'"):
        InformerOptions(use_watch_list="never")  # type: ignore[arg-type]  # the mistake


def test_a_resource_knows_streaming_lists_unless_told_otherwise() -> None:
    resource: Any = object()

    assert ListWatch(resource).supports_watch_list
    assert not ListWatch(resource, supports_watch_list=False).supports_watch_list


async def test_a_streaming_list_brings_all_objects_and_its_watch_stays() -> None:
    scene = streaming()
    scene.server.send(event("ADDED", "foo", 1), END, event("MODIFIED", "foo", 3))
    scene.server.send(event("ADDED", "bar", 4))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert [call.options for call in scene.server.calls] == [
            ListOptions(
                resource_version_match="NotOlderThan",
                allow_watch_bookmarks=True,
                send_initial_events=True,
                timeout_seconds=300,
            )
        ]
        assert scene.objects == ["bar@4", "foo@3"]
        assert scene.reflector.last_sync_resource_version == "4"
        assert scene.server.open == 1


async def test_nothing_is_stored_before_the_bookmark_that_ends_the_initial_events() -> None:
    scene = streaming()
    scene.server.send(event("ADDED", "p1", 1))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.objects == []
        assert scene.reflector.last_sync_resource_version == ""


async def test_only_a_bookmark_that_says_so_ends_the_initial_events() -> None:
    scene = streaming()
    no_end = bookmark(2)
    no_end.object["metadata"]["annotations"] = {"k8s.io/initial-events-end": "false"}
    scene.server.send(event("ADDED", "p1", 1), bookmark(1), no_end)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        assert scene.objects == []

        scene.server.send(END)
        await scene.clock.settle()
        assert scene.objects == ["p1@1"]
        assert scene.reflector.last_sync_resource_version == "2"


async def test_changes_and_deletions_among_the_initial_events_count() -> None:
    scene = streaming()
    scene.server.send(
        event("ADDED", "p1", 1),
        event("ADDED", "p2", 2),
        event("MODIFIED", "p1", 3),
        event("ADDED", "p3", 4),
        event("DELETED", "p3", 5),
        bookmark(5, initial_events_end=True),
    )
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.objects == ["p1@3", "p2@2"]


@pytest.mark.parametrize(
    "error", [status_error(422, "Invalid", "streaming is not allowed"), status_error(500, "InternalError", "dummy")]
)
async def test_a_server_that_refuses_to_stream_is_asked_for_a_list(error: Exception) -> None:
    scene = streaming()
    scene.server.will_refuse_watch(error)
    scene.server.will_list(obj("p1", 1), rv=1)
    scene.server.send(event("ADDED", "p2", 2))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.server.taken() == [("watch", ""), ("list", "0"), ("watch", "1")]
        assert scene.objects == ["p1@1", "p2@2"]


async def test_a_throttled_streaming_list_is_asked_for_again_after_a_wait() -> None:
    scene = streaming()
    scene.server.will_refuse_watch(throttled())
    scene.server.will_refuse_watch(throttled(10))
    scene.server.send(event("ADDED", "p1", 1), END)
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.clock.monotonic() == pytest.approx(0.8 + 10)
        assert scene.server.taken() == [("watch", "")] * 3
        assert scene.objects == ["p1@1"]


async def test_a_streaming_list_older_than_was_seen_is_not_used() -> None:
    scene = streaming()
    scene.server.send(event("ADDED", "a", 9), bookmark(10, initial_events_end=True))
    scene.server.fail_watch(status_error(410, "Expired"))
    scene.server.send(event("ADDED", "a", 3), bookmark(7, initial_events_end=True))
    scene.server.send(event("ADDED", "b", 12), bookmark(13, initial_events_end=True))
    async with running(scene.reflector.run):
        await settle(scene.clock)

        assert scene.server.taken() == [("watch", ""), ("watch", "10"), ("watch", "")]
        assert scene.objects == ["b@12"]


@pytest.mark.parametrize("lost", [False, True])
async def test_a_stream_that_ends_within_the_initial_events_is_begun_anew(lost: bool) -> None:
    scene = streaming()
    scene.server.send(event("ADDED", "gone", 1))
    if lost:
        scene.server.fail_watch(ConnectionLost("https://server", "reset"))
    else:
        scene.server.end_watch()
    scene.server.send(event("ADDED", "p1", 1), END)
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.server.taken() == [("watch", ""), ("watch", "")]
        assert scene.objects == ["p1@1"]
        assert scene.server.open == 1


async def test_a_stream_that_keeps_breaking_is_retried_later_and_then_listed() -> None:
    scene = streaming()
    for _ in range(3):
        scene.server.send(event("ADDED", "p1", 1))
        scene.server.fail_watch(ConnectionLost("https://server", "reset"))
    scene.server.will_list(obj("p1", 1), rv=1)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        assert scene.server.taken() == [("watch", ""), ("watch", "")]
        await settle(scene.clock)

        assert scene.server.taken() == [("watch", ""), ("list", "0"), ("watch", "1")]
        assert scene.objects == ["p1@1"]


@pytest.mark.parametrize("came", [True, False])
async def test_a_server_that_never_ends_the_initial_events_is_listed(came: bool) -> None:
    scene = streaming()
    if came:
        scene.server.send(event("ADDED", "p1", 1))
    scene.server.will_list(obj("p1", 1), rv=5)
    async with running(scene.reflector.run):
        await scene.clock.advance(5)
        # Changes of what has come, and bookmarks, are what any watch has.
        scene.server.send(*[event("MODIFIED", "p1", 2)] * came, bookmark(3))
        await scene.clock.advance(24)
        assert scene.server.taken() == [("watch", "")]
        await scene.clock.advance(11)
        assert scene.server.taken() == [("list", "0"), ("watch", "5")]
        assert scene.objects == ["p1@1"]

        # The next time, too, if it has shown that it does not know what was asked for.
        scene.server.will_list(obj("p2", 6), rv=6)
        scene.server.fail_watch(status_error(410, "Expired"))
        await scene.clock.advance(3)
        assert scene.server.taken()[0] == (("list", "5") if came else ("watch", "5"))


async def test_arriving_initial_events_are_waited_for_without_a_limit() -> None:
    scene = streaming()
    async with running(scene.reflector.run):
        for n in range(10):
            scene.server.send(event("ADDED", f"p{n}", 1))
            await scene.clock.advance(19)
        assert scene.server.taken() == [("watch", "")]
        scene.server.send(END)
        await scene.clock.settle()

        assert len(scene.objects) == 10


async def test_a_stream_that_ends_at_once_is_given_up_for_a_list() -> None:
    scene = streaming()
    scene.server.end_watch()
    scene.server.will_list(obj("p1", 1), rv=1)
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.server.taken() == [("watch", ""), ("list", "0"), ("watch", "1")]


async def test_after_a_streaming_list_a_watch_continues_where_it_ended() -> None:
    scene = streaming()
    scene.server.send(event("ADDED", "p1", 1), event("ADDED", "p2", 2), END, event("ADDED", "p3", 3))
    scene.server.end_watch()
    scene.server.send(event("ADDED", "p4", 4))
    async with running(scene.reflector.run):
        await scene.clock.settle()

        again = scene.server.calls[1].options
        assert again == ListOptions(resource_version="3", allow_watch_bookmarks=True, timeout_seconds=300)
        assert scene.objects == ["p1@1", "p2@2", "p3@3", "p4@4"]


async def test_a_watch_refused_as_expired_after_a_streaming_list_is_an_error() -> None:
    scene = streaming()
    scene.server.send(event("ADDED", "p1", 1), END, event("ADDED", "p3", 3))
    scene.server.end_watch()
    server_watch = scene.server.watch

    @asynccontextmanager
    async def expire_the_second(options: ListOptions) -> Any:
        if options.resource_version == "3":
            raise status_error(410, "Expired", "rv already expired")
        async with server_watch(options) as batches:
            yield batches

    scene.server.watch = expire_the_second  # type: ignore[method-assign]  # the script refuses only the next one

    assert str(await scene.once()) == "rv already expired"
    assert scene.objects == ["p1@1", "p3@3"]


@pytest.mark.parametrize("at", ["open", "within"])
async def test_an_unavailable_version_is_streamed_at_the_most_recent_state(at: str) -> None:
    scene = streaming()
    scene.server.send(event("ADDED", "p1", 1), END)
    async with running(scene.reflector.run):
        await scene.clock.settle()
        scene.server.fail_watch(status_error(410, "Expired"))
        await scene.clock.settle()
        if at == "open":
            scene.server.will_refuse_watch(status_error(410, "Expired"))
        else:
            scene.server.fail_watch(status_error(410, "Expired"))
        scene.server.send(event("ADDED", "p9", 9), bookmark(9, initial_events_end=True))
        await settle(scene.clock)

        assert scene.server.taken() == [("watch", ""), ("watch", "2"), ("watch", "")]
        assert scene.objects == ["p9@9"]


async def test_a_server_without_even_the_most_recent_state_is_listed() -> None:
    scene = streaming()
    for _ in range(2):
        scene.server.will_refuse_watch(status_error(410, "Expired"))
    scene.server.will_list(obj("p1", 1), rv=1)
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.server.taken() == [("watch", ""), ("watch", ""), ("list", ""), ("watch", "1")]


async def test_a_streaming_list_without_events_for_ten_seconds_is_reported_late() -> None:
    scene = streaming()
    async with running(scene.reflector.run):
        with capture_logs() as logs:
            await scene.clock.advance(20)
            scene.server.send(event("ADDED", "p1", 1))
            await scene.clock.advance(10)
            scene.server.send(event("ADDED", "p2", 1))
            await scene.clock.advance(5)
            scene.server.send(event("ADDED", "p3", 1))
            await scene.clock.advance(15)

        late = [line["seconds_since_last_event"] for line in logs if line["event"] == "initial_events_late"]
        assert late == [10, 20, 10, 15]


async def test_nothing_is_said_to_be_late_once_the_initial_events_have_ended() -> None:
    scene = streaming()
    scene.server.send(END)
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.clock.next_due is None


@pytest.mark.parametrize("kind", ["real", "delta"])
async def test_a_streaming_list_keeps_of_each_object_only_what_the_transformer_gives(kind: str) -> None:
    known = Indexer(accessor_for(dict))
    queue: Any = (DeltaFIFO if kind == "delta" else RealFIFO)(accessor_for(dict), known, transformer=transform_once)
    scene = streaming(queue)
    scene.server.send(event("ADDED", "foo-1", 1), event("ADDED", "foo-2", 2), END, event("ADDED", "foo-3", 3))
    async with running(scene.reflector.run):
        await scene.clock.settle()

    got: list[Any] = []
    queue.drain(lambda deltas, _: got.extend(delta.object for delta in deltas))
    # As in client-go, it takes what it gave: once while it streams, once on the way into the queue.
    assert [o["transformed"] for o in got] == [2, 2, 1]


async def test_an_initial_event_that_cannot_be_stored_is_logged_alone() -> None:
    def transform(o: Any) -> Any:
        if o["metadata"]["name"] == "bad":
            raise RuntimeError("will not have it")
        return o

    scene = streaming(DeltaFIFO(accessor_for(dict), transformer=transform))
    async with running(scene.reflector.run):
        with capture_logs() as logs:
            scene.server.send(event("ADDED", "bad", 1), event("ADDED", "good", 2), END)
            await scene.clock.settle()

        assert scene.store.list_keys() == ["ns/good"]
        assert [(line["event"], line["key"]) for line in logs if line["log_level"] == "error"] == [
            ("object_left_out", "ns/bad")
        ]


async def test_initial_events_of_another_kind_are_left_out() -> None:
    scene = streaming(expected_kind="Pod")
    scene.server.send(event("ADDED", "a", 1, kind="Service"), event("ADDED", "b", 1, kind="Pod"), END)
    async with running(scene.reflector.run):
        await scene.clock.settle()

        assert scene.objects == ["b@1"]


class TestConsistency:
    """With KUBE_WATCHLIST_INCONSISTENCY_DETECTOR."""

    @pytest.fixture(autouse=True)
    def detector(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBE_WATCHLIST_INCONSISTENCY_DETECTOR", "true")

    @pytest.mark.parametrize("transformer", [None, lambda o: {**o, "transformed": True}])
    @pytest.mark.parametrize("kind", ["real", "delta"])
    async def test_a_streaming_list_is_followed_by_a_list_of_its_version(self, kind: str, transformer: Any) -> None:
        known = Indexer(accessor_for(dict))
        queue: Any = (DeltaFIFO if kind == "delta" else RealFIFO)(accessor_for(dict), known, transformer=transformer)
        scene = streaming(queue)
        scene.server.send(event("ADDED", "pod-1", 1), END)
        scene.server.will_list(obj("pod-1", 1), rv=2)
        async with running(scene.reflector.run):
            await scene.clock.settle()

            exact = ListOptions(resource_version="2", resource_version_match="Exact")
            assert scene.server.calls[1].options == exact
            assert len(queue) == 1

    async def test_a_list_with_other_objects_ends_the_reflector_loudly(self) -> None:
        scene = streaming()
        scene.server.send(event("ADDED", "same", 1), event("ADDED", "other", 1), event("ADDED", "only", 1), END)
        scene.server.will_list(obj("same", 1), obj("other", 2), obj("missed", 1), rv=2)

        with pytest.raises(InconsistentList, match="detected for pods: ns/missed, ns/only, ns/other") as raised:
            await scene.reflector.run()

        assert raised.value.keys == ("ns/missed", "ns/only", "ns/other")

    async def test_a_list_that_fails_is_tried_again(self) -> None:
        scene = streaming()
        scene.server.send(event("ADDED", "pod-1", 1), END)
        scene.server.will_fail_list(status_error(500, "InternalError"))
        scene.server.will_list(obj("pod-1", 1), rv=2)
        async with running(scene.reflector.run):
            await settle(scene.clock)

            assert scene.objects == ["pod-1@1"]

    async def test_the_list_is_none_of_the_reflectors_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scene, other = streaming(), ScriptedListerWatcher()
        monkeypatch.setattr(scene.server, "beside", lambda: other, raising=False)
        scene.server.send(event("ADDED", "pod-1", 1), END)
        other.will_list(obj("pod-1", 1), rv=2)
        async with running(scene.reflector.run):
            await scene.clock.settle()

            assert (scene.server.taken(), other.taken()) == ([("watch", "")], [("list", "2")])

    async def test_version_0_cannot_be_listed_exactly_and_is_not_checked(self) -> None:
        scene = streaming()
        scene.server.send(bookmark(0, initial_events_end=True))
        async with running(scene.reflector.run):
            await scene.clock.settle()

            assert scene.server.taken() == [("watch", "")]


async def test_without_the_variable_nothing_is_listed_twice() -> None:
    clock = FakeClock()
    server = ScriptedListerWatcher(supports_watch_list=True)
    server.send(event("ADDED", "a", 1), END)
    async with running(Reflector(server, dict, Indexer(accessor_for(dict)), clock=clock).run):
        await clock.settle()

        assert server.taken() == [("watch", "")]


class _Meta(msgspec.Struct):
    name: str = ""


class _Unmarked(msgspec.Struct):
    """As whom a bookmark decodes, and does not show what it is."""

    metadata: _Meta


class _RequiredMeta(msgspec.Struct):
    uid: str


class _Required(msgspec.Struct):
    """As whom no bookmark decodes."""

    metadata: _RequiredMeta


@pytest.mark.parametrize(("type_", "shown"), [(dict, True), (V1Pod, True), (_Unmarked, False), (_Required, True)])
def test_a_streaming_list_is_not_used_where_its_end_is_unknown(type_: type[Any], shown: bool) -> None:
    assert shows_end(accessor_for(type_)) == shown
