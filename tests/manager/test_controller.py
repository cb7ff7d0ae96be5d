from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import AsyncMock

import anyio
import msgspec
import pytest
import structlog.testing

from kinformer.cache import DeletedFinalStateUnknown, ResourceEventHandlerFuncs
from kinformer.client import ServerUnreachable
from kinformer.clock import FakeClock
from kinformer.manager import (
    Controller,
    NotAsync,
    Predicate,
    RequeueAfter,
    SyncError,
    annotations_changed,
    any_of,
    generation_changed,
    labels_changed,
    resource_version_changed,
)
from kinformer.meta import GroupKind, GroupVersionKind
from kinformer.models import V1ObjectMeta, V1ReplicaSet, V1ReplicationController
from tests.manager.fakes import FakeInformer
from tests.metrics import metric_value


def obj(name: str, *, namespace: str = "ns", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, **metadata}}


def owned(name: str, owner: str, kind: str = "ReplicationController", api_version: str = "v1") -> dict[str, Any]:
    reference = {"apiVersion": api_version, "kind": kind, "name": owner, "uid": "u", "controller": True}
    return obj(name, ownerReferences=[reference])


class Speechless(Exception):
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        raise AttributeError("'Speechless' object has no attribute 'response'")

    __repr__ = __str__


class Syncs:
    """Notes keys, and does as told."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.answers: list[Any] = []

    async def __call__(self, key: str) -> float | timedelta | None:
        self.keys.append(key)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def taken(self) -> list[str]:
        keys, self.keys = self.keys, []
        return keys


@pytest.fixture
def syncs() -> Syncs:
    return Syncs()


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(controller.run)
        await anyio.wait_all_tasks_blocked()
        yield
        tasks.cancel_scope.cancel()


async def test_each_change_of_a_watched_object_has_it_synced(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    async with running(Controller("test", syncs).watch(informer)):
        informer.add(obj("a"))
        await anyio.wait_all_tasks_blocked()
        informer.update(obj("a"), obj("a"))
        await anyio.wait_all_tasks_blocked()
        informer.delete(obj("a"))
        informer.add(obj("node", namespace=""))
        await anyio.wait_all_tasks_blocked()

    assert syncs.keys == ["ns/a", "ns/a", "ns/a", "node"]


async def test_a_change_of_an_owned_object_has_its_controller_synced(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    async with running(Controller("test", syncs).watch_owned(informer, V1ReplicationController)):
        informer.add(owned("pod", "web"))
        informer.add(owned("pod", "not-mine", "ReplicaSet", "apps/v1"))
        informer.add(owned("pod", "not-mine-either", "ReplicationController", "apps.openshift.io/v1"))
        informer.add(obj("orphan"))
        await anyio.wait_all_tasks_blocked()
        assert syncs.taken() == ["ns/web"]

        informer.update(owned("pod", "web"), owned("pod", "other"))
        await anyio.wait_all_tasks_blocked()
        assert syncs.taken() == ["ns/web", "ns/other"]


async def test_an_owner_may_be_named_whatever_its_version(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    controller = Controller("test", syncs).watch_owned(informer, GroupKind("apps", "ReplicaSet"))
    async with running(controller.watch_owned(informer, V1ReplicaSet)):
        informer.add(owned("pod", "web", "ReplicaSet", "apps/v1beta2"))
        await anyio.wait_all_tasks_blocked()

    assert syncs.keys == ["ns/web"]


async def test_an_owner_may_have_a_version_and_no_namespace(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    kind = GroupVersionKind("example.com", "v1", "WebApp")
    controller = Controller("test", syncs).watch_owned(informer, kind, namespaced=False)
    async with running(controller):
        informer.add(owned("pod", "web", "WebApp", "example.com/v2"))
        await anyio.wait_all_tasks_blocked()

    assert syncs.keys == ["web"]


async def test_a_controller_is_ready_while_what_it_watches_follows_the_server(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    informer.is_following = True
    controller = Controller("test", syncs).watch(informer)
    assert not controller.is_ready
    async with running(controller):
        assert controller.is_ready
        informer.is_following = False
        assert controller.has_synced
        assert not controller.is_ready


def test_an_owner_of_an_unknown_kind_is_refused_with_a_remedy(syncs: Syncs) -> None:
    class WebApp(msgspec.Struct):
        metadata: V1ObjectMeta

    informer: Any = FakeInformer()
    controller = Controller("webapps", syncs)
    for owner in (WebApp, ("example.com", "WebApp"), "WebApp"):
        with pytest.raises(TypeError, match=r"controller webapps cannot tell the kind of .*WebApp.*GroupKind\("):
            controller.watch_owned(informer, owner)  # type: ignore[arg-type]


async def test_a_mapped_object_syncs_its_keys_from_before_and_after(syncs: Syncs) -> None:
    informer: Any = FakeInformer()

    def targets(config: Any) -> list[str]:
        return list(config["metadata"]["labels"].values())

    async with running(Controller("test", syncs).watch_mapped(informer, targets)):
        informer.update(obj("a", labels={"x": "one", "y": "two"}), obj("a", labels={"x": "two", "y": "three"}))
        await anyio.wait_all_tasks_blocked()

    assert syncs.keys == ["one", "two", "three"]


async def test_a_tombstone_counts_as_the_last_state_seen(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    async with running(Controller("test", syncs).watch(informer)):
        informer.delete(DeletedFinalStateUnknown("ns/a", obj("a")))
        informer.delete(DeletedFinalStateUnknown("ns/b", None))
        await anyio.wait_all_tasks_blocked()

    assert syncs.keys == ["ns/a"]


async def test_predicates_must_all_let_a_change_through(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    async with running(Controller("test", syncs).watch(informer, generation_changed, labels_changed)):
        informer.update(obj("one", generation=1), obj("one", generation=2))
        informer.update(obj("both", generation=1), obj("both", generation=2, labels={"a": "b"}))
        await anyio.wait_all_tasks_blocked()

    assert syncs.keys == ["ns/both"]


@pytest.mark.parametrize(
    ("predicate", "part", "before", "after"),
    [
        (generation_changed, "generation", 1, 2),
        (labels_changed, "labels", {"a": "b"}, {"a": "c"}),
        (annotations_changed, "annotations", {"a": "b"}, None),
        (resource_version_changed, "resourceVersion", "1", "2"),
    ],
)
def test_a_predicate_looks_at_the_part_that_it_is_named_after(
    predicate: Predicate, part: str, before: Any, after: Any
) -> None:
    old, new = obj("a", **{part: before}), obj("a", **{part: after})

    assert predicate(old, new)
    assert not predicate(old, obj("a", **{part: before}, uid="of no interest"))
    assert predicate(None, new)
    assert predicate(old, None)


async def test_one_of_several_predicates_is_enough_if_they_are_given_so(syncs: Syncs) -> None:
    informer: Any = FakeInformer()
    async with running(Controller("test", syncs).watch(informer, any_of(generation_changed, labels_changed))):
        informer.update(obj("status", generation=1), obj("status", generation=1))
        informer.update(obj("spec", generation=1), obj("spec", generation=2))
        informer.update(obj("labels", labels={"a": "b"}), obj("labels"))
        informer.add(obj("new"))
        informer.delete(obj("gone"))
        await anyio.wait_all_tasks_blocked()

    assert sorted(syncs.keys) == ["ns/gone", "ns/labels", "ns/new", "ns/spec"]


async def test_no_sync_starts_before_every_cache_is_complete(syncs: Syncs) -> None:
    first, second = FakeInformer(), FakeInformer(synced=False)
    controller = Controller("test", syncs).watch(first).watch(second)  # type: ignore[arg-type]  # all that is used
    async with running(controller):
        first.add(obj("a"))
        await anyio.wait_all_tasks_blocked()
        assert (syncs.keys, controller.has_synced) == ([], False)

        second.synced.set()
        await anyio.wait_all_tasks_blocked()
        assert (syncs.keys, controller.has_synced) == (["ns/a"], True)
    assert not controller.has_synced


async def test_first_keys_are_synced_while_others_are_still_being_queued(syncs: Syncs) -> None:
    informer: Any = FakeInformer(told=False)
    async with running(Controller("test", syncs).watch(informer)):
        informer.add(obj("first"))
        await anyio.wait_all_tasks_blocked()

        assert syncs.keys == ["ns/first"]


async def test_no_sync_starts_before_ones_own_handler_has_the_first_list(syncs: Syncs) -> None:
    informer: Any = FakeInformer(told=False)
    controller = Controller("test", syncs)
    controller.handle(informer, ResourceEventHandlerFuncs(lambda _: controller.queue.add("k")))
    async with running(controller):
        informer.add(obj("first"))
        await anyio.wait_all_tasks_blocked()
        assert syncs.keys == []

        informer.told.set()
        await anyio.wait_all_tasks_blocked()
        assert syncs.keys == ["k"]


async def test_a_sync_that_raises_is_tried_again_later_each_time(syncs: Syncs) -> None:
    clock = FakeClock()
    controller = Controller("test", syncs, clock=clock)
    syncs.answers = [ValueError("one"), ValueError("two"), None, ValueError("three")]
    with structlog.testing.capture_logs() as logs:
        async with running(controller):
            controller.queue.add("k")
            await clock.advance(0.005)
            assert syncs.taken() == ["k", "k"]
            await clock.advance(0.01)
            assert syncs.taken() == ["k"]

            # It went well in between: the next failure is the first again.
            controller.queue.add("k")
            await clock.advance(0.005)
            assert syncs.taken() == ["k", "k"]

    failures = [line for line in logs if line["event"] == "sync_failed"]
    assert [(line["controller"], line["key"], line["error"]) for line in failures] == [
        ("test", "k", "one"),
        ("test", "k", "two"),
        ("test", "k", "three"),
    ]


@pytest.mark.parametrize(
    ("error", "text", "traceback"),
    [
        (SyncError("not yet"), "not yet", False),
        (ServerUnreachable("http://x", "refused"), "cannot reach the server at http://x: refused", False),
        (ExceptionGroup("two", [SyncError("a"), SyncError("b")]), "two: a; b", False),
        (ExceptionGroup("two", [SyncError("a"), KeyError("b")]), "two: a; KeyError: 'b'", True),
        (ValueError(), "ValueError()", True),
    ],
)
async def test_a_traceback_is_logged_for_mistakes_of_the_code_alone(
    syncs: Syncs, error: Exception, text: str, traceback: bool
) -> None:
    controller = Controller("test", syncs, clock=FakeClock())
    syncs.answers = [error]
    with structlog.testing.capture_logs() as logs:
        async with running(controller):
            controller.queue.add("k")
            await anyio.wait_all_tasks_blocked()

    (line,) = [line for line in logs if line["event"] == "sync_failed"]
    assert (line["error"], "stack" in line) == (text, traceback)


class Odd(BaseException):
    """Neither an Exception nor one of the interpreter's own."""


