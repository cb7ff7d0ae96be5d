"""An informer from its start to its end, and how it follows its server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.cache import (
    InformerOptions,
    InformerStateError,
    ResourceEventHandlerFuncs,
    SharedIndexInformer,
)
from kinformer.cache.metrics import _Living
from kinformer.cache.options import QueueKind
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import WatchEvent
from kinformer.client.types import INITIAL_EVENTS_ANNOTATION
from kinformer.clock import FakeClock
from kinformer.meta import GroupVersionResource
from kinformer.models import V1Pod, V1PodSpec, decoder_for, encode, from_dict
from tests.cache.informers import KINDS, Scene, Told, running, short
from tests.cache.scripted import ScriptedListerWatcher, obj, settle, status_error
from tests.golden.adapters import shared_informer as golden
from tests.golden.run import read_cases
from tests.metrics import metric_value


def labels_of(o: Any) -> list[str]:
    return list(o["metadata"].get("labels", ()))


def labelled(name: str, *labels: str) -> dict[str, Any]:
    made = obj(name, 0)
    made["metadata"]["labels"] = dict.fromkeys(labels, "x")
    return made


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


def test_metrics_keep_nothing_of_what_is_gone() -> None:
    class Listener:
        pass

    listeners = _Living[Listener]()
    stays, goes = Listener(), Listener()
    listeners.add(stays)
    listeners.add(goes)

    del goes

    assert len(listeners._references) == 1
    assert [found for found, _ in listeners.list()] == [stays]
