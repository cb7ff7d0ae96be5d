from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.cache import (
    CacheMutatedError,
    CacheMutationDetector,
    DeletedFinalStateUnknown,
    InformerOptions,
    InformerStateError,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
    meta_namespace_index_func,
)
from kinformer.cache.options import QueueKind
from kinformer.cache.testing import FakeControllerSource, expired
from kinformer.client import WatchEvent
from kinformer.client.types import INITIAL_EVENTS_ANNOTATION
from kinformer.clock import FakeClock
from kinformer.meta import GroupVersionResource
from kinformer.models import V1Pod, V1PodSpec, decoder_for, encode, from_dict
from tests.cache.informers import Told, running, short
from tests.cache.scripted import ScriptedListerWatcher, bookmark, event, obj, settle, status_error
from tests.golden.adapters import shared_informer as golden
from tests.golden.run import read_cases
from tests.metrics import metric_value

KINDS: tuple[QueueKind, ...] = ("delta", "real")


class Scene:
    """A source and an informer of it, on a clock that is turned."""

    def __init__(self, *names: str, queue: QueueKind = "delta", **more: Any):
        self.clock = FakeClock()
        self.source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
        for name in names:
            self.source.add(obj(name, 0))
        self.informer: SharedIndexInformer[dict[str, Any]] = SharedIndexInformer(
            self.source,
            dict,
            name="pods",
            options=InformerOptions(queue=queue, random=lambda: 0.0),
            clock=self.clock,
            **more,
        )

    @property
    def objects(self) -> list[str]:
        return sorted(map(short, self.informer.indexer.list()))


def labels_of(o: Any) -> list[str]:
    return list(o["metadata"].get("labels", ()))


def labelled(name: str, *labels: str) -> dict[str, Any]:
    made = obj(name, 0)
    made["metadata"]["labels"] = dict.fromkeys(labels, "x")
    return made


# --- golden cases, with the other queue


