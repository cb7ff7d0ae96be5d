from __future__ import annotations

import random
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from structlog.testing import capture_logs

from kinformer.cache import (
    Controller,
    DeletedFinalStateUnknown,
    Delta,
    DeltaFIFO,
    DeltaType,
    Indexer,
    InformerOptions,
    RealFIFO,
    Reflector,
    ReplacedAllInfo,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
    new_informer,
)
from kinformer.cache.controller import delta_processor
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock
from kinformer.meta import accessor_for
from tests.cache.informers import Told, running, short
from tests.cache.scripted import ScriptedListerWatcher, obj, settle

Deltas = list[Delta]


def deltas_of(*changes: tuple[DeltaType, Any]) -> Deltas:
    key_of = accessor_for(dict).key
    return [Delta(type_, o, o.key if isinstance(o, DeletedFinalStateUnknown) else key_of(o)) for type_, o in changes]


class Scene:
    """A source, a controller over it, and the store that it fills."""

    def __init__(self, queue: str = "delta", **options: Any):
        self.clock = FakeClock()
        self.source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
        self.told = Told()
        self.store: Indexer[dict[str, Any]] = Indexer(accessor_for(dict))
        accessor = accessor_for(dict)
        self.queue: Any
        match queue:
            case "delta":
                self.queue = DeltaFIFO(accessor, self.store, emit_delta_type_replaced=True)
            case "real":
                self.queue = RealFIFO(accessor, self.store)
            case _:
                self.queue = RealFIFO(accessor, atomic_events=True, emit_delta_type_bookmark=True, **options)

        def process(deltas: Any, is_in_initial_list: bool) -> None:
            told = self.told
            delta_processor(self.store, told.on_add, told.on_update, told.on_delete)(deltas, is_in_initial_list)

        options = InformerOptions(random=lambda: 0.0)
        reflector = Reflector(self.source, dict, self.queue, name="pods", options=options, clock=self.clock)
        self.controller: Controller[dict[str, Any]] = Controller(reflector, self.queue, process)

    @property
    def objects(self) -> list[str]:
        return sorted(map(short, self.store.list()))


QUEUES = ("delta", "real", "atomic")


async def test_new_informer_makes_a_store_and_the_controller_that_fills_it() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    store: Indexer[dict[str, Any]]
    deleted: list[str] = []

    # Deletes whatever is added, as client-go's example does.
    store, controller = new_informer(
        source,
        dict,
        ResourceEventHandlerFuncs(
            add=lambda o: source.delete(o), delete=lambda o: deleted.append(o["metadata"]["name"])
        ),
        clock=clock,
    )
    assert not controller.has_synced
    async with running(controller.run):
        for name in ("a-hello", "b-controller", "c-framework"):
            source.add(obj(name, 0))
        await clock.settle()

        assert deleted == ["a-hello", "b-controller", "c-framework"]
        assert store.list() == []
        assert controller.has_synced
        await controller.wait_synced()


@pytest.mark.parametrize("queue", QUEUES)
async def test_whatever_many_tasks_do_to_the_source_the_store_ends_like_it(queue: str) -> None:
    scene = Scene(queue)
    draw = random.Random(3)

    async def hammer(which: int) -> None:
        names: list[str] = []
        for number in range(100):
            if not names or draw.randrange(3) == 1:
                names.append(f"{which}-{number}")
                scene.source.add(obj(names[-1], 0))
            elif draw.randrange(2):
                scene.source.modify(obj(draw.choice(names), 0))
            else:
                scene.source.delete(f"ns/{names.pop(draw.randrange(len(names)))}")
            if draw.randrange(4) == 0:
                await checkpoint()

    async with running(scene.controller.run):
        async with anyio.create_task_group() as tasks:
            for which in range(3):
                tasks.start_soon(hammer, which)
        await scene.clock.settle()

        assert scene.objects == sorted(map(short, scene.source))
        assert scene.controller.last_sync_resource_version == scene.source.resource_version