async def _cancelled_elsewhere() -> None:
    shared = asyncio.get_running_loop().create_future()
    shared.cancel()
    await shared


async def _in_a_group() -> None:
    raise BaseExceptionGroup("both", [asyncio.CancelledError(), ValueError("no")])


async def _odd() -> None:
    raise Odd("very")


async def _speechless() -> None:
    raise Speechless


async def _exits() -> None:
    sys.exit(3)


async def _cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def _cancels_itself_twice() -> None:
    try:
        await _cancels_itself()
    finally:
        await _cancels_itself()


async def _in_a_group_of_its_own() -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_odd)
        await _cancels_itself()


@pytest.mark.parametrize(
    "fail",
    [
        _cancelled_elsewhere,
        _in_a_group,
        _odd,
        _speechless,
        _exits,
        _cancels_itself,
        _cancels_itself_twice,
        _in_a_group_of_its_own,
    ],
)
async def test_whatever_a_sync_raises_costs_one_retry_and_never_the_controller(
    fail: Callable[[], Awaitable[None]],
) -> None:
    synced: list[str] = []
    clock = FakeClock()

    async def sync(key: str) -> None:
        synced.append(key)
        if key == "bad" and synced.count("bad") == 1:
            await fail()

    controller = Controller("test", sync, clock=clock)
    with structlog.testing.capture_logs() as logs:
        async with running(controller):
            controller.queue.add("bad")
            controller.queue.add("good")
            await clock.advance(1)
            assert controller.has_synced

    assert synced == ["bad", "good", "bad"]
    assert [line["event"] for line in logs].count("sync_failed") == 1