@pytest.mark.parametrize("queue", KINDS)
def test_every_golden_case_is_answered_the_same_with_either_queue(
    queue: QueueKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    def informer(*args: Any, **options: Any) -> Any:
        return SharedIndexInformer(*args, options=InformerOptions(queue=queue), **options)

    monkeypatch.setattr(golden, "SharedIndexInformer", informer)
    file = Path(golden.__file__).parents[1] / "functions" / "shared_informer.ndjson"
    for case in read_cases(file):
        assert golden.same(anyio.run(golden.answer, case.asked), case.want)


# --- indexes


async def test_objects_are_found_by_indexes_from_the_start_and_added_later() -> None:
    scene = Scene(indexers={"labels": labels_of})
    scene.source.add(labelled("pod1", "a", "b"))
    scene.source.add(labelled("pod2", "b"))
    async with running(scene.informer.run):
        await scene.clock.settle()
        assert [short(o) for o in scene.informer.indexer.by_index("labels", "a")] == ["pod1@1"]
        scene.source.add(labelled("pod3", "a"))
        await scene.clock.settle()
        assert [short(o) for o in scene.informer.indexer.by_index("labels", "a")] == ["pod1@1", "pod3@3"]
        scene.informer.add_indexers({"labels-again": labels_of})
        assert [short(o) for o in scene.informer.indexer.by_index("labels-again", "a")] == ["pod1@1", "pod3@3"]
        assert sorted(scene.informer.indexer.list_index_func_values("labels-again")) == ["a", "b"]


@pytest.mark.parametrize("queue", KINDS)
async def test_an_object_whose_index_function_fails_is_kept_and_left_out(queue: QueueKind) -> None:
    def index(o: Any) -> str:
        if o["metadata"]["name"] == "bad":
            raise RuntimeError("will not have it")
        return "x"

    told = Told()
    scene = Scene("bad", "good", queue=queue, indexers={"picky": index})
    scene.informer.add_event_handler(told)
    async with running(scene.informer.run):
        with capture_logs() as logs:
            await scene.clock.settle()
            scene.source.add(obj("more", 0))
            await scene.clock.settle()

        assert scene.objects == ["bad@1", "good@2", "more@3"]
        assert told.taken() == ["initial add bad@1", "initial add good@2", "add more@3"]
        assert [o["metadata"]["name"] for o in scene.informer.indexer.by_index("picky", "x")] == ["good", "more"]
        assert scene.informer.has_synced
        left_out = [(line["part"], line["key"]) for line in logs if line["event"] == "object_left_out"]
        assert left_out == [("index picky", "ns/bad")]


@pytest.mark.parametrize("queue", KINDS)
async def test_an_update_that_an_index_function_fails_for_is_stored_and_told(queue: QueueKind) -> None:
    def index(o: Any) -> str:
        if "bad" in o:
            raise RuntimeError("will not have it")
        return "x"

    server = ScriptedListerWatcher()
    clock = FakeClock()
    told = Told()
    informer = SharedIndexInformer(
        server, dict, options=InformerOptions(queue=queue), clock=clock, indexers={"picky": index}
    )
    informer.add_event_handler(told)
    server.will_list(obj("a", 1), rv=1)
    async with running(informer.run):
        await clock.settle()
        server.send(event("MODIFIED", "a", 2, bad=True), event("DELETED", "a", 3), event("ADDED", "b", 4))
        await clock.settle()

        assert told.taken() == ["initial add a@1", "update a@1 a@2", "delete a@3", "add b@4"]
        assert informer.indexer.list_keys() == informer.indexer.index_keys("picky", "x") == ["ns/b"]


async def test_of_many_left_out_objects_ten_are_named_and_all_counted() -> None:
    def index(o: Any) -> str:
        raise RuntimeError("will not have it")

    server, clock = ScriptedListerWatcher(), FakeClock()
    informer = SharedIndexInformer(server, dict, name="picky ones", clock=clock, indexers={"picky": index})
    server.will_list(*(obj(f"o{n}", 1) for n in range(30)), rv=1)
    with capture_logs() as logs:
        async with running(informer.run):
            await clock.settle()
            server.send(event("MODIFIED", "o1", 2))
            await clock.settle()

    lines = [line for line in logs if line["event"] == "object_left_out"]
    assert len({line["key"] for line in lines}) == len(lines) == 10
    assert ["hint" in line for line in lines] == [False] * 9 + [True]
    labels = {"informer": "picky ones", "part": "index picky"}
    assert metric_value("informer_objects_left_out_total", labels) == 31


async def test_an_informer_follows_until_no_watch_opened_for_half_a_minute() -> None:
    server, clock = ScriptedListerWatcher(), FakeClock()
    informer = SharedIndexInformer(server, dict, clock=clock)
    assert not informer.is_following
    server.will_list(rv=1)
    async with running(informer.run):
        await clock.settle()
        assert informer.is_following

        server.fail_watch(status_error(410, "Expired"))
        for _ in range(9):
            server.will_fail_list(status_error(500, "InternalError"))
        await clock.advance(20)
        assert informer.is_following
        await clock.advance(20)
        assert not informer.is_following

        for _ in range(9):
            server.will_list(rv=2)
        await settle(clock)
        assert informer.is_following
    assert not informer.is_following


@pytest.mark.parametrize("watch_list", [True, False])
@pytest.mark.parametrize("queue", KINDS)
async def test_an_object_that_the_transform_rejects_is_never_reported_deleted(
    queue: QueueKind, watch_list: bool
) -> None:
    def transform(o: Any) -> Any:
        if "bad" in o:
            raise RuntimeError("will not have it")
        return o

    server = ScriptedListerWatcher(supports_watch_list=watch_list)

    def has(*objects: Any, rv: int) -> None:
        if watch_list:
            events = [WatchEvent("ADDED", o) for o in objects]
            server.send(*events, bookmark(rv, initial_events_end=True))
        else:
            server.will_list(*objects, rv=rv)

    clock, told = FakeClock(), Told()
    informer = SharedIndexInformer(server, dict, options=InformerOptions(queue=queue), clock=clock, transform=transform)
    informer.add_event_handler(told)
    has(obj("a", 1), obj("b", 1), obj("c", 1, bad=True), rv=1)
    with capture_logs() as logs:
        async with running(informer.run):
            await clock.settle()
            assert informer.has_synced
            assert told.taken() == ["initial add a@1", "initial add b@1"]

            # What was there before it became bad stays as it was; what is gone is told; what is deleted is told, too.
            server.fail_watch(status_error(410, "Expired"))
            has(obj("a", 2, bad=True), obj("c", 1, bad=True), rv=3)
            await clock.advance(3)
            assert told.taken() == ["delete ?b@1"]
            assert informer.indexer.list_keys() == ["ns/a"]

            labels = {"informer": informer.name, "part": "store"}
            before = metric_value("informer_objects_left_out_total", labels) or 0
            server.send(event("DELETED", "a", 4, bad=True))
            await clock.settle()
            assert told.taken() == ["delete ?a@1"]
            assert metric_value("informer_objects_left_out_total", labels) == before + 1
            assert informer.indexer.list_keys() == []

    assert {line["key"] for line in logs if line["event"] == "object_left_out"} == {"ns/a", "ns/c"}


# --- resyncs


@pytest.mark.parametrize("queue", KINDS)
async def test_each_handler_is_told_of_resyncs_at_its_own_period(queue: QueueKind) -> None:
    scene = Scene("pod1", "pod2", queue=queue, resync_period=1)
    never, two, three = Told(), Told(), Told()
    for handler, period in ((never, 0), (two, 2), (three, 3)):
        scene.informer.add_event_handler(handler, resync_period=period)
    async with running(scene.informer.run):
        await scene.clock.settle()
        assert [len(handler.taken()) for handler in (never, two, three)] == [2, 2, 2]
        await scene.clock.advance(2)
        assert [handler.taken() for handler in (never, three)] == [[], []]
        assert two.taken() == ["update pod1@1 pod1@1", "update pod2@2 pod2@2"]
        await scene.clock.advance(1)
        assert [handler.taken() for handler in (never, two)] == [[], []]
        assert three.taken() == ["update pod1@1 pod1@1", "update pod2@2 pod2@2"]


async def test_resyncs_are_checked_as_often_as_the_most_impatient_handler_wants() -> None:
    scene = Scene(resync_period=12 * 3600)
    listeners = [scene.informer.add_event_handler(Told(), resync_period=period) for period in (None, 0, 60, 55, 0.1, 5)]

    assert [listener.resync_period for listener in listeners] == [12 * 3600, 0, 60, 55, 1, 5]
    async with running(scene.informer.run):
        await scene.clock.settle()
        assert scene.clock.next_due == 1


async def test_once_it_runs_no_handler_can_have_resyncs_more_often_than_that() -> None:
    scene = Scene("pod1", resync_period=10)
    async with running(scene.informer.run):
        await scene.clock.settle()

        assert scene.informer.add_event_handler(Told(), resync_period=2).resync_period == 10
        assert scene.informer.add_event_handler(Told(), resync_period=20).resync_period == 20


async def test_an_informer_that_does_not_resync_does_so_for_nobody() -> None:
    scene = Scene("pod1")
    with capture_logs() as logs:
        assert scene.informer.add_event_handler(Told(), resync_period=30).resync_period == 0

    assert [line["event"] for line in logs] == ["resync_not_supported"]


@pytest.mark.parametrize("queue", KINDS)
async def test_a_resync_during_a_batch_tells_states_in_their_order(queue: QueueKind) -> None:
    scene = Scene(queue=queue, resync_period=1)
    told = Told()

    def slow_index(_: Any) -> str:
        scene.clock.turn(0.002)  # so that others have their turn within the batch
        return "x"

    scene.informer.add_indexers({"slow": slow_index})
    scene.informer.add_event_handler(told, resync_period=1)
    async with running(scene.informer.run):
        await scene.clock.settle()
        for number in range(600):
            scene.source.add(obj(f"pod{number}", 0), silently=True)
        scene.source.end_watches(None)
        await scene.clock.settle()
        for number in range(600):
            scene.source.modify(obj(f"pod{number}", 0))
        await scene.clock.advance(3)

        versions: dict[str, str] = {}
        for line in told.taken():
            match line.removeprefix("initial ").split():
                case ["add", new]:
                    assert new.partition("@")[0] not in versions
                    versions[new.partition("@")[0]] = new
                case ["update", old, new]:
                    assert versions[new.partition("@")[0]] == old
                    versions[new.partition("@")[0]] = new
        assert sorted(versions.values()) == scene.objects == sorted(map(short, scene.source))


# --- how far the copy has come


def version_of(scene: Scene) -> str:
    return scene.informer.indexer.last_store_sync_resource_version()


@pytest.mark.parametrize("queue", KINDS)
@pytest.mark.parametrize("names", [(), ("pod1", "pod2")], ids=["empty", "full"])
async def test_the_copy_reaches_a_lists_version_which_no_object_needs_to_have(
    queue: QueueKind, names: tuple[str, ...]
) -> None:
    scene = Scene(*names, queue=queue)
    scene.source.add(obj("gone", 0))
    scene.source.delete("ns/gone")
    async with running(scene.informer.run):
        await scene.clock.settle()
        assert version_of(scene) == scene.source.resource_version == str(len(names) + 2)

        scene.source.add(obj("gone", 0), silently=True)
        scene.source.delete("ns/gone", silently=True)
        scene.source.reset_watch()
        await scene.clock.advance(2)
        assert version_of(scene) == scene.source.resource_version == str(len(names) + 4)


@pytest.mark.parametrize("queue", KINDS)
async def test_a_bookmark_moves_the_copy_on(queue: QueueKind) -> None:
    scene = Scene("pod1", queue=queue)
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.add(obj("pod2", 0), silently=True)
        scene.source.send_bookmark()
        await scene.clock.settle()

        assert version_of(scene) == "2"


@pytest.mark.parametrize("queue", KINDS)
async def test_a_resync_does_not_take_the_copy_back(queue: QueueKind) -> None:
    scene = Scene("pod1", "pod2", queue=queue, resync_period=1)
    scene.informer.add_event_handler(Told(), resync_period=1)
    seen: list[str] = []

    def look(_: Any) -> str:
        seen.append(version_of(scene))
        return "x"

    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.modify(obj("pod1", 0))
        await scene.clock.settle()
        scene.informer.add_indexers({"look": look})
        seen.clear()
        await scene.clock.advance(1)

        assert seen == ["3", "3"]
        assert version_of(scene) == "3"


@pytest.mark.parametrize("queue", KINDS)
async def test_the_copy_never_claims_a_version_before_it_has_each_object(queue: QueueKind) -> None:
    scene = Scene("a", "b", queue=queue)
    at_turns: list[tuple[int, str]] = []

    def slow_index(_: Any) -> str:
        scene.clock.turn(1)  # so that others have their turn within the batch
        return "x"

    def look(*_: Any) -> None:
        b = scene.informer.indexer.get_by_key("ns/b")
        at_turns.append((int(version_of(scene)), short(b)))

    scene.informer.add_event_handler(ResourceEventHandlerFuncs(add=look, update=look))
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.informer.add_indexers({"slow": slow_index})
        at_turns.clear()
        # One batch, of which 64 objects are worked off before others have their turn.
        scene.source.send(
            *(event("ADDED", f"pod{version}", version) for version in range(3, 66)),
            event("MODIFIED", "a", 66),
            event("MODIFIED", "b", 67),
            event("MODIFIED", "a", 68),
        )
        await scene.clock.settle()

    assert (66, "b@2") in at_turns  # handlers had their turn in between
    assert not [version for version, b in at_turns if version > 66 and b == "b@2"]
    assert at_turns[-1] == (68, "b@67")


async def test_a_handler_finds_the_cache_at_least_as_new_as_its_event() -> None:
    scene = Scene("pod1")
    told: list[tuple[str, str]] = []
    scene.informer.add_event_handler(
        ResourceEventHandlerFuncs(
            add=lambda o: told.append((o["metadata"]["name"], version_of(scene))),
            update=lambda _, o: told.append((o["metadata"]["name"], version_of(scene))),
        )
    )
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.modify(obj("pod1", 0))
        await scene.clock.settle()

    assert told == [("pod1", "1"), ("pod1", "2")]


# --- the server's troubles


@pytest.mark.parametrize("queue", KINDS)
async def test_changes_without_an_open_watch_are_told_after_the_next_list(queue: QueueKind) -> None:
    scene = Scene("pod1", "pod2", "pod4", queue=queue, resync_period=1)
    no_resync, resync = Told(), Told()
    scene.informer.add_event_handler(no_resync, resync_period=0)
    scene.informer.add_event_handler(resync, resync_period=1)
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.add(obj("pod3", 0), silently=True)
        scene.source.modify(obj("pod2", 0), silently=True)
        scene.source.delete("ns/pod4", silently=True)
        await scene.clock.settle()
        assert no_resync.taken() == ["initial add pod1@1", "initial add pod2@2", "initial add pod4@3"] == resync.taken()

        # The handler that wants resyncs hears of what has not changed, too: the list stands for one.
        await scene.clock.advance(1)
        resync.taken()
        scene.source.reset_watch()
        await scene.clock.advance(0.9)
        assert sorted(no_resync.taken()) == ["add pod3@4", "delete ?pod4@3", "update pod2@2 pod2@5"]
        assert "update pod1@1 pod1@1" in resync.taken()
        assert scene.objects == ["pod1@1", "pod2@5", "pod3@4"]


async def test_a_failed_list_is_told_to_the_watch_error_handler() -> None:
    scene = Scene("pod1")
    scene.source.list_error = status_error(403, "Forbidden", "Access Denied")
    errors: list[str] = []
    scene.informer.set_watch_error_handler(lambda name, error: errors.append(f"{name}: {error}"))
    async with running(scene.informer.run):
        await scene.clock.settle()

        assert errors == ["pods: Access Denied"]


async def test_a_lister_watchers_own_fault_ends_nothing() -> None:
    class Broken(ScriptedListerWatcher):
        broken = True

        async def list(self, options: Any) -> Any:
            if self.broken:
                raise KeyError("no such thing")
            return await super().list(options)

    server, clock = Broken(), FakeClock()
    server.will_list(obj("a", 1), rv=1)
    informer = SharedIndexInformer(server, dict, resync_period=10, clock=clock)
    async with running(informer.run):
        await clock.advance(100)
        server.broken = False
        await clock.advance(100)
        assert informer.indexer.list_keys() == ["ns/a"]


# --- transforms


@pytest.mark.parametrize("queue", KINDS)
async def test_objects_are_transformed_before_they_are_stored_and_told(queue: QueueKind) -> None:
    scene = Scene("pod1", "pod2", queue=queue)
    told = Told()

    def upper(o: Any) -> Any:
        o["metadata"]["name"] = o["metadata"]["name"].upper()
        return o

    scene.informer.set_transform(upper)
    scene.informer.add_event_handler(told)
    async with running(scene.informer.run):
        await scene.clock.settle()

        assert told.taken() == ["initial add POD1@1", "initial add POD2@2"]
        assert scene.objects == ["POD1@1", "POD2@2"]


@pytest.mark.parametrize("queue", KINDS)
async def test_a_resync_does_not_transform_what_has_been_transformed(queue: QueueKind) -> None:
    def once(o: Any) -> Any:
        assert "transformed" not in o
        return {**o, "transformed": True}

    scene = Scene("pod1", queue=queue, transform=once, resync_period=5)
    told = Told()
    scene.informer.add_event_handler(told)
    async with running(scene.informer.run):
        await scene.clock.advance(21)

        assert told.taken() == ["initial add pod1@1", *["update pod1@1 pod1@1"] * 4]


# --- handlers come and go


def handlers_of(informer: SharedIndexInformer[Any]) -> int:
    return len(list(informer._processor))


async def test_each_registration_is_removed_by_itself() -> None:
    scene = Scene("pod1")
    first, second = (scene.informer.add_event_handler(ResourceEventHandlerFuncs()) for _ in range(2))
    assert handlers_of(scene.informer) == 2

    scene.informer.remove_event_handler(second)
    assert handlers_of(scene.informer) == 1
    scene.informer.remove_event_handler(first)
    assert handlers_of(scene.informer) == 0


async def test_a_registration_of_another_informer_is_not_removed() -> None:
    scene, other = Scene("pod1"), Scene("pod1")
    registration = scene.informer.add_event_handler(Told())
    other.informer.remove_event_handler(registration)

    assert handlers_of(scene.informer) == 1


async def test_one_handler_can_be_registered_twice_and_is_told_twice() -> None:
    scene = Scene("pod1")
    told = Told()
    first = scene.informer.add_event_handler(told)
    scene.informer.add_event_handler(told)
    async with running(scene.informer.run):
        await scene.clock.settle()
        assert told.taken() == ["initial add pod1@1"] * 2
        scene.informer.remove_event_handler(first)
        scene.source.add(obj("pod2", 0))
        await scene.clock.settle()
        assert told.taken() == ["add pod2@2"]


async def test_removing_twice_is_removing_once() -> None:
    scene = Scene("pod1")
    registration = scene.informer.add_event_handler(Told())
    scene.informer.remove_event_handler(registration)
    scene.informer.remove_event_handler(registration)

    assert handlers_of(scene.informer) == 0


async def test_a_removed_handler_is_not_called_even_for_waiting_notifications() -> None:
    scene = Scene()
    told = Told()
    registration = scene.informer.add_event_handler(told)
    async with running(scene.informer.run):
        scene.source.add(obj("pod1", 0))
        await scene.clock.settle()
        assert told.taken() == ["initial add pod1@1"]
        registration.pending.append((0, obj("waiting", 1), False))
        scene.informer.remove_event_handler(registration)
        scene.source.add(obj("pod2", 0))
        await scene.clock.settle()
        assert told.taken() == []


async def test_a_late_handler_is_first_told_of_all_existing_objects() -> None:
    scene = Scene("pod1")
    early, late = Told(), Told()
    first = scene.informer.add_event_handler(early)
    assert not first.has_synced
    async with running(scene.informer.run):
        await scene.clock.settle()
        assert first.has_synced
        second = scene.informer.add_event_handler(late)
        assert not second.has_synced
        scene.source.add(obj("pod2", 0))
        await scene.clock.settle()

        assert second.has_synced
        assert early.taken() == ["initial add pod1@1", "add pod2@2"] == late.taken()


async def test_a_handler_added_before_the_first_list_is_complete_syncs_with_it() -> None:
    server = ScriptedListerWatcher()
    clock = FakeClock()
    informer = SharedIndexInformer(server, dict, clock=clock)
    told = Told()
    async with running(informer.run):
        await clock.settle()
        registration = informer.add_event_handler(told)
        await clock.settle()
        assert not registration.has_synced
        server.will_list(obj("a", 1), rv=1)
        await clock.settle()

        assert registration.has_synced
        assert told.taken() == ["initial add a@1"]


async def test_a_handler_that_resumes_is_called_for_what_has_changed_since() -> None:
    scene = Scene("before", "last", "after")
    early, late, removed = Told(), Told(), Told()
    scene.informer.add_event_handler(early, since="2")
    scene.informer.remove_event_handler(scene.informer.add_event_handler(removed, since="2"))
    async with running(scene.informer.run):
        await scene.clock.settle()
        registration = scene.informer.add_event_handler(late, since="2")
        scene.source.modify(obj("before", 0))
        scene.source.delete(obj("last", 0))
        await scene.clock.settle()
        assert registration.has_synced
        scene.source.reset_watch()
        await scene.clock.settle()

        assert early.taken() == ["initial add after@3", "update before@1 before@4", "delete last@5"] == late.taken()
        assert removed.taken() == []


@pytest.mark.parametrize("since", ["9", "not-a-number"])
async def test_a_version_the_server_cannot_know_replays_everything(since: str) -> None:
    scene = Scene("a", "b")
    told = Told()
    scene.informer.add_event_handler(told, since=since)
    async with running(scene.informer.run):
        await scene.clock.settle()

        assert told.taken() == ["initial add a@1", "initial add b@2"]


async def test_handlers_that_come_and_go_each_see_a_possible_history() -> None:
    scene = Scene("pod0")
    draw = random.Random(7)
    registrations: list[Any] = []
    known: dict[int, set[str]] = {}

    def handler(number: int) -> ResourceEventHandlerFuncs[Any]:
        names = known.setdefault(number, set())

        def add(o: Any) -> None:
            assert o["metadata"]["name"] not in names
            names.add(o["metadata"]["name"])

        def update(old: Any, new: Any) -> None:
            assert new["metadata"]["name"] in names

        def delete(o: Any) -> None:
            names.remove(o["metadata"]["name"])

        return ResourceEventHandlerFuncs(add, update, delete)

    with capture_logs() as logs:
        async with running(scene.informer.run):
            for number in range(2000):
                names = [o["metadata"]["name"] for o in scene.source]
                match draw.randrange(6):
                    case 0:
                        scene.source.add(obj(f"pod{number + 1}", 0))
                    case 1:
                        scene.source.modify(obj(draw.choice(names), 0))
                    case 2 if len(names) > 1:
                        scene.source.delete(f"ns/{draw.choice(names)}")
                    case 3:
                        registrations.append((number, scene.informer.add_event_handler(handler(number))))
                    case 4 if registrations:
                        _, registration = registrations.pop(draw.randrange(len(registrations)))
                        scene.informer.remove_event_handler(registration)
                    case 5:
                        await anyio.lowlevel.checkpoint()
            await scene.clock.settle()

            now = {o["metadata"]["name"] for o in scene.source}
            assert all(known[number] == now for number, _ in registrations)
    assert "event_handler_failed" not in [line["event"] for line in logs]


async def test_a_handler_may_add_and_remove_handlers_and_indexers_within_its_call() -> None:
    scene = Scene("pod1")
    told = Told()

    def add(_: Any) -> None:
        scene.informer.add_event_handler(told)
        scene.informer.add_indexers({"namespace": meta_namespace_index_func})
        scene.informer.remove_event_handler(registration)

    registration = scene.informer.add_event_handler(ResourceEventHandlerFuncs(add))
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.add(obj("pod2", 0))
        await scene.clock.settle()

        assert told.taken() == ["initial add pod1@1", "add pod2@2"]
        assert len(scene.informer.indexer.by_index("namespace", "ns")) == 2


async def test_shutting_a_handler_down_waits_until_it_is_in_no_call() -> None:
    scene = Scene("pod1")
    calls: list[str] = []

    async def add(_: Any) -> None:
        calls.append("begun")
        await scene.clock.sleep(5)
        calls.append("ended")

    registration = scene.informer.add_event_handler(ResourceEventHandlerFuncs(add))
    async with running(scene.informer.run):
        await scene.clock.settle()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.informer.shut_down_event_handler, registration)
            await scene.clock.settle()
            assert calls == ["begun"]
            await scene.clock.advance(5)
        assert calls == ["begun", "ended"]


