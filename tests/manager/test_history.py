from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from kinformer.cache import DeletedFinalStateUnknown, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.handlers import name_for_handler
from kinformer.cache.testing import FakeControllerSource
from kinformer.clock import FakeClock
from kinformer.manager import Controller, EnqueueKeys, SyncError, own_key
from kinformer.manager.history import KEYS, RUNS, SAMPLE, History, NotedQueue, Source, Trigger
from kinformer.models import V1ObjectMeta, V1Pod
from kinformer.workqueue import NoMetrics
from tests.manager.fakes import FakeInformer
from tests.turning import quiet, turn


def pod(name: str, version: str = "1") -> V1Pod:
    return V1Pod(metadata=V1ObjectMeta(name=name, namespace="default", resource_version=version))


class Syncs:
    """A sync that does what it is told."""

    def __init__(self) -> None:
        self.does: Callable[[str], Awaitable[Any] | Any] = lambda key: None

    async def __call__(self, key: str) -> Any:
        done = self.does(key)
        return await done if isinstance(done, Awaitable) else done


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def syncs() -> Syncs:
    return Syncs()


@pytest.fixture
def pods() -> FakeInformer:
    informer = FakeInformer()
    informer.name = "pods"  # type: ignore[attr-defined]
    return informer


@pytest.fixture
async def controller(clock: FakeClock, syncs: Syncs, pods: FakeInformer) -> Any:
    controller = Controller("test", syncs, clock=clock).watch(pods)  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(controller.run)
        await quiet()
        yield controller
        tasks.cancel_scope.cancel()


def events(controller: Controller, key: str) -> list[str]:
    return [run.trigger.event for run in controller.history.runs(key)]


async def in_context(function: Callable[..., object], *args: object) -> None:
    """As an informer calls a handler: in a task of its own."""

    async def call() -> None:
        function(*args)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)


async def test_a_sync_is_remembered_with_the_change_that_caused_it(
    controller: Controller, pods: FakeInformer, clock: FakeClock
) -> None:
    clock.turn(5)
    await in_context(pods.add, pod("a", "7"))
    await quiet()

    (run,) = controller.history.runs("default/a")
    assert run.trigger == Trigger(clock.monotonic(), "added", "pods", "default", "a", "7")
    assert (run.began, run.seconds, run.error) == (clock.monotonic(), 0.0, "")


async def test_each_kind_of_change_is_told_apart(controller: Controller, pods: FakeInformer) -> None:
    await in_context(pods.add, pod("a", "1"))
    await quiet()
    await in_context(pods.update, pod("a", "1"), pod("a", "2"))
    await quiet()
    await in_context(pods.update, pod("a", "2"), pod("a", "2"))
    await quiet()
    await in_context(pods.delete, pod("a", "3"))
    await quiet()

    assert events(controller, "default/a") == ["deleted", "resynced", "updated", "added"]


async def test_a_first_lists_object_is_told_apart_from_a_new_one(controller: Controller) -> None:
    source = Source("pods", EnqueueKeys(controller.queue.add, own_key))
    await in_context(source.on_add, pod("a"), True)
    await quiet()

    assert events(controller, "default/a") == ["listed"]


@pytest.mark.parametrize(
    ("obj", "names"),
    [
        ({"metadata": {"namespace": "n", "name": "a", "resourceVersion": "4"}}, ("n", "a", "4")),
        (DeletedFinalStateUnknown("n/a", pod("a", "4")), ("default", "a", "4")),
        (DeletedFinalStateUnknown("n/a", None), ("", "n/a", "")),
        (SimpleNamespace(name="a"), ("", "", "")),
    ],
)
async def test_what_changed_is_named_whatever_the_object_is_made_of(obj: Any, names: tuple[str, str, str]) -> None:
    source = Source("pods", ResourceEventHandlerFuncs())
    await in_context(source.on_delete, obj)

    assert source.trigger("key", 1.0) == (1.0, "deleted", "pods", *names)


