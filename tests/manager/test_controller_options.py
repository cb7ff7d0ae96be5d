"""What a controller may be told: priorities, time limits, limiters by kind of error, what it starts after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import structlog.testing
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client import Conflict
from kinformer.client.status import Status
from kinformer.clock import FakeClock
from kinformer.manager import Controller, RequeueAfter, TerminalError
from kinformer.manager.history import History, NotedQueue
from kinformer.manager.ordering import order_starts
from kinformer.options import OptionError
from kinformer.workqueue.limiters import ItemExponentialFailureRateLimiter
from tests.manager.fakes import FakeInformer
from tests.manager.test_controller import Syncs, obj
from tests.metrics import metric_value
from tests.turning import turn


@asynccontextmanager
async def running(*controllers: Controller) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        for controller in controllers:
            tasks.start_soon(controller.run)
        await anyio.wait_all_tasks_blocked()
        yield
        tasks.cancel_scope.cancel()


def listed(informer: Any, *names: str) -> None:
    for handler in informer._handlers:
        for name in names:
            handler.on_add(obj(name), True)


def metric(name: str, controller: str) -> float:
    return metric_value(name, {"controller": controller}) or 0.0


# -- priorities


async def test_what_the_first_list_brought_waits_behind_what_has_just_happened() -> None:
    informer: Any = FakeInformer()
    syncs = Syncs()
    controller = Controller("lanes", syncs).watch(informer)
    listed(informer, "a", "b", "c")
    informer.update(obj("b", resourceVersion="1"), obj("b", resourceVersion="2"))
    informer.add(obj("new"))

    async with running(controller):
        assert syncs.taken() == ["ns/b", "ns/new", "ns/a", "ns/c"]


async def test_without_priorities_keys_come_as_they_were_added() -> None:
    informer: Any = FakeInformer()
    syncs = Syncs()
    controller = Controller("no-lanes", syncs, prioritize=False).watch(informer)
    listed(informer, "a", "b")
    informer.add(obj("new"))

    async with running(controller):
        assert syncs.taken() == ["ns/a", "ns/b", "ns/new"]


async def test_a_resync_waits_as_well() -> None:
    informer: Any = FakeInformer()
    syncs = Syncs()
    controller = Controller("resyncs", syncs).watch(informer)
    same = obj("a", resourceVersion="1")
    informer.update(same, same)
    informer.add(obj("b"))

    async with running(controller):
        assert syncs.taken() == ["ns/b", "ns/a"]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()) | st.none(), max_size=30))
async def test_each_key_is_in_line_once_and_the_fast_ones_go_first(steps: list[tuple[str, bool] | None]) -> None:
    queue, fast, slow = NotedQueue("", History(FakeClock()), prioritize=True), list[str](), list[str]()
    for step in steps:
        if step is None:
            if fast or slow:
                key = await queue.get()
                assert key == (fast or slow).pop(0)
                queue.done(key)
        else:
            key, slowly = step
            (queue.add_slowly if slowly else queue.add)(key)
            if key not in fast and key not in slow:
                (slow if slowly else fast).append(key)
            elif not slowly and key in slow:
                slow.remove(key)
                fast.append(key)
        assert len(queue) == len(fast) + len(slow)


# -- time


async def test_a_sync_that_takes_too_long_is_cancelled_and_tried_again() -> None:
    clock, began = FakeClock(), list[str]()

    async def sync(key: str) -> None:
        began.append(key)
        if len(began) == 1:
            await clock.sleep(1000)

    controller = Controller("slow-syncs", sync, sync_timeout=10, clock=clock)
    controller.queue.add("a")
    async with running(controller):
        with structlog.testing.capture_logs() as logs:
            await turn(clock, 11)

    assert began == ["a", "a"]
    assert [entry["error"] for entry in logs if entry["event"] == "sync_failed"] == [
        "the sync took longer than 10 s and was cancelled"
    ]
    assert metric("controller_runtime_reconcile_timeouts_total", "slow-syncs") == 1


def test_a_time_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="controller x has a sync_timeout of 0 s: want more than 0, or None"):
        Controller("x", Syncs(), sync_timeout=0)


async def test_a_sync_may_ask_to_be_called_again_with_jitter() -> None:
    clock, syncs = FakeClock(), Syncs()
    syncs.answers = [RequeueAfter(100, jitter=0.5)]
    controller = Controller("again", syncs, clock=clock)
    controller.queue.add("a")

    async with running(controller):
        assert syncs.taken() == ["a"]
        await turn(clock, 99)
        assert syncs.taken() == []
        await turn(clock, 51)
        assert syncs.taken() == ["a"]


# -- errors


async def test_a_terminal_error_is_not_retried_before_the_object_changes() -> None:
    clock, syncs, informer = FakeClock(), Syncs(), FakeInformer()
    syncs.answers = [TerminalError("spec.image is no image")]
    controller = Controller("terminal", syncs, clock=clock).watch(informer)  # type: ignore[arg-type]
    informer.add(obj("a"))

    async with running(controller):
        await turn(clock, 3600)
        assert syncs.taken() == ["ns/a"]
        assert controller.history.failed_last(5)[0][1].error == "spec.image is no image"

        informer.update(obj("a", resourceVersion="1"), obj("a", resourceVersion="2"))
        await turn(clock, 1)
        assert syncs.taken() == ["ns/a"]
    assert metric("controller_runtime_terminal_reconcile_errors_total", "terminal") == 1


class Unripe(Exception):
    pass


class VeryUnripe(Unripe):
    pass


async def test_each_kind_of_error_has_the_limiter_of_its_nearest_class() -> None:
    clock, syncs = FakeClock(), Syncs()
    limits: Any = {
        Unripe: ItemExponentialFailureRateLimiter(60, 1000),
        Conflict: ItemExponentialFailureRateLimiter(5, 5),
    }
    syncs.answers = [VeryUnripe(), Unripe(), Conflict(Status(code=409, reason="Conflict"), ""), ValueError()]
    controller = Controller("limits", syncs, limits=limits, clock=clock)
    controller.queue.add("a")
    waits: list[float] = []

    async with running(controller):
        while len(waits) < 4:
            await turn(clock, 0)
            waits.append(clock.next_due or 0.0)
            await turn(clock, waits[-1])
        await turn(clock, 1)
        assert len(syncs.taken()) == 5

        # The last one went well: what fails next has failed for the first time.
        syncs.answers = [Unripe()]
        controller.queue.add("a")
        await turn(clock, 0)
        assert clock.next_due == pytest.approx(60)

    assert waits == pytest.approx([60, 120, 5, 0.005])


async def test_conflicts_that_go_on_are_tried_again_more_and_more_slowly() -> None:
    clock, syncs = FakeClock(), Syncs()
    syncs.answers = [Conflict(Status(code=409, reason="Conflict"), "") for _ in range(4)]
    controller = Controller("conflicts", syncs, clock=clock)
    controller.queue.add("a")
    waits: list[float] = []

    async with running(controller):
        for _ in range(4):
            await turn(clock, 0)
            waits.append(clock.next_due or 0.0)
            await turn(clock, waits[-1])

    assert waits == pytest.approx([0.005, 0.01, 0.02, 0.04])


# -- what it starts after


async def test_no_sync_starts_before_others_have_worked_off_their_first_lists() -> None:
    informer: Any = FakeInformer()
    early, late, go = Syncs(), Syncs(), anyio.Event()

    async def slow(key: str) -> None:
        await go.wait()
        early.keys.append(key)

    first = Controller("first", slow).watch(informer)
    second = Controller("second", late, starts_after=("first",))
    listed(informer, "a", "b")
    second.queue.add("x")
    order_starts({"first": first, "second": second})

    async with running(first, second):
        assert (early.keys, late.keys, second.awaited) == ([], [], ["first"])
        go.set()
        await anyio.wait_all_tasks_blocked()
        assert (early.keys, late.keys, second.awaited) == (["ns/a", "ns/b"], ["x"], [])


async def test_a_controller_with_nothing_to_do_holds_nobody_up() -> None:
    syncs = Syncs()
    first = Controller("idle", Syncs())
    second = Controller("busy", syncs, starts_after=("idle", "not-here"))
    second.queue.add("x")
    order_starts({"idle": first, "busy": second})

    async with running(first, second):
        assert syncs.taken() == ["x"]


def test_controllers_that_wait_for_each_other_are_refused() -> None:
    controllers = {
        name: Controller(name, Syncs(), starts_after=(after,)) for name, after in (("a", "b"), ("b", "c"), ("c", "a"))
    }

    with pytest.raises(OptionError, match="controllers wait for each other: a after b after c after a"):
        order_starts(controllers)