async def test_removing_a_handler_does_not_wait_for_its_running_call() -> None:
    scene = Scene("pod1")
    calls: list[str] = []

    async def add(_: Any) -> None:
        await scene.clock.sleep(5)
        calls.append("ended")

    registration = scene.informer.add_event_handler(ResourceEventHandlerFuncs(add))
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.informer.remove_event_handler(registration)
        assert calls == []
        await scene.clock.advance(5)
        assert calls == ["ended"]


@pytest.mark.parametrize("when", ["never started", "added later", "added before"])
async def test_a_handler_can_be_removed_at_any_time_of_the_informers_life(when: str) -> None:
    scene = Scene("pod1")
    registration = scene.informer.add_event_handler(Told()) if when != "added later" else None
    if when == "never started":
        assert registration is not None
        await scene.informer.shut_down_event_handler(registration)
        return
    async with running(scene.informer.run):
        await scene.clock.settle()
        registration = registration or scene.informer.add_event_handler(Told())
        await scene.informer.shut_down_event_handler(registration)


# --- exceptions of handlers


async def test_raising_handlers_are_logged_each_time_and_still_sync() -> None:
    scene = Scene(*(f"pod{n}" for n in range(5)))

    def fail(_: Any) -> None:
        raise RuntimeError("fake panic")

    registrations = [scene.informer.add_event_handler(ResourceEventHandlerFuncs(fail)) for _ in range(2)]
    async with running(scene.informer.run):
        with capture_logs() as logs:
            await scene.clock.settle()

        assert [line["event"] for line in logs].count("event_handler_failed") == 10
        assert all(registration.has_synced for registration in registrations)
        assert scene.informer.has_synced


