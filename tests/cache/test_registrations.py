"""Handlers that are added to an informer and removed, and how often each is called again."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import anyio
import anyio.to_thread
import pytest
from structlog.testing import capture_logs

from kinformer.cache import (
    InformerStateError,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
    meta_namespace_index_func,
)
from kinformer.cache.options import QueueKind
from kinformer.clock import FakeClock
from tests.cache.informers import KINDS, Scene, Told, running
from tests.cache.scripted import ScriptedListerWatcher, obj


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


async def test_handlers_are_added_and_removed_in_the_informers_loop_only() -> None:
    scene = Scene("pod1")
    async with running(scene.informer.run):
        registration = scene.informer.add_event_handler(Told())
        await scene.clock.settle()

        async def elsewhere() -> None:
            with pytest.raises(RuntimeError, match=r"informer .* runs in another event loop"):
                scene.informer.add_event_handler(Told())
            with pytest.raises(RuntimeError, match=r"informer .* runs in another event loop"):
                scene.informer.remove_event_handler(registration)

        await anyio.to_thread.run_sync(asyncio.run, elsewhere())
