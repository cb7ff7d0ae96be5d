"""What an operation asks the server before it destroys, where the cache is behind."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from kinformer.client.errors import Conflict
from kinformer.manager import SyncError
from kinformer.models import V1Node, V1PersistentVolume, V1PersistentVolumeClaim, V1Pod, V1VolumeAttachment, from_dict
from kinformer_controllers.attachdetach.actual import ActualState
from kinformer_controllers.attachdetach.attachments import OperationFailed, VolumeAttachments
from kinformer_controllers.attachdetach.deciding import BY_OUT_OF_SERVICE, BY_TIMEOUT, Detach
from kinformer_controllers.attachdetach.desired import MANAGED, DesiredState
from kinformer_controllers.attachdetach.operations import VolumeOperations
from kinformer_controllers.attachdetach.pending import Key
from kinformer_controllers.attachdetach.statuses import NodeStatuses
from kinformer_controllers.attachdetach.volumes import Resolver, attachment_name
from kinformer_controllers.shared.volumes.specs import VolumeSpec
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeRecorder, conflict

SPEC = VolumeSpec("v", "kubernetes.io/csi", "d^h", exclusive=True, persistent_volume="v")
VOLUME = SPEC.unique_name
NAME = attachment_name("d^h", "n")


class World(Cluster):
    def __init__(self) -> None:
        super().__init__()
        self.desired, self.actual = DesiredState(), ActualState()
        attachments = self.informers.informer_for(V1VolumeAttachment)
        self.resolver = Resolver(
            self.informers.informer_for(V1PersistentVolumeClaim).indexer.get_by_key,
            self.informers.informer_for(V1PersistentVolume).indexer.get_by_key,
            lambda name: None,
        )
        self.attachments = VolumeAttachments(self.client, attachments, self.clock)
        self.statuses = NodeStatuses(self.client, self.actual)
        self.operations = VolumeOperations(
            self.client,
            self.attachments,
            self.statuses,
            self.desired,
            self.actual,
            self.resolver,
            FakeRecorder(),
            self.clock,
        )
        self.actual.mark(VOLUME, SPEC, "n", confirmed=True)
        self.actual.take_report("n")
        spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
        body = {"metadata": {"name": NAME}, "spec": spec, "status": {"attached": True}}
        self.put_on_server(from_dict(V1VolumeAttachment, body))

    def node(self, *, ready: str = "True", uses: bool = False, taint: str = "") -> None:
        status = {"conditions": [{"type": "Ready", "status": ready}], "volumesInUse": [VOLUME] if uses else []}
        taints = [{"key": f"node.kubernetes.io/{taint}", "effect": "NoExecute"}] if taint else []
        metadata = {"name": "n", "annotations": {MANAGED: "true"}}
        self.put_on_server(from_dict(V1Node, {"metadata": metadata, "spec": {"taints": taints}, "status": status}))

    def pod_with_volume(self, phase: str = "Pending", bound_to: str = "u") -> None:
        """
        A pod that only the server has, and whose claim and volume the caches have, too.

        :param bound_to: the uid of the claim that the volume names
        """
        claim = {"metadata": {"name": "c", "namespace": "ns", "uid": "u"}, "spec": {"volumeName": "v"}}
        self.put(from_dict(V1PersistentVolumeClaim, claim | {"status": {"phase": "Bound"}}))
        spec: dict[str, Any] = {"csi": {"driver": "d", "volumeHandle": "h"}, "claimRef": {"uid": bound_to}}
        self.put(from_dict(V1PersistentVolume, {"metadata": {"name": "v"}, "spec": spec}))
        spec = {
            "nodeName": "n",
            "containers": [],
            "volumes": [{"name": "x", "persistentVolumeClaim": {"claimName": "c"}}],
        }
        metadata = {"name": "p", "namespace": "ns"}
        self.put_on_server(from_dict(V1Pod, {"metadata": metadata, "spec": spec, "status": {"phase": phase}}))

    async def detach(self, forced: str = "") -> None:
        await self.operations.detach(VOLUME, SPEC, Detach("n", Key(VOLUME), forced))

    @property
    def is_attached(self) -> bool:
        return (V1VolumeAttachment, NAME) in self.stored


@pytest.mark.parametrize(
    ("forced", "node", "goes"),
    [
        ("", {}, True),
        ("", {"uses": True}, False),
        ("", None, True),
        (BY_TIMEOUT, {"uses": True, "ready": "Unknown"}, True),
        (BY_TIMEOUT, {"uses": True}, False),
        (BY_TIMEOUT, {}, True),
        (BY_TIMEOUT, None, True),
        (BY_OUT_OF_SERVICE, {"uses": True, "taint": "out-of-service"}, True),
        (BY_OUT_OF_SERVICE, {"uses": True, "ready": "Unknown"}, False),
    ],
)
async def test_a_volume_is_detached_only_if_the_server_confirms_the_node(forced: str, node: Any, goes: bool) -> None:
    world = World()
    if node is not None:
        world.node(**node)
    if goes:
        await world.detach(forced)
        [options] = [sent for asked, sent in zip(world.requests, world.sent, strict=True) if asked.startswith("delete")]
        assert options.preconditions.uid == f"uid-{NAME}"
    else:
        with pytest.raises(SyncError, match="node n"):
            await world.detach(forced)
        assert not any(asked.startswith("patch") for asked in world.requests)
    assert world.is_attached is not goes
    there = world.actual.attachment(VOLUME, "n")
    assert there is None if goes else there is not None and there.confirmed


@pytest.mark.parametrize(
    ("phase", "bound_to", "goes"),
    [("Pending", "u", False), ("Succeeded", "u", True), ("Pending", "an older claim", True)],
)
async def test_a_volume_stays_for_a_pod_that_the_cache_does_not_show(phase: str, bound_to: str, goes: bool) -> None:
    world = World()
    world.node()
    world.pod_with_volume(phase, bound_to)
    if goes:
        await world.detach()
    else:
        with pytest.raises(SyncError, match="pod ns/p on node n"):
            await world.detach(BY_TIMEOUT)
    assert world.is_attached is not goes


async def test_one_list_of_pods_serves_all_volumes_of_a_node() -> None:
    world = World()
    world.node()
    async with anyio.create_task_group() as tasks:
        for name in "abc":
            tasks.start_soon(world.operations.detach, f"kubernetes.io/iscsi/{name}", None, Detach("n", Key(name)))
    assert world.requests.count("list Pod ") == 1

    await world.detach()
    assert world.requests.count("list Pod ") == 2


async def test_a_node_that_reports_using_a_detaching_volume_keeps_it() -> None:
    world = World()
    world.node()
    nodes = world.operations._nodes
    patch = nodes.patch

    async def patch_and_use(*args: Any, **options: Any) -> Any:
        await patch(*args, **options)
        world.node(uses=True)

    world.operations.statuses._server = SimpleNamespace(patch=patch_and_use)  # type: ignore[assignment]  # a stand-in
    with pytest.raises(OperationFailed, match="still uses"):
        await world.detach()
    assert world.is_attached
    there = world.actual.attachment(VOLUME, "n")
    assert there is not None
    assert not there.confirmed


async def test_a_volume_stays_listed_if_the_status_of_its_node_is_refused() -> None:
    world = World()
    world.node()
    world.errors["patch Node"] = [conflict()]
    with pytest.raises(Conflict):
        await world.detach()
    assert world.is_attached
    [listed] = world.actual.take_report("n") or ()
    assert listed.name == VOLUME


async def test_a_status_that_is_refused_is_written_with_the_next_try() -> None:
    world = World()
    world.node()
    world.actual.must_write("n")
    world.errors["patch Node"] = [conflict()]
    for _ in range(3):
        with suppress(Conflict):
            await world.statuses.write("n")
    assert [asked.partition(" ")[0] for asked in world.requests] == ["patch", "patch"]


async def test_a_deletion_that_the_cache_does_not_show_is_waited_for() -> None:
    world = World()
    world.node()
    gone = world.stored.pop((V1VolumeAttachment, NAME))
    world.cache(gone)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.detach)
        await anyio.wait_all_tasks_blocked()
        assert world.actual.attachment(VOLUME, "n") is not None
        world.uncache(gone)
        world.attachments.changed(gone, None)
    assert world.actual.attachment(VOLUME, "n") is None


@pytest.mark.parametrize(
    ("attached", "pod_is_left", "goes"), [(True, True, False), (False, True, True), (False, False, False)]
)
async def test_an_exclusive_volume_goes_where_the_server_says_it_may(
    attached: bool, pod_is_left: bool, goes: bool
) -> None:
    world = World()
    world.actual.mark(VOLUME, SPEC, "n", confirmed=False)
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    body = {"metadata": {"name": NAME}, "spec": spec, "status": {"attached": attached}}
    world.put_on_server(from_dict(V1VolumeAttachment, body))
    pod = from_dict(V1Pod, {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": []}, "status": {}})
    if pod_is_left:
        world.put_on_server(pod)

    async with anyio.create_task_group() as tasks:

        async def attach() -> None:
            with suppress(SyncError):
                await world.operations.attach(SPEC, "next", (pod,))

        tasks.start_soon(attach)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert ((V1VolumeAttachment, attachment_name("d^h", "next")) in world.stored) is goes