# --- its life


async def test_it_says_whether_it_has_started_synced_and_stopped() -> None:
    scene = Scene("pod1")
    informer = scene.informer
    states = [(informer.is_started, informer.has_synced, informer.is_stopped)]
    async with running(informer.run):
        await scene.clock.settle()
        states.append((informer.is_started, informer.has_synced, informer.is_stopped))
    states.append((informer.is_started, informer.has_synced, informer.is_stopped))

    assert states == [(False, False, False), (True, True, False), (True, True, True)]
    assert repr(informer) == "<SharedIndexInformer pods: 1 objects>"


async def test_what_is_decided_before_it_runs_cannot_be_changed_while_it_does() -> None:
    scene = Scene("pod1")
    decisions: list[Callable[[], object]] = [
        lambda: scene.informer.set_transform(lambda o: o),
        lambda: scene.informer.set_watch_error_handler(lambda *_: None),
    ]
    for decide in decisions:
        decide()
    async with running(scene.informer.run):
        await scene.clock.settle()
        for decide in decisions:
            with pytest.raises(InformerStateError, match="informer pods has already started"):
                decide()


async def test_it_can_be_run_only_once() -> None:
    scene = Scene("pod1")
    async with running(scene.informer.run):
        await scene.clock.settle()
        with pytest.raises(InformerStateError, match="already started"):
            await scene.informer.run()
    with pytest.raises(InformerStateError, match="already started"):
        await scene.informer.run()


