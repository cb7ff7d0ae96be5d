"""What wakes a Deployment, and what a sync decides, with nothing that runs by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.models import V1Deployment, V1LabelSelector, V1OwnerReference, V1Pod, V1ReplicaSet
from kinformer_controllers.deployment.controller import DeploymentController
from kinformer_controllers.deployment.rollout import Rollout
from kinformer_controllers.deployment.steps import clean_up, old_pods_run
from tests.controllers.deployment.making import make_deployment, make_replica_set
from tests.controllers.objects import FakeContext, FakeInformers, FakeRecorder, FakeServer, drained, make_pod

NOW = FakeClock().now()


class World:
    """A controller with its handlers; tests put objects into its caches."""

    def __init__(self, *deployments: V1Deployment) -> None:
        self.informers = FakeInformers()
        self.recorder = FakeRecorder()
        self.server = FakeServer()
        self.controller = DeploymentController(
            FakeContext(self.server, self.informers, self.recorder, clock=FakeClock())
        )
        for each in deployments:
            self.cache(V1Deployment).add(each)

    def cache(self, type_: type[Any]) -> Any:
        return self.informers.informer_for(type_).indexer

    def queued(self) -> list[str]:
        """What was asked to be synced since this was asked last."""
        return sorted(drained(self.controller.controller.queue))


def owned(obj: Any, owner: Any, kind: str) -> Any:
    meta = owner.metadata
    obj.metadata.owner_references = [
        V1OwnerReference(api_version="apps/v1", kind=kind, name=meta.name, uid=meta.uid, controller=True)
    ]
    return obj


def own_replica_set(deployment: V1Deployment, name: str = "web-1", replicas: int = 1) -> V1ReplicaSet:
    found: V1ReplicaSet = owned(make_replica_set(name, replicas, labels={"app": "web"}), deployment, "Deployment")
    return found


def test_a_replica_set_wakes_the_deployment_that_owns_it() -> None:
    deployment = make_deployment()
    world = World(deployment)
    handler = world.controller.replica_set_handler
    replica_set, changed = own_replica_set(deployment), own_replica_set(deployment)
    changed.metadata.resource_version = "2"

    handler.on_add(replica_set, False)
    assert world.queued() == ["ns/web"]
    handler.on_update(replica_set, changed)
    assert world.queued() == ["ns/web"]
    handler.on_delete(changed)
    assert world.queued() == ["ns/web"]
    handler.on_add(owned(make_replica_set("other", 1), make_replica_set("x", 1), "Deployment"), False)
    assert world.queued() == []


def test_an_orphan_wakes_the_deployments_that_match_it() -> None:
    everything = make_deployment()
    everything.metadata.name, everything.spec.selector = "all", V1LabelSelector()
    world = World(make_deployment(), everything)
    handler = world.controller.replica_set_handler
    orphan, other = make_replica_set("a", 1, labels={"app": "web"}), make_replica_set("a", 1, labels={"app": "db"})
    other.metadata.resource_version = "2"

    handler.on_add(orphan, False)
    assert world.queued() == ["ns/web"]
    handler.on_add(other, False)
    assert world.queued() == []
    handler.on_update(other, orphan)
    assert world.queued() == ["ns/web"]


@pytest.mark.parametrize(
    ("strategy", "left", "woken"), [("Recreate", 0, True), ("Recreate", 1, False), ("RollingUpdate", 0, False)]
)
def test_the_end_of_the_last_pod_wakes_a_deployment_that_recreates(strategy: str, left: int, woken: bool) -> None:
    deployment = make_deployment(strategy=strategy)
    world, replica_set = World(deployment), own_replica_set(deployment)
    world.cache(V1ReplicaSet).add(replica_set)
    for index in range(left):
        world.cache(V1Pod).add(owned(make_pod(f"left-{index}"), replica_set, "ReplicaSet"))

    woke = world.controller.recreated_after(owned(make_pod("gone"), replica_set, "ReplicaSet"))

    assert woke == (["ns/web"] if woken else [])


def test_pods_of_others_do_not_keep_it_asleep() -> None:
    deployment = make_deployment(strategy="Recreate")
    world, replica_set = World(deployment), own_replica_set(deployment)
    stranger = make_replica_set("stranger", 1, labels={"app": "web"})
    for each in (replica_set, stranger):
        world.cache(V1ReplicaSet).add(each)
    world.cache(V1Pod).add(owned(make_pod("strangers"), stranger, "ReplicaSet"))

    after = world.controller.recreated_after
    assert after(make_pod("orphan")) == []
    assert after(owned(make_pod("strangers"), stranger, "ReplicaSet")) == []
    assert after(owned(make_pod("gone"), replica_set, "ReplicaSet")) == ["ns/web"]


async def test_a_selector_of_everything_is_told_of_and_nothing_is_done() -> None:
    deployment = make_deployment()
    deployment.spec.selector = V1LabelSelector()
    world = World(deployment)

    await world.controller.sync("ns/web")

    told = "Warning SelectingAll web: This deployment is selecting all pods. A non-empty selector is required."
    assert world.recorder.events == [told]
    assert [each.observed_generation for each in world.server.statuses] == [1]


@pytest.mark.parametrize(
    ("spec", "deleted", "again"),
    [({}, False, 61.0), ({"paused": True}, False, None), ({}, True, None), ({"selector": {}}, False, None)],
    ids=["rolls out", "paused", "deleted", "selects all"],
)
async def test_a_deadline_is_waited_for_only_during_a_rollout(
    spec: dict[str, Any], deleted: bool, again: float | None
) -> None:
    reason = "DeploymentPaused" if spec.get("paused") else "ReplicaSetUpdated"
    since = (NOW - timedelta(seconds=60)).isoformat()
    progressing = {"type": "Progressing", "status": "Unknown", "reason": reason, "lastUpdateTime": since}
    status = {"conditions": [progressing | {"lastTransitionTime": since}]}
    deployment = make_deployment(1, progressDeadlineSeconds=60, status=status, **spec)
    deployment.metadata.deletion_timestamp = NOW if deleted else None
    world = World(deployment)
    replica_set = own_replica_set(deployment)
    replica_set.metadata.annotations = {
        f"deployment.kubernetes.io/{name}": "1" for name in ("revision", "desired-replicas", "max-replicas")
    }
    world.cache(V1ReplicaSet).add(replica_set)

    assert await world.controller.sync("ns/web") == again


async def test_a_deployment_that_is_gone_is_nothing_to_do() -> None:
    assert await World().controller.sync("ns/web") is None


class Deleted:
    """Notes what is deleted."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def delete(self, replica_set: V1ReplicaSet) -> None:
        self.names.append(replica_set.metadata.name)