async def test_a_key_that_code_adds_was_asked_for(controller: Controller) -> None:
    controller.queue.add("default/a")
    await quiet()

    assert events(controller, "default/a") == ["asked"]


async def test_a_failure_is_remembered_and_the_retry_that_follows_is_called_one(
    controller: Controller, clock: FakeClock, syncs: Syncs
) -> None:
    def fail(key: str) -> None:
        raise SyncError("no room")

    syncs.does = fail
    controller.queue.add("default/a")
    await quiet()
    assert [run.error for run in controller.history.runs("default/a")] == ["no room"]
    assert controller.history.failing == 1
    assert controller.queue.due_in("default/a") == pytest.approx(0.005)

    syncs.does = lambda key: None
    await turn(clock, 0.005)

    assert events(controller, "default/a") == ["retry", "asked"]
    assert [run.error for run in controller.history.runs("default/a")] == ["", "no room"]
    assert controller.history.failing == 0
    assert (controller.history.syncs, controller.history.errors, controller.history.retries) == (2, 1, 1)


async def test_a_retry_names_the_object_of_the_first_failed_sync(
    controller: Controller, pods: FakeInformer, clock: FakeClock, syncs: Syncs
) -> None:
    def fail(key: str) -> None:
        raise SyncError("no room")

    syncs.does = fail
    await in_context(pods.add, pod("a", "7"))
    await turn(clock, 5)

    triggers = [run.trigger for run in controller.history.runs("default/a")]
    assert {(it.event, it.informer, it.name, it.version) for it in triggers} == {("retry", "pods", "a", "7")}


async def test_a_sync_that_was_to_come_again_after_a_while_is_due(
    controller: Controller, clock: FakeClock, syncs: Syncs
) -> None:
    syncs.does = lambda key: 30.0
    controller.queue.add("default/a")
    await quiet()
    assert controller.queue.due_in("default/a") == 30.0
    assert controller.queue.waiting == 1

    await turn(clock, 30)
    assert events(controller, "default/a") == ["due", "asked"]
    assert controller.history.retries == 0


async def test_a_handlers_delay_keeps_the_change_that_caused_it(clock: FakeClock) -> None:
    history = History(clock)
    queue = NotedQueue("q", history, clock=clock)
    later = Source("pods", ResourceEventHandlerFuncs(add=lambda _: queue.add_after("default/job", 10)))
    await in_context(later.on_add, pod("x", "3"), False)
    await in_context(later.on_add, pod("y", "4"), False)
    await turn(clock, 10)

    assert history.queued("default/job") == Trigger(clock.monotonic(), "added", "pods", "default", "x", "3")


async def test_a_handlers_timer_does_not_mark_the_keys_of_others(clock: FakeClock) -> None:
    history = History(clock)
    queue = NotedQueue("q", history, clock=clock)
    queue.add_after("default/other", 12)
    later = Source("pods", ResourceEventHandlerFuncs(add=lambda _: queue.add_after("default/job", 10)))
    await in_context(later.on_add, pod("x"), False)
    await turn(clock, 12)

    trigger = history.queued("default/other")
    assert trigger is not None
    assert (trigger.event, trigger.name) == ("due", "")


async def test_a_handler_that_awaits_is_told_apart_from_those_that_run_meanwhile(clock: FakeClock) -> None:
    history = History(clock)
    queue = NotedQueue("q", history, clock=clock)
    first, second = anyio.Event(), anyio.Event()

    async def slow(_: V1Pod) -> None:
        first.set()
        await second.wait()
        queue.add("slow")

    source = Source("pods", ResourceEventHandlerFuncs(add=slow))

    async def told() -> None:
        await source.on_add(pod("a"), False)  # type: ignore[misc]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(told)
        await first.wait()
        await in_context(Source("nodes", ResourceEventHandlerFuncs(add=lambda _: queue.add("quick"))).on_add, 1, False)
        second.set()

    informers = {key: trigger.informer for key in ("slow", "quick") if (trigger := history.queued(key)) is not None}
    assert informers == {"slow": "pods", "quick": "nodes"}