async def test_a_stopped_informer_takes_no_handlers_but_releases_those_it_had() -> None:
    scene = Scene("pod1")
    registration = scene.informer.add_event_handler(Told())
    async with running(scene.informer.run):
        await scene.clock.settle()

    with pytest.raises(InformerStateError, match=r"pods has stopped: the handler .* was not added"):
        scene.informer.add_event_handler(Told())
    with pytest.raises(InformerStateError, match="pods has stopped: the indexers were not added"):
        scene.informer.add_indexers({"namespace": meta_namespace_index_func})
    scene.informer.remove_event_handler(registration)
    await scene.informer.shut_down_event_handler(registration)


async def test_stopping_leaves_no_task_timer_or_watch() -> None:
    scene = Scene("pod1", resync_period=5)
    scene.informer.add_event_handler(Told())
    before = len(anyio.get_running_tasks())
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.informer.remove_event_handler(scene.informer.add_event_handler(Told()))
        assert scene.source.open_watches == 1

    assert len(anyio.get_running_tasks()) == before
    assert scene.clock.next_due is None
    assert scene.source.open_watches == 0


async def test_cancelled_while_it_lists_it_has_stopped_and_never_synced() -> None:
    server = ScriptedListerWatcher()
    clock = FakeClock()
    informer = SharedIndexInformer(server, dict, clock=clock)
    async with running(informer.run):
        await clock.settle()
        assert server.taken() == [("list", "0")]

    assert informer.is_stopped
    assert not informer.has_synced
    await informer.wait_stopped()