async def test_an_update_goes_from_the_state_that_was_told_last() -> None:
    scene = Scene()
    async with running(scene.controller.run):
        await scene.clock.settle()
        scene.source.add(obj("a", 0))
        scene.source.modify(obj("a", 0))
        scene.source.modify(obj("a", 0))
        await scene.clock.settle()

        assert scene.told.taken() == ["add a@1", "update a@1 a@2", "update a@2 a@3"]


async def test_a_raising_handler_in_the_controllers_own_task_loses_one_notification() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    updates: list[str] = []

    def fail(_: Any, initial: bool) -> None:
        raise RuntimeError("Just panic.")

    handler = ResourceEventHandlerDetailedFuncs[Any](add=fail, update=lambda _, new: updates.append(short(new)))
    store, controller = new_informer(source, dict, handler, clock=clock)
    async with running(controller.run):
        await clock.settle()
        with capture_logs() as logs:
            source.add(obj("a", 0))
            source.modify(obj("a", 0))
            await clock.settle()

        # The store is right whatever the handler does.
        assert [short(o) for o in store.list()] == ["a@2"]
        assert updates == ["a@2"]
        assert [line["event"] for line in logs] == ["delta_not_processed"]


async def test_a_raising_process_function_is_logged_and_the_next_pop_follows() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    seen: list[str] = []

    def process(deltas: Any, initial: bool) -> None:
        seen.append(deltas[-1].key)
        if len(seen) == 1:
            raise RuntimeError("no")

    queue: DeltaFIFO[dict[str, Any]] = DeltaFIFO(accessor_for(dict))
    controller = Controller(Reflector(source, dict, queue, name="pods", clock=clock), queue, process)
    source.add(obj("a", 0))
    source.add(obj("b", 0))
    async with running(controller.run):
        with capture_logs() as logs:
            await clock.settle()

        assert seen == ["ns/a", "ns/b"]
        assert {line["event"] for line in logs} >= {"delta_not_processed"}


async def test_the_store_and_the_handler_get_the_transformed_object() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    told = Told()

    def transform(o: Any) -> Any:
        o["hostname"] = "new"
        o["metadata"].pop("resourceVersion", None)
        return o

    source.add(obj("pod1", 0))
    store, controller = new_informer(source, dict, told, transform=transform, clock=clock)
    async with running(controller.run):
        await clock.settle()
        source.add(obj("pod2", 0))
        source.modify(obj("pod2", 0))
        source.delete("ns/pod1")
        await clock.settle()

        assert told.taken() == ["initial add pod1@", "add pod2@", "update pod2@ pod2@", "delete pod1@"]
        assert [o["hostname"] for o in store.list()] == ["new"]
        source.end_watches()
        await settle(clock)
        assert source.calls[-1][1].resource_version == "4"


async def test_resyncs_give_transformed_objects_and_never_transform_them_again() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()

    def transform(o: Any) -> Any:
        assert "transformed" not in o
        return {**o, "transformed": True}

    for number in range(5):
        source.add(obj(f"pod-{number}", 0))
    told = Told()
    store, controller = new_informer(source, dict, told, transform=transform, resync_period=0.005, clock=clock)
    async with running(controller.run):
        await clock.advance(0.1)

        assert len(told.taken()) > 50
        assert all("transformed" in o for o in store.list())