async def test_a_key_that_is_in_the_queue_already_keeps_its_first_trigger(clock: FakeClock) -> None:
    history = History(clock)
    queue = NotedQueue("q", history, clock=clock)
    source = Source("pods", EnqueueKeys(queue.add, own_key))
    await in_context(source.on_add, pod("a", "1"), False)
    clock.turn(3)
    await in_context(source.on_update, pod("a", "1"), pod("a", "2"))

    trigger = history.queued("default/a")
    assert trigger is not None
    assert (trigger.event, trigger.version) == ("added", "1")
    assert history.oldest == 3


async def test_a_change_during_a_sync_is_the_trigger_of_the_next_one(
    controller: Controller, pods: FakeInformer, syncs: Syncs, clock: FakeClock
) -> None:
    go_on = anyio.Event()
    syncs.does = lambda key: go_on.wait()
    await in_context(pods.add, pod("a", "1"))
    await quiet()
    clock.turn(2)
    await in_context(pods.update, pod("a", "1"), pod("a", "2"))

    running = controller.history.running("default/a")
    assert running is not None
    assert (running[0].version, running[1]) == ("1", 2.0)
    assert controller.history.longest_running == 2
    go_on.set()
    await quiet()

    assert events(controller, "default/a") == ["updated", "added"]
    assert [run.seconds for run in controller.history.runs("default/a")] == [0.0, 2.0]
    assert controller.history.times() == [2.0, 0.0]
    assert controller.history.waits() == [0.0, 0.0]
    assert controller.history.longest_running == 0


async def test_only_the_last_runs_of_the_last_keys_are_remembered(controller: Controller) -> None:
    for _ in range(RUNS + 2):
        controller.queue.add("default/often")
        await quiet()
    assert len(controller.history.runs("default/often")) == RUNS

    for number in range(KEYS):
        controller.queue.add(f"default/{number}")
    await quiet()
    while controller.history.syncs < KEYS + RUNS + 2:
        await quiet()

    assert controller.history.runs("default/often") == []
    assert len(controller.history.keys()) == KEYS
    assert len(controller.history.times()) == len(controller.history.waits()) == SAMPLE


async def test_a_failing_key_is_remembered_while_many_others_succeed(
    controller: Controller, syncs: Syncs, clock: FakeClock
) -> None:
    def fail(key: str) -> None:
        if key == "default/bad":
            raise SyncError("no room")

    syncs.does = fail
    controller.queue.add("default/bad")
    await quiet()
    for number in range(KEYS + 10):
        controller.queue.add(f"default/{number}")
    while controller.history.syncs < KEYS + 11:
        await quiet()

    assert [run.error for run in controller.history.runs("default/bad")] == ["no room"]
    assert controller.history.failing == 1
    assert controller.history.failed_last(5) == [("default/bad", controller.history.runs("default/bad")[0])]


async def test_failing_keys_are_counted_even_if_their_runs_are_forgotten(controller: Controller, syncs: Syncs) -> None:
    def fail(key: str) -> None:
        raise SyncError("no room")

    syncs.does = fail
    names = [f"default/{number}" for number in range(KEYS + 10)]
    for name in names:
        controller.queue.add(name)
    while controller.history.syncs < len(names):
        await quiet()
    assert controller.history.failing == KEYS + 10
    assert controller.history.runs(names[0]) == []

    syncs.does = lambda key: None
    for name in names:
        controller.queue.add(name)
    while controller.history.syncs < 2 * len(names):
        await quiet()
    assert controller.history.failing == 0


async def test_a_retry_is_called_one_even_if_the_failure_is_forgotten(
    controller: Controller, syncs: Syncs, clock: FakeClock
) -> None:
    def fail(key: str) -> None:
        raise SyncError("no room")

    syncs.does = fail
    for number in range(KEYS + 10):
        controller.queue.add(f"default/{number}")
    while controller.history.syncs < KEYS + 10:
        await quiet()
    syncs.does = lambda key: None
    await turn(clock, 0.005)

    assert controller.history.runs("default/0")[0].trigger.event == "retry"