@pytest.mark.parametrize("queue", KINDS)
async def test_cancelled_within_a_batch_it_stops_there(queue: QueueKind) -> None:
    scene = Scene(queue=queue)

    def slow_index(_: Any) -> str:
        scene.clock.turn(0.002)
        return "x"

    scene.informer.add_indexers({"slow": slow_index})
    for number in range(1000):
        scene.source.add(obj(f"pod{number}", 0))
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.informer.run)
            while not len(scene.informer.indexer):
                await anyio.lowlevel.checkpoint()
            scope.cancel()

    assert 0 < len(scene.informer.indexer) < 1000
    assert scene.informer.is_stopped


async def test_waiting_for_an_informer_that_never_started_to_stop_returns_at_once() -> None:
    await Scene("pod1").informer.wait_stopped()


async def test_waiting_for_it_to_sync_ends_when_it_has() -> None:
    scene = Scene("pod1")
    async with running(scene.informer.run):
        await scene.informer.wait_synced()

        assert scene.objects == ["pod1@1"]


@pytest.mark.parametrize("queue", KINDS)
async def test_an_empty_list_syncs_too(queue: QueueKind) -> None:
    scene = Scene(queue=queue)
    registration = scene.informer.add_event_handler(Told())
    async with running(scene.informer.run):
        await scene.clock.settle()

        assert scene.informer.has_synced
        assert registration.has_synced