class TestProcessDeltas:
    def process(self, store: Indexer[Any], deltas: Deltas, told: Any = None) -> list[str]:
        told = told or Told()
        delta_processor(store, told.on_add, told.on_update, told.on_delete)(deltas, True)
        return list(told.taken())

    def test_an_unknown_object_is_an_add_and_a_known_one_an_update(self) -> None:
        store: Indexer[Any] = Indexer(accessor_for(dict))
        told = self.process(
            store,
            deltas_of(
                (DeltaType.UPDATED, obj("a", 1)),
                (DeltaType.ADDED, obj("a", 2)),
                (DeltaType.REPLACED, obj("a", 3)),
                (DeltaType.SYNC, obj("a", 3)),
                (DeltaType.DELETED, obj("a", 4)),
            ),
        )

        assert told == [
            "initial add a@1",
            "update a@1 a@2",
            "update a@2 a@3",
            "update a@3 a@3",
            "delete a@4",
        ]

    def test_a_delta_that_fails_is_logged_and_takes_no_other_with_it(self) -> None:
        def picky(o: Any) -> str:
            if o["metadata"]["name"] == "bad":
                raise RuntimeError("no")
            return "x"

        store: Indexer[Any] = Indexer(accessor_for(dict), {"picky": picky})
        with capture_logs() as logs:
            told = self.process(store, deltas_of(*((DeltaType.ADDED, obj(name, 1)) for name in ("one", "bad", "two"))))

        assert told == ["initial add one@1", "initial add two@1"]
        assert [line["key"] for line in logs] == ["ns/bad"]

    def test_a_list_as_one_delta_tells_first_of_deletions(self) -> None:
        store: Indexer[Any] = Indexer(accessor_for(dict))
        self.process(store, deltas_of((DeltaType.ADDED, obj("old", 1)), (DeltaType.ADDED, obj("both", 2))))
        info = ReplacedAllInfo("9", [obj("both", 3), obj("new", 4)])
        told = self.process(store, [Delta(DeltaType.REPLACED_ALL, info)])

        assert told == ["delete ?old@1", "update both@2 both@3", "initial add new@4"]
        assert store.last_store_sync_resource_version() == "9"

    def test_a_resync_as_one_delta_is_of_everything_in_the_store(self) -> None:
        store: Indexer[Any] = Indexer(accessor_for(dict))
        self.process(store, deltas_of((DeltaType.ADDED, obj("a", 1)), (DeltaType.ADDED, obj("b", 2))))

        assert self.process(store, [Delta(DeltaType.SYNC_ALL, None)]) == ["update a@1 a@1", "update b@2 b@2"]


CASES: dict[str, tuple[list[Any], list[Any], list[str]]] = {
    "created": ([], [("pod-1", 1)], ["add pod-1@1"]),
    "all deleted": ([("pod-1", 1), ("pod-3", 2)], [], ["delete ?pod-1@1", "delete ?pod-3@2"]),
    "created, updated, deleted": (
        [("pod-1", 1), ("pod-2", 2), ("pod-3", 3)],
        [("pod-1", 4), ("pod-2", 5), ("pod-4", 6)],
        ["add pod-4@6", "delete ?pod-3@3", "update pod-1@1 pod-1@4", "update pod-2@2 pod-2@5"],
    ),
}


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("case", CASES)
async def test_a_list_updates_the_store_and_tells_each_difference(queue: str, case: str) -> None:
    before, after, want = CASES[case]
    scene = Scene(queue)
    server = ScriptedListerWatcher()
    scene.controller.reflector._lister_watcher = server
    server.will_list(rv=0)
    async with running(scene.controller.run):
        await scene.clock.settle()
        for name, rv in before:
            scene.queue.add(obj(name, rv))
        await scene.controller._drain()
        scene.told.taken()
        scene.queue.replace([obj(name, rv) for name, rv in after], "9")
        await scene.controller._drain()

        assert sorted(scene.told.taken()) == want
        assert scene.objects == [f"{name}@{rv}" for name, rv in after]


@pytest.mark.parametrize("queue", QUEUES)
async def test_after_a_reset_watch_the_next_list_brings_what_was_missed(queue: str) -> None:
    scene = Scene(queue)
    scene.source.add(obj("pod-1", 0))
    async with running(scene.controller.run):
        await scene.clock.settle()
        assert scene.told.taken() == ["initial add pod-1@1"]
        scene.source.modify(obj("pod-1", 0), silently=True)
        scene.source.add(obj("pod-2", 0), silently=True)
        scene.source.reset_watch()
        await settle(scene.clock)

        assert scene.told.taken() == ["update pod-1@1 pod-1@2", "add pod-2@3"]


async def test_the_store_knows_up_to_which_version_it_is_complete() -> None:
    scene = Scene("atomic")
    scene.source.add(obj("pod-1", 0))
    versions = []
    async with running(scene.controller.run):
        for change in (
            lambda: None,
            lambda: scene.source.modify(obj("pod-1", 0)),
            lambda: scene.source.delete("ns/pod-1"),
            lambda: (scene.source.add(obj("pod-2", 0), silently=True), scene.source.send_bookmark()),
        ):
            change()
            await scene.clock.settle()
            versions.append(scene.store.last_store_sync_resource_version())

    assert versions == ["1", "2", "3", "4"]