async def test_a_sync_that_cancels_its_own_task_ends_no_worker() -> None:
    synced: list[str] = []
    clock = FakeClock()

    async def sync(key: str) -> None:
        synced.append(key)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    controller = Controller("test", sync, clock=clock)
    async with running(controller):
        for key in "abc":
            controller.queue.add(key)
            await clock.settle()

    assert synced == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        *[({"metadata": {}}, "dict"), ("5s", "str"), (True, "True"), (float("nan"), "nan"), (-1, "-1")],
        pytest.param(1 << 20000, "a very large int", id="huge"),
        (timedelta(seconds=-1), "datetime.timedelta(days=-1, seconds=86399)"),
        (RequeueAfter(-0.5), r"RequeueAfter(seconds=-0.5, jitter=0.1)"),
        *[
            (RequeueAfter(1, share), f"RequeueAfter(seconds=1, jitter={share!r})")
            for share in ("a tenth", float("nan"))
        ],
    ],
)
async def test_an_invalid_requeue_time_is_refused_once_and_the_controller_continues(
    syncs: Syncs, answer: Any, what: str
) -> None:
    clock = FakeClock()
    controller = Controller("configmaps", syncs, clock=clock)
    syncs.answers = [answer, answer, RequeueAfter(timedelta(seconds=30), jitter=0)]
    with structlog.testing.capture_logs() as logs:
        async with running(controller):
            for key in ("a", "b", "c"):
                controller.queue.add(key)
            await clock.advance(60)

    assert syncs.keys == ["a", "b", "c", "c"]
    (refused,) = [line for line in logs if line["event"] == "sync_answer_ignored"]
    assert refused["log_level"] == "error"
    assert refused["error"].startswith(f"the sync of controller configmaps returned {what}: want None, or seconds")


