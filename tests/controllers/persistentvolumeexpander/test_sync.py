"""A claim that asks for more gets it, if a plug-in can enlarge its volume."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import REGISTRY

from kinformer.manager import SyncError
from kinformer.meta import Quantity
from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim, from_dict
from kinformer_controllers.persistentvolumeexpander.controller import PersistentVolumeExpander, is_worth_a_look
from kinformer_controllers.shared.volumes.plugins import VolumePlugins
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, FakeRecorder

BEFORE = "volume.alpha.kubernetes.io/pre-resize-capacity"


class Growing:
    def __init__(self, name: str = "example.com/x", *, node: bool = False) -> None:
        self.name = name
        self.requires_file_system_expansion = node
        self.asked: list[tuple[str, str]] = []
        self.error: Exception | None = None

    def supports(self, volume: Any) -> bool:
        return volume.spec.host_path is not None

    async def expand(self, volume: Any, to: Quantity, current: Quantity) -> Quantity:
        self.asked.append((str(current), str(to)))
        if self.error is not None:
            raise self.error
        return to


class World(Cluster):
    def __init__(self, *plugins: Any) -> None:
        super().__init__()
        self.recorder = FakeRecorder()
        self.expander = PersistentVolumeExpander(
            FakeContext(self.client, self.informers, self.recorder, clock=self.clock), VolumePlugins(plugins)
        )

    def volume(self, size: str = "5Gi", *, uid: str = "uid-c", before: str = "", **source: Any) -> None:
        metadata = {"name": "v", "annotations": {BEFORE: before} if before else None}
        spec = {
            "capacity": {"storage": size},
            "claimRef": {"namespace": "ns", "name": "c", "uid": uid},
            **(source or {"hostPath": {"path": "/x"}}),
        }
        self.put(from_dict(V1PersistentVolume, {"metadata": metadata, "spec": spec}))

    def claim(self, asks: str = "10Gi", has: str = "5Gi", **status: Any) -> None:
        self.put(claim(asks, has, **status))

    async def sync(self) -> None:
        await self.expander.sync("ns/c")

    @property
    def volume_now(self) -> Any:
        return self.on_server(V1PersistentVolume, "v")

    @property
    def status(self) -> Any:
        return self.on_server(V1PersistentVolumeClaim, "ns/c").status


def claim(asks: str, has: str, phase: str = "Bound", **status: Any) -> V1PersistentVolumeClaim:
    metadata = {"name": "c", "namespace": "ns", "uid": "uid-c"}
    spec = {"volumeName": "v", "resources": {"requests": {"storage": asks}}}
    found = {"phase": phase, "capacity": {"storage": has}, **status}
    return from_dict(V1PersistentVolumeClaim, {"metadata": metadata, "spec": spec, "status": found})


async def test_a_volume_is_enlarged_and_so_is_its_claim() -> None:
    plugin = Growing()
    world = World(plugin)
    world.volume()
    world.claim()

    await world.sync()

    assert plugin.asked == [("5Gi", "10Gi")]
    assert world.volume_now.spec.capacity == {"storage": "10Gi"}
    assert world.status.capacity == {"storage": "10Gi"}
    assert world.status.allocated_resources == {"storage": "10Gi"}
    assert world.status.allocated_resource_statuses is None
    assert world.status.conditions is None
    assert world.recorder.events == ["Normal VolumeResizeSuccessful c: ExpandVolume succeeded for volume ns/c"]


async def test_a_file_system_is_left_to_the_node() -> None:
    world = World(Growing(node=True))
    world.volume()
    world.claim()

    await world.sync()

    assert world.volume_now.spec.capacity == {"storage": "10Gi"}
    assert world.volume_now.metadata.annotations == {BEFORE: "5Gi"}
    assert world.status.capacity == {"storage": "5Gi"}
    assert world.status.allocated_resource_statuses == {"storage": "NodeResizePending"}
    assert [it.type for it in world.status.conditions] == ["FileSystemResizePending"]
    assert world.recorder.events == ["Normal FileSystemResizeRequired c: Require file system resize of volume on node"]


async def test_the_annotation_goes_once_the_node_is_done() -> None:
    plugin = Growing(node=True)
    world = World(plugin)
    world.volume("10Gi", before="5Gi")
    world.claim("10Gi", "10Gi")

    await world.sync()

    assert world.volume_now.metadata.annotations is None
    assert not plugin.asked


async def test_while_the_node_has_yet_to_the_volume_is_not_enlarged_again() -> None:
    plugin = Growing(node=True)
    world = World(plugin)
    world.volume("10Gi", before="5Gi")
    world.claim()

    await world.sync()

    assert not plugin.asked
    assert world.volume_now.metadata.annotations == {BEFORE: "5Gi"}
    assert [it.type for it in world.status.conditions] == ["FileSystemResizePending"]


async def test_what_a_plugin_cannot_enlarge_is_told_of_and_tried_again() -> None:
    plugin = Growing("example.com/full")
    plugin.error = OSError("no disk left")
    world = World(plugin)
    world.volume()
    world.claim()

    with pytest.raises(SyncError, match="no disk left"):
        await world.sync()

    assert world.volume_now.spec.capacity == {"storage": "5Gi"}
    assert world.status.capacity == {"storage": "5Gi"}
    assert world.status.allocated_resource_statuses == {"storage": "ControllerResizeInfeasible"}
    assert world.recorder.events[0].startswith("Warning VolumeResizeFailed c: error expanding volume 'ns/c'")
    labels = {"volume_plugin": plugin.name, "operation_name": "expand_volume", "migrated": "false"}
    failed = {**labels, "status": "fail-unknown"}
    assert REGISTRY.get_sample_value("storage_operation_duration_seconds_count", failed) == 1


async def test_a_claim_that_has_what_it_asks_for_is_left() -> None:
    plugin = Growing()
    world = World(plugin)
    world.volume("10Gi")
    world.claim("10Gi", "10Gi")

    await world.sync()

    assert world.requests == ["get PersistentVolume v"]
    assert not plugin.asked


async def test_a_volume_of_another_claim_is_an_error() -> None:
    world = World(Growing())
    world.volume(uid="uid-other")
    world.claim()

    with pytest.raises(SyncError, match="persistent Volume is not bound to PVC being updated : ns/c"):
        await world.sync()


async def test_what_has_no_plugin_is_left_to_others() -> None:
    world = World(Growing())
    world.volume(csi={"driver": "d", "volumeHandle": "h"})
    world.claim()

    await world.sync()

    assert world.recorder.events == [
        "Normal ExternalExpanding c: waiting for an external controller to expand this PVC"
    ]


async def test_what_was_migrated_names_its_resizer_once() -> None:
    world = World(Growing())
    world.volume(awsElasticBlockStore={"volumeID": "x"})
    world.claim()

    await world.sync()

    assert world.sent[-1]["metadata"]["annotations"] == {"volume.kubernetes.io/storage-resizer": "ebs.csi.aws.com"}
    named = claim("10Gi", "5Gi")
    named.metadata.annotations = {"volume.kubernetes.io/storage-resizer": "ebs.csi.aws.com"}
    world.put(named)
    await world.sync()
    assert world.requests.count("patch PersistentVolumeClaim ns/c") == 1
    assert "waiting for external resizer to expand the pvc" in world.recorder.events[0]


def test_a_claim_is_checked_when_bound_or_its_sizes_change() -> None:
    small = claim("5Gi", "5Gi")

    assert is_worth_a_look(None, small)
    assert not is_worth_a_look(None, claim("10Gi", "5Gi", "Pending"))
    assert is_worth_a_look(claim("5Gi", "5Gi", "Pending"), small)
    assert is_worth_a_look(small, claim("10Gi", "5Gi"))
    assert is_worth_a_look(small, claim("5Gi", "10Gi"))
    assert not is_worth_a_look(small, claim("5Gi", "5Gi"))
    assert not is_worth_a_look(small, None)