# --- mutations


async def test_changing_a_cached_object_is_detected_and_ends_the_informer() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    source.add(obj("pod1", 0))
    informer = SharedIndexInformer(
        source, dict, clock=clock, mutation_detector=CacheMutationDetector("pods", clock=clock)
    )
    informer.add_event_handler(ResourceEventHandlerFuncs(lambda o: o.update(mine=1)))
    with pytest.raises(CacheMutatedError, match=r'ns/pod1: \["mine"\] was added'):
        async with running(informer.run):
            await clock.advance(2)


async def test_updates_are_watched_over_as_well() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    source.add(obj("pod1", 0))
    detector = CacheMutationDetector("pods", clock=clock)
    informer = SharedIndexInformer(source, dict, clock=clock, mutation_detector=detector)
    async with running(informer.run):
        await clock.settle()
        source.modify(obj("pod1", 0))
        await clock.settle()

        assert detector.watched == 2


# --- what the docstring promises


@pytest.mark.parametrize("queue", KINDS)
async def test_an_object_made_again_unseen_is_an_update_with_another_uid(queue: QueueKind) -> None:
    scene = Scene(queue=queue)
    uids: list[Any] = []
    first = obj("pod1", 0)
    first["metadata"]["uid"] = "one"
    scene.source.add(first)
    scene.informer.add_event_handler(
        ResourceEventHandlerFuncs(update=lambda old, new: uids.append((old["metadata"]["uid"], new["metadata"]["uid"])))
    )
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.delete("ns/pod1", silently=True)
        second = obj("pod1", 0)
        second["metadata"]["uid"] = "two"
        scene.source.add(second, silently=True)
        scene.source.reset_watch()
        await settle(scene.clock)

    assert uids == [("one", "two")]


@pytest.mark.parametrize("queue", KINDS)
async def test_a_tombstone_holds_the_last_state_that_was_seen(queue: QueueKind) -> None:
    scene = Scene("pod1", queue=queue)
    deleted: list[Any] = []
    scene.informer.add_event_handler(ResourceEventHandlerFuncs(delete=deleted.append))
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.modify(obj("pod1", 0), silently=True)
        scene.source.delete("ns/pod1", silently=True)
        scene.source.end_watches(expired())
        scene.source.forget_history()
        await settle(scene.clock)

    assert isinstance(deleted[0], DeletedFinalStateUnknown)
    assert (deleted[0].key, short(deleted[0].obj)) == ("ns/pod1", "pod1@1")


async def test_with_the_real_queue_handlers_get_objects_in_the_servers_order() -> None:
    scene = Scene("a", "b", queue="real")
    told = Told()
    scene.informer.add_event_handler(told)
    async with running(scene.informer.run):
        await scene.clock.settle()
        told.taken()
        scene.source.modify(obj("a", 0))
        scene.source.modify(obj("b", 0))
        scene.source.modify(obj("a", 0))
        scene.source.delete("ns/b")
        await scene.clock.settle()

        assert told.taken() == ["update a@1 a@3", "update b@2 b@4", "update a@3 a@5", "delete b@6"]


async def test_by_the_time_a_handler_is_called_the_cache_has_the_change() -> None:
    scene = Scene()
    found: list[bool] = []
    scene.informer.add_event_handler(
        ResourceEventHandlerFuncs(
            add=lambda _: found.append("ns/pod1" in scene.informer.indexer.list_keys()),
            delete=lambda _: found.append("ns/pod1" in scene.informer.indexer.list_keys()),
        )
    )
    async with running(scene.informer.run):
        await scene.clock.settle()
        scene.source.add(obj("pod1", 0))
        await scene.clock.settle()
        scene.source.delete("ns/pod1")
        await scene.clock.settle()

    assert found == [True, False]


