"""What the store and the handlers get of each change, in which form and order."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.cache import (
    CacheMutatedError,
    CacheMutationDetector,
    DeletedFinalStateUnknown,
    InformerOptions,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
)
from kinformer.cache.options import QueueKind
from kinformer.cache.testing import FakeControllerSource, expired
from kinformer.client import WatchEvent
from kinformer.clock import FakeClock
from tests.cache.informers import KINDS, Scene, Told, running, short
from tests.cache.scripted import ScriptedListerWatcher, bookmark, event, obj, settle, status_error
from tests.metrics import metric_value


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