async def test_a_sync_is_not_called_again_after_zero_seconds(syncs: Syncs) -> None:
    clock = FakeClock()
    controller = Controller("again", syncs, clock=clock)
    syncs.answers = [0, 0.0, timedelta(), RequeueAfter(0)]
    async with running(controller):
        for key in "abcd":
            controller.queue.add(key)
        await clock.advance(60)

    assert sorted(syncs.keys) == ["a", "b", "c", "d"]


def test_a_function_that_returns_no_list_of_keys_is_named_once(syncs: Syncs) -> None:
    def owner_of(obj: Any) -> Any:
        return next(answers)

    answers = iter(["ns/a", None, ["ns/b"], "ns/c"])
    informer: Any = FakeInformer()
    controller = Controller("mapped", syncs).watch_mapped(informer, owner_of)
    with structlog.testing.capture_logs() as logs:
        for name in "abc":
            informer.add(obj(name))
        informer.delete(obj("c"))

    assert len(controller.queue) == 1
    (refused,) = [line for line in logs if line["event"] == "keys_refused"]
    assert refused["function"].endswith("owner_of")
    assert refused["returned"] == "a string"


async def keys_later(obj: Any) -> list[str]:
    return []


@pytest.mark.parametrize("keys_of", [None, "ns/a", keys_later])
def test_keys_come_from_a_plain_function(syncs: Syncs, keys_of: Any) -> None:
    informer: Any = FakeInformer()

    with pytest.raises(TypeError, match="cannot give keys: want a plain function"):
        Controller("mapped", syncs).watch_mapped(informer, keys_of)


