"""The controller with a manager, against the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import REGISTRY

from kinformer.client import DeleteOptions
from kinformer.models import V1PersistentVolumeClaim, V1Pod, from_dict
from kinformer_controllers.ephemeralvolume.controller import EphemeralVolumes
from tests.controllers.nodes import Cluster, cluster

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
FAILURES = "ephemeral_volume_controller_create_failures_total"
ATTEMPTS = "ephemeral_volume_controller_create_total"


@asynccontextmanager
async def with_controller() -> AsyncIterator[Cluster]:
    async with cluster({"ephemeral-volume": EphemeralVolumes}) as world:
        yield world


async def make_pod(world: Cluster, name: str = "p", *volumes: str) -> V1Pod:
    scratch = [{"name": volume, "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}} for volume in volumes or ("v",)]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "other", "emptyDir": {}}, *scratch]}
    pod = from_dict(V1Pod, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    return await world.client.resource(V1Pod).create(pod)


async def make_claim(world: Cluster, name: str, **metadata: Any) -> None:
    body = {"metadata": {"name": name, "namespace": "default", **metadata}, "spec": CLAIM}
    await world.client.resource(V1PersistentVolumeClaim).create(from_dict(V1PersistentVolumeClaim, body))


async def remove_claim(world: Cluster, name: str) -> None:
    claims = world.client.resource(V1PersistentVolumeClaim)
    await claims.delete(name, "default")
    await claims.patch(name, {"metadata": {"finalizers": None}}, "default")
    assert name not in await owners(world)


def _makes_claim(call: Any) -> bool:
    return call.verb == "create" and call.resource == "persistentvolumeclaims"


async def owners(world: Cluster) -> dict[str, list[str]]:
    """The uids of the owners of each claim."""
    claims = (await world.client.resource(V1PersistentVolumeClaim).list("default")).items
    return {it.metadata.name: [one.uid for one in it.metadata.owner_references or ()] for it in claims}


async def test_a_claim_that_is_deleted_is_made_again() -> None:
    async with with_controller() as world:
        pod = await make_pod(world, "p", "v", "w")
        await world.turn(1)
        await remove_claim(world, "p-v")
        await world.turn(1)

        assert await owners(world) == {"p-v": [pod.metadata.uid], "p-w": [pod.metadata.uid]}


async def test_no_claim_is_made_for_a_pod_that_is_being_deleted() -> None:
    async with with_controller() as world:
        await make_pod(world)
        await world.turn(1)
        pods = world.client.resource(V1Pod)
        await pods.patch("p", {"metadata": {"finalizers": ["example.com/stay"]}}, "default")
        await pods.delete("p", "default")
        await world.turn(60)
        assert (await world.pod("p")).metadata.deletion_timestamp is not None
        await remove_claim(world, "p-v")
        await world.turn(1)

        assert await owners(world) == {}


async def test_a_claim_of_somebody_else_is_left_and_told_of() -> None:
    async with with_controller() as world:
        await make_claim(world, "p-v")
        await make_claim(world, "p-w", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "old"}])
        await make_pod(world, "p", "v")
        await world.turn(1)

        why = "PVC default/p-v was not created for pod default/p (pod is not owner)"
        assert set(await world.events("FailedBinding")) == {f"ephemeral volume v: {why}"}
        assert await owners(world) == {"p-v": [], "p-w": ["old"]}


async def test_a_pod_that_replaced_another_one_unseen_gets_its_claims() -> None:
    async with with_controller() as world:
        await make_pod(world)
        await world.turn(1)
        pods = world.client.resource(V1Pod)
        faults = world.server.faults
        faults.stall_watches()
        await pods.delete("p", "default", DeleteOptions(grace_period_seconds=0))
        pod = await make_pod(world, "p", "w")
        # What happened meanwhile is forgotten: the next list shows another pod.
        faults.compact()
        faults.cut_watches()
        faults.resume_watches()
        await world.turn(60)

        assert (await owners(world))["p-w"] == [pod.metadata.uid]


async def test_a_claim_that_the_server_refuses_is_told_of_and_counted() -> None:
    async with with_controller() as world:
        before = [REGISTRY.get_sample_value(name) or 0.0 for name in (ATTEMPTS, FAILURES)]
        world.server.faults.refuse(403, matching=_makes_claim)
        await make_pod(world)
        await world.turn(0)

        assert await world.events("FailedBinding") == ["ephemeral volume v: create PVC p-v: injected fault: 403"]
        after = [REGISTRY.get_sample_value(name) or 0.0 for name in (ATTEMPTS, FAILURES)]
        assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1]