async def test_the_length_of_an_informers_queue_is_a_metric() -> None:
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    source.add(obj("a", 0))
    informer = SharedIndexInformer(source, dict, name="metered", clock=FakeClock())
    depths: list[float] = []
    labels = {"name": "metered", "group": "", "version": "", "resource": ""}

    def look(found: Any) -> Any:
        depths.append(metric_value("informer_queued_items", labels) or 0.0)
        return found

    informer.add_indexers({"look": lambda found: look(found) and ""})
    source.add(obj("b", 0))
    async with running(informer.run):
        await informer.wait_synced()

    assert (max(depths), min(depths)) == (1.0, 0.0)
    assert metric_value("informer_queued_items", labels) == 0.0


@pytest.mark.parametrize("queue", KINDS)
async def test_an_eager_informer_stores_objects_that_are_decoded_already(queue: QueueKind) -> None:
    def pod(version: int, node: str) -> Any:
        return from_dict(V1Pod, {**obj("a", version), "spec": {"nodeName": node, "containers": []}})

    stored: list[Any] = []
    server: Any = ScriptedListerWatcher()
    server.will_list(pod(1, "n"), rv=1)
    server.send(WatchEvent("MODIFIED", pod(2, "m")), WatchEvent("ADDED", from_dict(V1Pod, obj("b", 3))))
    clock = FakeClock()
    informer = SharedIndexInformer(server, V1Pod, options=InformerOptions(queue=queue, eager=True), clock=clock)
    spec = V1Pod.__lazy_fields__["spec"].peek  # type: ignore[attr-defined]  # as it lies there
    informer.add_event_handler(
        ResourceEventHandlerFuncs(add=lambda o: stored.append(spec(o)), update=lambda _, o: stored.append(spec(o)))
    )
    async with running(informer.run):
        await clock.settle()

    assert [value and value.node_name for value in stored] == ["n", "m", None]


@pytest.mark.parametrize("compress", [False, True])
async def test_fields_that_all_read_are_decoded_before_they_are_stored(compress: bool) -> None:
    server: Any = ScriptedListerWatcher()
    server.will_list(decoder_for(V1Pod).decode(encode({**obj("a", 1), "spec": {"nodeName": "n"}, "status": {}})), rv=1)
    clock = FakeClock()
    informer = SharedIndexInformer(server, V1Pod, options=InformerOptions(compress=compress), clock=clock)
    informer.decode_early("spec")
    informer.decode_early("spec")
    async with running(informer.run):
        await clock.settle()

    stored = informer.indexer.get_by_key("ns/a")
    kinds = [type(V1Pod.__lazy_fields__[name].peek(stored)) for name in ("spec", "status")]  # type: ignore[attr-defined]  # as it lies there
    assert kinds == [msgspec.Raw if compress else V1PodSpec, msgspec.Raw]


def test_early_fields_are_several_names() -> None:
    with pytest.raises(TypeError, match=r"early is 'spec': want names of fields, as in \('spec',\)"):
        InformerOptions(early="spec")


@pytest.mark.parametrize("watch_list", [True, False])
async def test_an_eager_informer_leaves_out_what_does_not_fit_and_logs_it(watch_list: bool) -> None:
    def pod(name: str, node: Any) -> Any:
        return decoder_for(V1Pod).decode(json.dumps({**obj(name, 1), "spec": {"nodeName": node, "containers": []}}))

    server: Any = ScriptedListerWatcher(supports_watch_list=watch_list)
    if watch_list:
        end = {"metadata": {"resourceVersion": "2", "annotations": {INITIAL_EVENTS_ANNOTATION: "true"}}}
        server.send(
            WatchEvent("ADDED", pod("a", "n")),
            WatchEvent("ADDED", pod("b", 5)),
            WatchEvent("BOOKMARK", from_dict(V1Pod, end)),
        )
    else:
        server.will_list(pod("a", "n"), pod("b", 5), rv=2)
    clock = FakeClock()
    informer = SharedIndexInformer(server, V1Pod, options=InformerOptions(eager=True), clock=clock)
    with capture_logs() as logs:
        async with running(informer.run):
            await clock.settle()
            assert informer.has_synced

    assert informer.indexer.list_keys() == ["ns/a"]
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["object_undecodable"]


async def test_metrics_show_batch_times_and_how_far_the_store_is() -> None:
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    clock = FakeClock()
    resource = GroupVersionResource("apps", "v1", "timed")
    informer = SharedIndexInformer(source, dict, name="timed", resource=resource, clock=clock)

    took = [0.3]

    def slow(found: Any) -> Any:
        clock.turn(took.pop() if took else 0.0)
        return ""

    informer.add_indexers({"slow": slow})
    source.add(obj("a", 0))
    async with running(informer.run):
        await informer.wait_synced()

        def sample(name: str, **more: str) -> float | None:
            labels = {"name": "timed", "group": "apps", "version": "v1", "resource": "timed"}
            return metric_value(f"informer_{name}", {**labels, **more})

        assert sample("store_resource_version") == float(informer.last_sync_resource_version)
        assert sample("processing_latency_seconds_sum") == pytest.approx(0.3)
        in_client_go = [
            "0.001",
            "0.005",
            "0.01",
            "0.025",
            "0.05",
            "0.1",
            "0.25",
            "0.5",
            "1.0",
            "2.5",
            "5.0",
            "10.0",
            "+Inf",
        ]
        buckets = [sample("processing_latency_seconds_bucket", le=bound) for bound in in_client_go]
        assert buckets == [0] * 7 + [1] * 6