def test_a_sync_that_is_not_async_is_refused_by_name() -> None:
    class Reconciler:
        def reconcile(self, key: str) -> None: ...

    refused: list[Any] = [Reconciler().reconcile, partial(Reconciler.reconcile, Reconciler())]
    for sync in refused:
        with pytest.raises(NotAsync, match=r"sync of controller configmaps, .*reconcile.* is not async: want `async"):
            Controller("configmaps", sync)


async def test_a_sync_that_is_not_async_is_one_error_and_stops_nothing() -> None:
    clock = FakeClock()
    sync: Any = lambda key: None  # noqa: E731
    controller = Controller("configmaps", sync, clock=clock)
    with structlog.testing.capture_logs() as logs:
        async with running(controller):
            controller.queue.add("a")
            await anyio.wait_all_tasks_blocked()
            assert controller.has_synced

    (line,) = [line for line in logs if line["event"] == "sync_failed"]
    assert "is not async" in line["error"]
    assert "stack" not in line


async def test_a_controller_that_has_run_says_that_it_cannot_run_again(syncs: Syncs) -> None:
    controller = Controller("once", syncs)
    async with running(controller):
        with pytest.raises(RuntimeError, match="controller once has run already: make a new one"):
            await controller.run()
    with pytest.raises(RuntimeError, match="controller once has run already"):
        await controller.run()


async def test_functions_that_return_something_to_await_are_syncs(syncs: Syncs) -> None:
    for sync in (syncs, partial(syncs), lambda key: syncs(key), AsyncMock(return_value=None)):
        controller = Controller("test", sync)
        async with running(controller):
            controller.queue.add("k")
            await anyio.wait_all_tasks_blocked()

    assert syncs.keys == ["k"] * 3


@pytest.mark.parametrize("after", [30.0, timedelta(seconds=30)])
async def test_a_sync_may_say_when_to_look_again(syncs: Syncs, after: float | timedelta) -> None:
    clock = FakeClock()
    controller = Controller("test", syncs, clock=clock)
    syncs.answers = [after]
    async with running(controller):
        controller.queue.add("k")
        await clock.advance(29)
        assert syncs.taken() == ["k"]
        await clock.advance(1)
        assert syncs.taken() == ["k"]


async def test_workers_sync_different_keys_at_once_and_one_key_never_twice() -> None:
    under_way: list[str] = []
    gate = anyio.Event()

    async def sync(key: str) -> None:
        under_way.append(key)
        await gate.wait()
        under_way.remove(key)

    controller = Controller("test", sync, workers=2)
    async with running(controller):
        for key in ("a", "b", "c"):
            controller.queue.add(key)
        await anyio.wait_all_tasks_blocked()
        controller.queue.add("a")
        await anyio.wait_all_tasks_blocked()
        assert under_way == ["a", "b"]
        gate.set()
        await anyio.wait_all_tasks_blocked()
        assert under_way == []


