"""What livez and readyz look at. Each check says what is wrong, or nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio

from kinformer.cache import SharedIndexInformer
from kinformer.clock import FakeClock
from kinformer.manager import Controller
from kinformer.manager.checks import (
    QueueWatch,
    event_loop,
    has_not_ended,
    informer_fresh,
    informer_sync,
    parts_of,
)
from tests.cache.informers import running
from tests.cache.scripted import ScriptedListerWatcher, bookmark, event, settle, status_error


class Held:
    """A sync that does not return until it is told to."""

    def __init__(self) -> None:
        self.go_on = anyio.Event()
        self.synced: list[str] = []

    async def __call__(self, key: str) -> None:
        await self.go_on.wait()
        self.synced.append(key)


# --- queues


async def test_a_queue_that_stands_still_is_reported_until_it_is_drained() -> None:
    clock, sync = FakeClock(), Held()
    controller = Controller("stuck", sync, clock=clock)
    watch = QueueWatch({"stuck": controller}, clock)
    wrong = watch.check(120)
    async with running(controller.run), running(watch.run):
        controller.queue.add("one")
        await clock.settle()
        controller.queue.add("two")
        await clock.advance(115)
        assert wrong() == ""
        await clock.advance(20)
        assert wrong() == "the queue of stuck has 1 keys and has handed out none for 130s"

        sync.go_on.set()
        await clock.settle()
        assert sync.synced == ["one", "two"]
        assert wrong() == ""


async def test_a_long_sync_alone_is_no_stuck_queue() -> None:
    clock, sync = FakeClock(), Held()
    controller = Controller("slow", sync, clock=clock)
    watch = QueueWatch({"slow": controller}, clock)
    async with running(controller.run), running(watch.run):
        controller.queue.add("one")
        await clock.advance(3600)

        assert watch.check(120)() == ""


async def test_a_queue_that_is_never_empty_and_moves_on_is_well() -> None:
    clock = FakeClock()

    async def sync(key: str) -> None:
        await clock.sleep(60)
        controller.queue.add(key)

    controller = Controller("busy", sync, clock=clock)
    watch = QueueWatch({"busy": controller}, clock)
    async with running(controller.run), running(watch.run):
        for key in "abc":
            controller.queue.add(key)
        for _ in range(20):
            await clock.advance(50)
            assert watch.check(120)() == ""
            assert len(controller.queue) >= 2


async def test_a_queue_whose_workers_have_not_started_is_not_stuck() -> None:
    clock = FakeClock()
    controller = Controller("waiting", Held(), clock=clock)
    watch = QueueWatch({"waiting": controller}, clock)
    controller.queue.add("one")
    async with running(watch.run):
        await clock.advance(3600)

        assert watch.check(120)() == ""


def test_attributes_of_a_runnable_are_not_its_parts() -> None:
    async def sync(key: str) -> None: ...

    first = Controller("first", sync)

    assert parts_of(first) == [first]
    assert parts_of(SimpleNamespace(controller=first)) == []


# --- informers


async def test_informers_that_do_not_follow_are_named_with_the_reason() -> None:
    server, clock = ScriptedListerWatcher(), FakeClock()
    informer = SharedIndexInformer(server, dict, name="pods", clock=clock)
    wrong = informer_sync(lambda: [informer])
    assert wrong() == "pods has not synced"
    server.will_list(rv=1)
    async with running(informer.run):
        await clock.settle()
        assert wrong() == ""
        server.fail_watch(status_error(410, "Expired"))
        for _ in range(9):
            server.will_fail_list(status_error(500, "InternalError"))
        await clock.advance(40)
        assert informer.failing_for > 30
        assert wrong() == f"pods has had no watch for {informer.failing_for:.0f}s"
        for _ in range(9):
            server.will_list(rv=2)
        await settle(clock)
        assert wrong() == ""
    assert wrong() == "pods has stopped"


async def test_an_informer_that_hears_nothing_through_an_open_watch_is_stale() -> None:
    server, clock = ScriptedListerWatcher(), FakeClock()
    informer = SharedIndexInformer(server, dict, name="pods", clock=clock)
    wrong = informer_fresh(lambda: [informer], 900)
    assert (informer.silent_for, wrong()) == (0.0, "")
    server.will_list(rv=1)
    async with running(informer.run):
        await clock.advance(800)
        assert (informer.silent_for, wrong()) == (800.0, "")
        await clock.advance(200)
        assert wrong() == "nothing was heard of pods for 1000s"

        server.send(event("ADDED", "a", 2))
        await clock.settle()
        assert (informer.silent_for, wrong()) == (0.0, "")
        await clock.advance(1000)
        server.send(bookmark(3))
        await clock.settle()
        assert (informer.silent_for, wrong()) == (0.0, "")
    await clock.advance(1000)
    assert wrong() == ""  # it has stopped, which another check says


async def test_an_opened_watch_counts_only_from_servers_without_bookmarks() -> None:
    server, clock = ScriptedListerWatcher(), FakeClock()
    informer = SharedIndexInformer(server, dict, name="pods", clock=clock)
    server.will_list(rv=1)
    async with running(informer.run):
        await clock.advance(500)
        server.end_watch()
        await clock.settle()
        assert informer.silent_for == 0

        server.send(bookmark(2))
        await clock.advance(500)
        server.end_watch()
        await clock.settle()
        assert informer.silent_for == 500


# --- the rest


async def test_a_loop_that_nobody_saw_blocked_is_well() -> None:
    assert event_loop(10)() == ""


def test_a_controller_that_has_ended_is_named() -> None:
    ended: set[str] = set()
    wrong: Any = has_not_ended("job", lambda: ended)
    assert wrong() == ""
    ended.add("job")
    assert wrong() == "controller job has ended"
