"""Garbage goes: terminated pods that are too many, pods of nodes that are gone, pods that nobody will end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from kinformer.models import V1Node, V1Pod, from_dict
from kinformer_controllers.podgc.controller import CHECK_PERIOD, QUARANTINE, PodGCController
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, conflict, forbidden, not_found
from tests.metrics import metric_value
from tests.turning import turn

START = datetime(2026, 1, 1, tzinfo=UTC)
OUT_OF_SERVICE = ("node.kubernetes.io/out-of-service", "NoExecute")


class World(Cluster):
    """
    :param threshold: how many terminated pods may stay
    """

    def __init__(self, threshold: int = -1) -> None:
        super().__init__()
        self.gc = PodGCController(
            FakeContext(self.client, self.informers, clock=self.clock, terminated_pod_gc_threshold=threshold)
        )
        self._made = 0
        self.on_delete: Callable[[], object] = lambda: None

    def forget(self, type_: type[Any], key: str) -> None:
        super().forget(type_, key)
        self.on_delete()

    def pod(
        self, name: str, phase: str = "Running", node: str = "n", *, reason: str = "", deleting: bool = False
    ) -> V1Pod:
        self._made += 1
        metadata: dict[str, Any] = {"name": name, "namespace": "ns", "generation": 3}
        metadata["creationTimestamp"] = _stamp(START + timedelta(hours=self._made))
        if deleting:
            metadata["deletionTimestamp"] = _stamp(START)
        spec = {"containers": [], "nodeName": node or None}
        status = {"phase": phase, "reason": reason or None}
        pod = from_dict(V1Pod, {"metadata": metadata, "spec": spec, "status": status})
        self.put(pod)
        return pod

    def node(self, name: str = "n", *, ready: str = "True", taints: tuple[tuple[str, str], ...] = ()) -> V1Node:
        listed = [{"key": key, "effect": effect} for key, effect in taints]
        status = {"conditions": [{"type": "Ready", "status": ready}]}
        node = from_dict(V1Node, {"metadata": {"name": name}, "spec": {"taints": listed}, "status": status})
        self.put(node)
        return node

    async def sync(self) -> float:
        return await self.gc.sync("pods")

    async def sync_after_quarantine(self) -> None:
        await self.sync()
        await turn(self.clock, QUARANTINE)
        await self.sync()

    @property
    def deleted(self) -> list[str]:
        return [request.rpartition("/")[2] for request in self.requests if request.startswith("delete")]

    @property
    def patched(self) -> list[str]:
        return [request.rpartition("/")[2] for request in self.requests if request.startswith("patch")]


def _stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("threshold", "phases", "deleted"),
    [
        (0, "Failed Succeeded", ""),
        (1, "Failed Succeeded Failed", "a b"),
        (1, "Running Succeeded Failed", "b"),
        (1, "Failed Succeeded", "a"),
        (5, "Failed Succeeded", ""),
        (1, "Failed Succeeded Evicted", "c a"),
        (1, "Running Succeeded Evicted", "c"),
    ],
)
async def test_terminated_pods_above_the_threshold_go_evicted_ones_and_old_ones_first(
    threshold: int, phases: str, deleted: str
) -> None:
    world = World(threshold)
    world.node()
    for name, phase in zip("abc", phases.split(), strict=False):
        world.pod(name, "Failed", reason="Evicted") if phase == "Evicted" else world.pod(name, phase)

    assert await world.sync() == CHECK_PERIOD

    assert world.deleted == deleted.split()
    assert not world.patched  # they have ended: how is not to be changed


async def test_a_pod_without_its_node_goes_after_quarantine_with_a_reason() -> None:
    world = World()
    pod = world.pod("a", node="gone")

    await world.sync()
    assert not world.requests

    await turn(world.clock, QUARANTINE)
    await world.sync()
    assert world.requests == ["get Node gone", "patch Pod ns/a", "delete Pod ns/a"]
    condition = world.sent[1]["status"]["conditions"][0]
    assert world.sent[1]["metadata"] == {"uid": pod.metadata.uid}
    assert world.sent[1]["status"]["phase"] == "Failed"
    assert condition["type"] == "DisruptionTarget"
    assert condition["status"] == "True"
    assert condition["reason"] == "DeletionByPodGC"
    assert condition["message"] == "PodGC: node no longer exists"
    assert condition["observedGeneration"] == 3
    assert world.sent[2].grace_period_seconds == 0
    assert world.sent[2].preconditions.uid == pod.metadata.uid


async def test_an_ended_pod_on_a_missing_node_goes_as_it_is() -> None:
    world = World()
    world.pod("failed", "Failed", node="gone")
    world.pod("succeeded", "Succeeded", node="gone")

    await world.sync_after_quarantine()

    assert world.deleted == ["failed", "succeeded"]
    assert not world.patched


async def test_pods_whose_node_is_cached_or_on_the_server_stay() -> None:
    world = World()
    world.node("cached")
    unheard_of = world.node("served")
    world.uncache(unheard_of)
    world.pod("a", node="cached")
    world.pod("b", node="served")

    await world.sync_after_quarantine()

    assert world.requests == ["get Node served"]


async def test_a_node_that_comes_during_its_quarantine_keeps_its_pods() -> None:
    world = World()
    world.pod("a", node="late")
    await world.sync()
    world.node("late")

    await turn(world.clock, QUARANTINE)
    await world.sync()

    assert not world.requests
    assert not len(world.gc.quarantine)


async def test_missing_nodes_wait_in_kubernetes_queue() -> None:
    def adds() -> float:
        return metric_value("workqueue_adds_total", {"name": "orphaned_pods_nodes"}) or 0

    world = World()
    world.pod("a", node="gone")
    before = adds()
    await world.sync()
    assert adds() == before

    await turn(world.clock, QUARANTINE)

    assert adds() == before + 1


async def test_a_node_that_was_there_begins_a_quarantine_when_it_goes() -> None:
    world = World()
    node = world.node("leaving")
    world.pod("a", node="leaving")
    await world.sync_after_quarantine()
    assert not world.requests
    world.uncache(node)
    world.forget(V1Node, "leaving")

    await world.sync_after_quarantine()

    assert world.deleted == ["a"]


async def test_if_the_server_is_silent_pods_stay_for_another_quarantine() -> None:
    world = World()
    world.pod("a", node="gone")
    world.errors["get Node"] = [forbidden("no")]

    await world.sync_after_quarantine()
    assert not world.deleted
    await world.sync_after_quarantine()
    assert world.deleted == ["a"]


async def test_without_nodes_and_pods_there_is_nothing_to_do() -> None:
    world = World(1)

    await world.sync_after_quarantine()

    assert not world.requests


async def test_a_pod_that_is_being_deleted_and_was_never_scheduled_goes() -> None:
    world = World()
    world.node()
    for name, phase in (("a", "Failed"), ("b", "Succeeded"), ("c", "Running")):
        world.pod(name, phase, node="", deleting=True)
    world.pod("d", "Failed", node="")
    world.pod("e", "Running", node="n", deleting=True)

    await world.sync()

    assert world.deleted == ["a", "b", "c"]
    assert world.patched == ["c"]


async def test_deleting_pods_go_from_unready_nodes_out_of_service() -> None:
    world = World()
    world.node("dead", ready="False", taints=(OUT_OF_SERVICE,))
    world.node("unknown", ready="Unknown", taints=((OUT_OF_SERVICE[0], "NoSchedule"),))
    world.node("not-ready", ready="False")
    world.node("alive", taints=(OUT_OF_SERVICE,))
    for node in ("dead", "unknown", "not-ready", "alive"):
        world.pod(f"{node}-stays", node=node)
        world.pod(f"{node}-goes", node=node, deleting=True)
    world.pod("ended", "Succeeded", node="dead", deleting=True)

    await world.sync()

    assert world.deleted == ["dead-goes", "ended", "unknown-goes"]
    assert world.patched == ["dead-goes", "unknown-goes"]


async def test_pods_of_a_node_that_the_server_says_is_in_service_stay() -> None:
    world = World()
    old = world.node("repaired", ready="False", taints=(OUT_OF_SERVICE,))
    world.node("repaired")
    world.cache(old)
    world.pod("a", node="repaired", deleting=True)

    await world.sync()

    assert world.requests == ["get Node repaired"]


async def test_a_node_that_returns_while_other_orphans_are_deleted_keeps_its_pods() -> None:
    world = World()
    world.pod("a", node="gone")
    world.pod("b", node="returns")
    world.on_delete = lambda: world.uncache(world.node("returns"))

    await world.sync_after_quarantine()

    assert world.deleted == ["a"]


async def test_lost_pods_go_one_after_the_other() -> None:
    world = World()
    for name in "abc":
        world.pod(name, node="gone")
        world.pod(f"unscheduled-{name}", node="", deleting=True)
    pods: Any = world.gc._pods
    running = [0]
    delete = pods.delete

    async def slowly(*args: Any) -> None:
        running.append(running[-1] + 1)
        await checkpoint()
        await delete(*args)
        running.append(running[-1] - 1)

    pods.delete = slowly
    await world.sync_after_quarantine()

    assert len(world.deleted) == 6
    assert max(running) == 1


async def test_terminated_pods_are_not_counted_from_a_cache_that_is_behind() -> None:
    world = World(1)
    world.node()
    for name in "abc":
        world.pod(name, "Failed")
    world.informers.informer_for(V1Pod).is_current = False

    await world.sync()
    assert not world.deleted

    world.informers.informer_for(V1Pod).is_current = True
    await world.sync()
    assert world.deleted == ["a", "b"]


async def test_an_undeletable_pod_is_counted_and_blocks_no_other() -> None:
    world = World()
    world.pod("a", node="", deleting=True)
    world.pod("b", node="", deleting=True)
    world.errors["patch Pod"] = [forbidden("no")]
    labels = {"namespace": "ns", "reason": "unscheduled"}
    errors = _counted("force_delete_pod_errors_total", labels)
    tries = _counted("force_delete_pods_total", labels)

    await world.sync()

    assert world.deleted == ["b"]
    assert _counted("force_delete_pod_errors_total", labels) == errors + 1
    assert _counted("force_delete_pods_total", labels) == tries + 2


@pytest.mark.parametrize("error", [not_found(), conflict()])
async def test_a_pod_that_is_gone_or_was_made_anew_is_no_error(error: Exception) -> None:
    world = World()
    world.pod("a", node="", deleting=True)
    world.errors["patch Pod"] = [error]
    errors = _counted("force_delete_pod_errors_total", {"namespace": "ns", "reason": "unscheduled"})

    await world.sync()

    assert not world.deleted
    assert _counted("force_delete_pod_errors_total", {"namespace": "ns", "reason": "unscheduled"}) == errors


def _counted(name: str, labels: dict[str, str]) -> float:
    return metric_value(f"pod_gc_collector_{name}", labels) or 0.0