async def test_when_it_is_cancelled_syncs_end_and_the_queue_takes_nothing_more(syncs: Syncs) -> None:
    ended = anyio.Event()

    async def sync(key: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    controller = Controller("test", sync)
    async with running(controller):
        controller.queue.add("a")
        controller.queue.add("b")
        await anyio.wait_all_tasks_blocked()

    assert ended.is_set()
    assert controller.queue.shutting_down


async def test_workers_say_how_they_fare(syncs: Syncs) -> None:
    controller = Controller("metered", syncs, workers=3)
    syncs.answers = [None, 5.0, ValueError("no")]
    with structlog.testing.capture_logs():
        async with running(controller):
            for key in ("a", "b", "c"):
                controller.queue.add(key)
            await anyio.wait_all_tasks_blocked()

    def metric(name: str, **labels: str) -> float | None:
        return metric_value(f"controller_runtime_{name}", {"controller": "metered", **labels})

    assert [metric("reconcile_total", result=result) for result in ("success", "requeue_after", "error")] == [1, 1, 1]
    assert metric("reconcile_errors_total") == 1
    assert metric("reconcile_time_seconds_count") == 3
    assert metric("max_concurrent_reconciles") == 3
    assert metric("active_workers") == 0


def test_a_controller_without_workers_is_a_mistake(syncs: Syncs) -> None:
    with pytest.raises(ValueError, match="controller test has 0 workers"):
        Controller("test", syncs, workers=0)


# --- draining


class Slow:
    """Syncs that end when they are told to."""

    def __init__(self, clock: FakeClock, *, workers: int = 2) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self.gates: dict[str, anyio.Event] = {}
        self.controller = Controller("test", self.sync, workers=workers, clock=clock)

    async def sync(self, key: str) -> None:
        self.began.append(key)
        self.gates[key] = anyio.Event()
        try:
            await self.gates[key].wait()
        except asyncio.CancelledError:
            self.cancelled.append(key)
            raise
        self.ended.append(key)


@asynccontextmanager
async def draining(controller: Controller, grace: float | None) -> AsyncIterator[list[tuple[str, ...]]]:
    """Run it and drain it; give what drain() returns, once it does."""
    cut: list[tuple[str, ...]] = []

    async def drain() -> None:
        cut.append(await controller.drain(grace))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(drain)
        await anyio.wait_all_tasks_blocked()
        yield cut


async def test_draining_waits_for_running_syncs_and_starts_no_more() -> None:
    clock = FakeClock()
    slow = Slow(clock)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow.controller.run)
            await clock.settle()
            for key in "abc":
                slow.controller.queue.add(key)
            slow.controller.queue.add_after("d", 1)
            await clock.settle()
            slow.controller.queue.add("a")  # a change of what is being synced

            async with draining(slow.controller, 30) as cut:
                slow.controller.queue.add("b")
                await clock.advance(29)
                assert slow.controller.has_synced
                slow.gates["a"].set()
                await clock.settle()
                assert not cut
                slow.gates["b"].set()
        # run() has returned by itself.

    assert (slow.began, slow.ended, slow.cancelled, cut) == (["a", "b"], ["a", "b"], [], [()])


async def test_syncs_that_run_when_the_grace_is_over_are_cancelled_and_named() -> None:
    clock = FakeClock()
    slow = Slow(clock, workers=3)
    with anyio.fail_after(60), structlog.testing.capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow.controller.run)
            await clock.settle()
            for key in "abc":
                slow.controller.queue.add(key)
            await clock.settle()

            async with draining(slow.controller, 30) as cut:
                slow.gates["b"].set()
                await clock.advance(29.9)
                assert not cut
                await clock.advance(0.2)

    assert (slow.ended, sorted(slow.cancelled), cut) == (["b"], ["a", "c"], [("a", "c")])
    (line,) = [line for line in logs if line["event"] == "syncs_cut"]
    assert (line["keys"], line["grace"]) == (("a", "c"), 30)


async def test_draining_without_syncs_ends_at_once_even_before_caches_are_full(syncs: Syncs) -> None:
    informer: Any = FakeInformer(synced=False)
    waiting = Controller("waiting", syncs).watch(informer)
    idle = Controller("idle", syncs)
    unused = Controller("unused", syncs)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiting.run)
            tasks.start_soon(idle.run)
            await anyio.wait_all_tasks_blocked()
            for controller in (waiting, idle, unused):
                assert await controller.drain(30) == ()
                assert await controller.drain() == ()
        await unused.run()

    assert syncs.keys == []
