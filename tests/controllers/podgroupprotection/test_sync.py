"""A PodGroup that is being deleted stays until no pod of it is left that has not ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.client import DeleteOptions, NotFound
from kinformer.controllerutil.pods import is_pod_terminal
from kinformer.manager import ControllerContext, ControllerDisabled
from kinformer.models import V1alpha2PodGroup, V1Pod, from_dict
from kinformer_controllers.podgroupprotection.controller import (
    FINALIZER,
    PodGroupProtection,
)
from kinformer_controllers.shared.devices import groups_of_pod
from kinformer_controllers.shared.protection import FreedHandler
from tests.controllers.cluster import Cluster as FakeCluster
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import FakeContext

AT_ONCE = DeleteOptions(grace_period_seconds=0)


def a_group(name: str = "g", *finalizers: str, **metadata: Any) -> V1alpha2PodGroup:
    metadata |= {"name": name, "namespace": "default", "finalizers": list(finalizers)}
    return from_dict(V1alpha2PodGroup, {"metadata": metadata, "spec": {"schedulingPolicy": {"basic": {}}}})


def a_pod(name: str, group: str = "g", phase: str = "Running", namespace: str = "default") -> V1Pod:
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGroup": {"podGroupName": group} if group else None}
    metadata = {"name": name, "namespace": namespace}
    return from_dict(V1Pod, {"metadata": metadata, "spec": spec, "status": {"phase": phase}})


@asynccontextmanager
async def world(*finalizers: str) -> AsyncIterator[Cluster]:
    """A cluster with the PodGroup ``g``."""
    make = {"podgroup-protection-controller": PodGroupProtection}
    apis = ("scheduling.k8s.io/v1alpha2",)
    async with cluster(make, {"feature_gates": "GenericWorkload=true"}, apis=apis) as found:
        await found.client.resource(V1alpha2PodGroup).create(a_group("g", *finalizers))
        await found.turn(1)
        yield found


async def finalizers(found: Cluster) -> list[str] | None:
    """The finalizers of the PodGroup ``g``; None if it is gone."""
    try:
        group = await found.client.resource(V1alpha2PodGroup).get("g", "default")
    except NotFound:
        return None
    return group.metadata.finalizers or []


async def delete(found: Cluster) -> None:
    await found.client.resource(V1alpha2PodGroup).delete("g", "default")
    await found.turn(1)


async def make_pod(found: Cluster, name: str, **pod: Any) -> None:
    await found.client.resource(V1Pod).create(a_pod(name, **pod))


async def end_pod(found: Cluster, name: str, phase: str) -> None:
    body = {"status": {"phase": phase}}
    await found.client.resource(V1Pod).patch(name, body, "default", subresource="status")


async def test_a_group_goes_when_its_last_pod_has_ended_or_is_gone() -> None:
    async with world(FINALIZER, "example.com/mine") as found:
        for name in ("ends", "fails", "goes"):
            await make_pod(found, name)
        await delete(found)
        assert await finalizers(found) == [FINALIZER, "example.com/mine"]

        await end_pod(found, "ends", "Succeeded")
        await end_pod(found, "fails", "Failed")
        await found.turn(1)
        assert FINALIZER in (await finalizers(found) or ())

        await found.client.resource(V1Pod).delete("goes", "default", AT_ONCE)
        await found.turn(1)
        assert await finalizers(found) == ["example.com/mine"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_the_last_pod_that_ends_frees_its_group(phase: str) -> None:
    async with world(FINALIZER) as found:
        await make_pod(found, "p")
        await delete(found)
        await end_pod(found, "p", phase)
        await found.turn(1)

        assert await finalizers(found) is None


async def test_pods_of_other_groups_and_of_none_keep_nothing() -> None:
    async with world(FINALIZER) as found:
        await make_pod(found, "other", group="h")
        await make_pod(found, "single", group="")
        await delete(found)

        assert await finalizers(found) is None


async def test_a_group_that_nobody_deletes_is_left_as_it_is() -> None:
    async with world(FINALIZER) as found:
        await make_pod(found, "p")
        await end_pod(found, "p", "Succeeded")
        await found.turn(1)

        assert await finalizers(found) == [FINALIZER]


async def test_a_group_without_the_finalizer_is_not_written() -> None:
    async with world("example.com/mine") as found:
        await delete(found)

        assert await finalizers(found) == ["example.com/mine"]


def test_pods_that_end_or_go_free_their_groups_and_no_others_do() -> None:
    freed: list[str] = []
    handler = FreedHandler(freed.append, groups_of_pod, is_pod_terminal)

    handler.on_add(a_pod("p"), False)
    handler.on_update(a_pod("p", phase="Pending"), a_pod("p"))
    handler.on_delete(a_pod("p", ""))
    assert not freed
    handler.on_add(a_pod("p", "added", "Failed"), True)
    handler.on_update(a_pod("p", "updated"), a_pod("p", "updated", "Succeeded"))
    handler.on_delete(DeletedFinalStateUnknown("default/p", a_pod("p", "deleted")))
    handler.on_delete(DeletedFinalStateUnknown("default/p", None))
    assert freed == ["default/added", "default/updated", "default/deleted"]


def test_a_recreated_pod_frees_its_old_group() -> None:
    freed: list[str] = []
    old, new = a_pod("p", "old"), a_pod("p", "new")
    old.metadata.uid, new.metadata.uid = "1", "2"

    FreedHandler(freed.append, groups_of_pod, is_pod_terminal).on_update(old, new)
    assert freed == ["default/old"]


async def test_a_pod_that_only_the_server_knows_keeps_the_group() -> None:
    world = FakeCluster()
    protection = PodGroupProtection(FakeContext(world.client, world.informers, feature_gates="GenericWorkload=true"))
    world.put(a_group("g", FINALIZER, deletionTimestamp="2026-01-01T00:00:00Z"))
    world.put(a_pod("done", phase="Succeeded"))
    world.put_on_server(a_pod("elsewhere", namespace="other"))
    world.put_on_server(a_pod("new", phase="Pending"))

    await protection.sync("default/g")
    assert world.requests == ["list Pod default"]

    world.forget(V1Pod, "default/new")
    await protection.sync("default/g")
    assert world.requests[1:] == ["list Pod default", "update PodGroup default/g"]


async def test_a_group_that_went_meanwhile_is_no_error() -> None:
    world = FakeCluster()
    protection = PodGroupProtection(FakeContext(world.client, world.informers, feature_gates="GenericWorkload=true"))
    world.cache(a_group("g", FINALIZER, deletionTimestamp="2026-01-01T00:00:00Z"))

    await protection.sync("default/g")
    assert world.requests[-1] == "update PodGroup default/g"


def test_without_its_feature_gate_it_does_not_run() -> None:
    world = FakeCluster()
    with pytest.raises(ControllerDisabled, match="GenericWorkload"):
        PodGroupProtection(ControllerContext(world.client, world.informers))