async def test_objects_without_metadata_leave_the_version_at_that_of_the_list() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    source.add(obj("pod-1", 0))

    def key(_: Any) -> str:
        return "pod-1"

    store: Indexer[Any] = Indexer(key)
    queue: Any = RealFIFO(key, transformer=lambda o: o["metadata"]["name"], atomic_events=True)

    process = delta_processor(store, lambda *_: None, lambda *_: None, lambda *_: None)
    controller = Controller(Reflector(source, dict, queue, clock=clock), queue, process)
    async with running(controller.run):
        await clock.settle()
        assert store.last_store_sync_resource_version() == "1"
        source.modify(obj("pod-1", 0))
        await clock.settle()
        assert store.list() == ["pod-1"]
        assert store.last_store_sync_resource_version() == "1"
        source.modify(obj("pod-1", 0), silently=True)
        source.reset_watch()
        await settle(clock)
        assert store.last_store_sync_resource_version() == "3"


async def test_others_have_their_turn_within_a_flood() -> None:
    clock = FakeClock()
    source: FakeControllerSource[dict[str, Any]] = FakeControllerSource()
    turns = 0
    done = False

    def process(deltas: Any, initial: bool) -> None:
        nonlocal done
        clock.turn(0.001)
        done = deltas[-1].key == "ns/last"

    async def other() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await checkpoint()

    for number in range(2000):
        source.add(obj(f"pod{number}", 0))
    source.add(obj("last", 0))
    queue: DeltaFIFO[dict[str, Any]] = DeltaFIFO(accessor_for(dict))
    controller = Controller(Reflector(source, dict, queue, clock=clock), queue, process)
    async with running(controller.run, other):
        await clock.settle()

    assert turns >= 2000 / 64


class Batches:
    """Batches that a reflector hands over, each change of which takes three milliseconds to process."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.clock.turn(100)
        self.queue: DeltaFIFO[dict[str, Any]] = DeltaFIFO(accessor_for(dict))
        self.reflector = Reflector(FakeControllerSource(), dict, self.queue, clock=self.clock)
        self.controller = Controller(self.reflector, self.queue, self._process)
        self.processed: list[str] = []
        self.turns = 0

    def _process(self, deltas: Any, initial: bool) -> None:
        self.processed.append(deltas[-1].key)
        self.clock.turn(0.003)

    async def others(self) -> None:
        while True:
            self.turns += 1
            await checkpoint()

    async def turns_within(self, *names: str) -> int:
        """How many turns the others had while a batch with these objects was processed."""
        for name in names:
            self.queue.add(obj(name, 0))
        before = self.turns
        await self.reflector.on_batch()
        return self.turns - before


async def test_small_batches_without_a_pause_give_way_when_together_they_are_long() -> None:
    batches = Batches()
    async with running(batches.others):
        assert await batches.turns_within("a") == 0
        assert await batches.turns_within("b") > 0
        assert batches.processed == ["ns/a", "ns/b"]


async def test_a_small_batch_does_not_give_way_after_a_pause() -> None:
    batches = Batches()
    async with running(batches.others):
        for name in ("a", "b", "c"):
            assert await batches.turns_within(name) == 0
            await checkpoint()
            await checkpoint()
            batches.clock.turn(10)


async def test_changes_that_come_during_a_batch_are_processed_by_it() -> None:
    batches = Batches()
    within: list[int] = []

    async def resync() -> None:
        while not batches.processed:
            await checkpoint()
        before = len(batches.processed)
        await batches.reflector.on_batch()
        within.append(len(batches.processed) - before)

    async with running(resync):
        await batches.turns_within(*(f"pod{number}" for number in range(200)))

    assert within == [0]
    assert len(batches.processed) == 200


async def test_the_queue_is_closed_when_the_controller_ends() -> None:
    scene = Scene()
    async with running(scene.controller.run):
        await scene.clock.settle()
        assert not scene.queue.is_closed

    assert scene.queue.is_closed