@pytest.mark.parametrize(
    ("limit", "gone"), [(0, ["a", "b", "c"]), (1, ["a", "b"]), (3, []), (10, []), (2**31 - 1, []), (None, [])]
)
async def test_what_is_used_or_wanted_for_history_is_kept(limit: int | None, gone: list[str]) -> None:
    def old(name: str, revision: int, replicas: int = 0, **status: Any) -> V1ReplicaSet:
        annotations = {"deployment.kubernetes.io/revision": str(revision)}
        return make_replica_set(name, replicas, image=name, annotations=annotations, status=status)

    sets = [old("c", 3), old("a", 1), old("b", 2)]
    writer: Any = Deleted()
    deployment = make_deployment(revisionHistoryLimit=limit)

    await clean_up(writer, Rollout(deployment, sets, None, NOW))
    assert writer.names == gone

    writer.names.clear()
    going = old("going", 1)
    going.metadata.deletion_timestamp = NOW
    in_use = [old("large", 1, 2), old("busy", 1, replicas=0), old("unseen", 1, observedGeneration=0), going]
    in_use[1].status.replicas = 1
    await clean_up(writer, Rollout(deployment, in_use, None, NOW))
    assert writer.names == []


def test_old_pods_that_have_ended_do_not_run() -> None:
    deployment = make_deployment(strategy="Recreate")
    new, old = make_replica_set("new", 1), make_replica_set("old", 0, image="img:0")
    rollout = Rollout(deployment, [new, old], None, NOW)

    assert not old_pods_run(rollout, {})
    assert not old_pods_run(rollout, {"uid-new": [make_pod("a")], "uid-old": []})
    for phase, runs in (
        ("Failed", False),
        ("Succeeded", False),
        ("Unknown", True),
        ("Pending", True),
        ("Running", True),
    ):
        assert old_pods_run(rollout, {"uid-old": [make_pod("a", phase=phase)]}) is runs
    old.status.replicas = 1
    assert old_pods_run(rollout, {})