async def test_the_keys_that_took_longest_are_told_the_slowest_first(
    controller: Controller, syncs: Syncs, clock: FakeClock
) -> None:
    syncs.does = lambda key: clock.sleep(float(key))
    for seconds in ("3", "20", "1", "7"):
        controller.queue.add(seconds)
    await turn(clock, 60)

    slowest = [(key, run.seconds) for key, run in controller.history.slowest(2)]
    assert slowest == [("20", 20.0), ("7", 7.0)]


async def test_a_sync_that_is_cancelled_is_no_success(clock: FakeClock) -> None:
    async def sync(key: str) -> None:
        await anyio.sleep_forever()

    controller = Controller("test", sync, clock=clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(controller.run)
        controller.queue.add("a")
        await quiet()
        tasks.cancel_scope.cancel()

    (run,) = controller.history.runs("a")
    assert "Cancelled" in run.error


def test_an_error_is_cut_to_a_bounded_length(clock: FakeClock) -> None:
    history = History(clock, NoMetrics())
    queue = NotedQueue("q", history, clock=clock)
    queue.add("a")
    history.ended(queue.get_nowait(), "x" * 100_000)

    assert len(history.runs("a")[0].error) == 300


async def test_what_is_remembered_keeps_no_object_alive(clock: FakeClock) -> None:
    class Watched:
        def __init__(self, name: str) -> None:
            self.metadata = V1ObjectMeta(name=name, namespace="default", resource_version="1")

    history = History(clock)
    queue = NotedQueue("q", history, clock=clock)
    source = Source("pods", EnqueueKeys(queue.add, lambda obj: (obj.metadata.name,)))
    one = Watched("a")
    gone = weakref.ref(one)
    await in_context(source.on_add, one, False)
    del one
    await in_context(source.on_add, Watched("b"), False)
    gc.collect()

    assert history.queued("a") == Trigger(clock.monotonic(), "added", "pods", "default", "a", "1")
    assert gone() is None


async def test_a_full_history_takes_about_two_megabytes(clock: FakeClock) -> None:
    history = History(clock, NoMetrics())
    queue = NotedQueue("q", history, clock=clock)
    source = Source("pods", EnqueueKeys(queue.add, own_key))
    for error in ("", "the quota is exceeded: " * 6):
        for number in range(KEYS):
            for version in range(RUNS):
                clock.turn(1.5)
                obj = pod(f"a-deployment-7b5df-{error[:1]}{number}", str(10_000_000 + version))
                copy_context().run(source.on_add, obj, False)
                history.ended(queue.get_nowait(), f"{error}{number}" if error else "")
                queue.done(f"default/a-deployment-7b5df-{error[:1]}{number}")

    assert len(history.keys()) == 2 * KEYS
    assert _size(history._well) + _size(history._failing) < 2_500_000


def _size(root: Any) -> int:
    seen: set[int] = set()
    total, left = 0, [root]
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            total += sys.getsizeof(one)
            if isinstance(one, dict):
                left += [*one, *one.values()]
            elif isinstance(one, tuple):
                left += one
    return total


def test_metrics_call_a_handler_as_if_nothing_stood_before_it() -> None:
    handler = EnqueueKeys(lambda key: None, own_key)

    assert name_for_handler(Source("pods", handler)) == name_for_handler(handler)


async def test_an_informer_tells_the_trigger_through_its_own_tasks(clock: FakeClock, syncs: Syncs) -> None:
    server = FakeControllerSource(V1Pod)
    informer = SharedIndexInformer(server, V1Pod, name="pods", clock=clock)
    controller = Controller("test", syncs, clock=clock).watch(informer)
    server.add(pod("first"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(informer.run)
        tasks.start_soon(controller.run)
        await quiet()
        server.add(pod("second"))
        await quiet()
        tasks.cancel_scope.cancel()

    triggers = {key: controller.history.runs(key)[0].trigger for key in ("default/first", "default/second")}
    assert [(it.event, it.informer, it.name) for it in triggers.values()] == [
        ("listed", "pods", "first"),
        ("added", "pods", "second"),
    ]
