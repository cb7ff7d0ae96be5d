"""A claim that is being deleted stays while a pod on a node uses it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.models import V1PersistentVolumeClaim, V1Pod, from_dict
from kinformer_controllers.pvcprotection.controller import FINALIZER, ClaimProtection
from kinformer_controllers.shared.protection import FreedHandler
from kinformer_controllers.shared.volumes.pods import is_pod_done
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, conflict, drained, forbidden, not_found


class World(Cluster):
    def __init__(self) -> None:
        super().__init__()
        self.live: list[V1Pod] = []
        self.list_errors: list[Exception] = []
        self.list_goes_on = anyio.Event()
        self.list_goes_on.set()
        resource = self.client.resource
        self.client.resource = lambda type_: self if type_ is V1Pod else resource(type_)
        self.protection = ClaimProtection(FakeContext(self.client, self.informers, clock=self.clock))

    async def list(self, namespace: str) -> Any:
        self.requests.append(f"list Pod {namespace}")
        live = self.live
        await self.list_goes_on.wait()
        if self.list_errors:
            raise self.list_errors.pop(0)
        return SimpleNamespace(items=live)

    def claim(
        self, name: str = "c", *, deleting: bool = False, protected: bool = True, owner: str = ""
    ) -> V1PersistentVolumeClaim:
        metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
        if protected:
            metadata["finalizers"] = [FINALIZER]
        if deleting:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if owner:
            reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
            metadata["ownerReferences"] = [reference]
        claim = from_dict(V1PersistentVolumeClaim, {"metadata": metadata, "spec": {}})
        self.put(claim)
        return claim

    async def sync(self) -> list[str]:
        await self.protection.sync("ns/c")
        return self.requests

    @property
    def queued(self) -> list[str]:
        return drained(self.protection.controller.queue)


def pod(
    claim: str = "c",
    *,
    node: str = "n",
    phase: str = "Running",
    uid: str = "uid-p",
    ephemeral: bool = False,
    grace: int | None = None,
) -> V1Pod:
    volume: dict[str, Any] = {"name": "c" if ephemeral else "v"}
    volume |= {"ephemeral": {}} if ephemeral else {"persistentVolumeClaim": {"claimName": claim}}
    metadata: dict[str, Any] = {"name": "p", "namespace": "ns", "uid": uid}
    if grace is not None:
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace}
    spec: dict[str, Any] = {"containers": [], "volumes": [{"name": "other", "emptyDir": {}}, volume]}
    if node:
        spec["nodeName"] = node
    return from_dict(V1Pod, {"metadata": metadata, "spec": spec, "status": {"phase": phase}})


async def test_a_claim_gets_the_finalizer() -> None:
    world = World()
    world.claim(protected=False)

    assert await world.sync() == ["update PersistentVolumeClaim ns/c"]
    assert world.sent[0].metadata.finalizers == [FINALIZER]


async def test_a_protected_claim_and_a_deleting_one_without_are_left() -> None:
    for deleting, protected in ((False, True), (True, False)):
        world = World()
        world.claim(deleting=deleting, protected=protected)

        assert await world.sync() == []


async def test_a_claim_that_nobody_uses_loses_it_after_the_server_was_asked() -> None:
    world = World()
    world.claim(deleting=True)

    assert await world.sync() == ["list Pod ns", "update PersistentVolumeClaim ns/c"]
    assert not world.sent[0].metadata.finalizers


@pytest.mark.parametrize("phase", ["Running", "Pending", "Succeeded", "Failed"])
async def test_a_claim_that_a_pod_on_a_node_names_stays(phase: str) -> None:
    cached, live = World(), World()
    for world in (cached, live):
        world.claim(deleting=True)
    cached.cache(pod(phase=phase))
    live.live = [pod(phase=phase)]

    assert await cached.sync() == []
    assert await live.sync() == ["list Pod ns"]


@pytest.mark.parametrize("other", [pod(node=""), pod("another")])
async def test_pods_without_a_node_or_of_other_claims_do_not_block(other: V1Pod) -> None:
    world = World()
    world.claim(deleting=True)
    world.cache(other)
    world.live = [other]

    assert (await world.sync())[-1] == "update PersistentVolumeClaim ns/c"


@pytest.mark.parametrize(
    ("owner", "grace", "stays"), [("uid-p", None, True), ("uid-p", 30, True), ("uid-p", 0, False), ("", None, False)]
)
async def test_an_ephemeral_volumes_claim_is_kept_by_its_pod_until_it_ends(
    owner: str, grace: int | None, stays: bool
) -> None:
    world = World()
    claim = world.claim(deleting=True, owner=owner)
    claim.metadata.name = "p-c"
    world.cache(claim)
    world.cache(pod(ephemeral=True, grace=grace))

    await world.protection.sync("ns/p-c")

    assert bool(world.requests) != stays


@pytest.mark.parametrize("error", [forbidden(), conflict()])
async def test_what_the_server_refuses_is_tried_again(error: Exception) -> None:
    world = World()
    world.claim(deleting=True)
    world.list_errors = [error]
    with pytest.raises(type(error)):
        await world.sync()
    world.errors["update PersistentVolumeClaim"] = [error]
    with pytest.raises(type(error)):
        await world.sync()


async def test_a_claim_that_is_gone_is_no_error() -> None:
    world = World()
    world.claim(deleting=True)
    world.errors["update PersistentVolumeClaim"] = [not_found()]

    await world.sync()
    await world.protection.sync("ns/nobody")


async def test_one_list_of_pods_serves_all_claims_that_are_being_deleted() -> None:
    world = World()
    for name in "cdef":
        world.claim(name, deleting=True)
    world.live = [pod("f")]
    sync = world.protection.sync

    async with anyio.create_task_group() as tasks:
        for name in "cdf":
            tasks.start_soon(sync, f"ns/{name}")
    await sync("ns/e")
    patched = [f"update PersistentVolumeClaim ns/{name}" for name in "cde"]
    assert sorted(world.requests) == ["list Pod ns", *patched]

    world.clock.turn(6)
    await sync("ns/e")
    assert world.requests.count("list Pod ns") == 2


async def test_a_list_from_before_a_claims_sync_does_not_keep_the_claim() -> None:
    world = World()
    for name in "cf":
        world.claim(name, deleting=True)
    world.live = [pod("f")]
    world.list_goes_on = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.protection.sync, "ns/c")
        await wait_all_tasks_blocked()
        world.live = []  # the pod ends, and this is the last event that queues its claim
        tasks.start_soon(world.protection.sync, "ns/f")
        await wait_all_tasks_blocked()
        world.list_goes_on.set()

    assert world.requests.count("list Pod ns") == 2
    assert "update PersistentVolumeClaim ns/f" in world.requests


def test_claims_are_checked_when_their_pods_end_go_or_get_no_node() -> None:
    world = World()
    handler = world.protection.pod_handler

    handler.on_add(pod(), False)
    handler.on_update(pod(), pod())
    assert not world.queued
    handler.on_update(pod(), pod(phase="Succeeded"))
    assert world.queued == ["ns/c"]
    handler.on_add(pod(node=""), False)
    assert world.queued == ["ns/c"]
    handler.on_delete(pod())
    assert world.queued == ["ns/c"]
    handler.on_delete(DeletedFinalStateUnknown("ns/p", pod(ephemeral=True)))
    assert world.queued == ["ns/p-c"]
    handler.on_delete(DeletedFinalStateUnknown("ns/p", None))
    assert not world.queued


def test_claims_of_a_recreated_pod_are_checked() -> None:
    world = World()

    world.protection.pod_handler.on_update(pod("old", uid="uid-old"), pod("new"))

    assert world.queued == ["ns/old"]


def test_the_ephemeral_claim_of_a_recreated_pod_is_checked() -> None:
    world = World()

    world.protection.pod_handler.on_update(pod(ephemeral=True, uid="uid-old"), pod(ephemeral=True))

    assert world.queued == ["ns/p-c"]


def test_a_change_of_a_pod_that_goes_on_reads_no_volumes() -> None:
    def volumes_of(pod: V1Pod) -> list[str]:
        raise AssertionError("the volumes were read")

    FreedHandler(print, volumes_of, is_pod_done).on_update(pod(), pod())
