"""The controller with a manager, against the embedded server: pods hear of conflicts, and the metric shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.client import DeleteOptions, PatchType
from kinformer.manager import SyncError
from kinformer.models import (
    CoreV1Event,
    V1CSIDriver,
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1Pod,
    from_dict,
)
from kinformer_controllers.selinuxwarning.controller import SELinuxWarning
from tests.controllers.cluster import Cluster as FakeCluster
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import FakeContext, FakeRecorder
from tests.metrics import metric_value

ONE, TWO = "s0:c1,c2", "s0:c98,c99"
CSI = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}}
SIZE, ASKED = {"storage": "1Gi"}, {"accessModes": ["ReadWriteMany"]}
AT_ONCE = DeleteOptions(grace_period_seconds=0)


@asynccontextmanager
async def world(source: dict[str, Any] = CSI, *, can_mount: bool = True) -> AsyncIterator[Cluster]:
    """A cluster with the claim ``data``, which is bound to a volume of this source."""
    async with cluster({"selinux-warning-controller": SELinuxWarning}) as found:
        await set_driver(found, can_mount=can_mount)
        await make_claim(found, "data", source)
        await found.turn(1)
        yield found


async def set_driver(found: Cluster, *, can_mount: bool) -> None:
    driver = {"metadata": {"name": "d.example.com"}, "spec": {"seLinuxMount": can_mount}}
    await found.client.resource(V1CSIDriver).create(from_dict(V1CSIDriver, driver))


async def make_claim(found: Cluster, name: str, source: dict[str, Any], namespace: str = "default") -> None:
    """A claim that is bound to a volume of this source."""
    claim = await ask_for(found, name, namespace)
    await make_volume(found, claim, source)
    await bind(found, claim)


async def ask_for(found: Cluster, name: str, namespace: str = "default") -> V1PersistentVolumeClaim:
    """A claim for the volume of its name."""
    spec = {**ASKED, "resources": {"requests": SIZE}, "storageClassName": "", "volumeName": name}
    body = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return await found.client.resource(V1PersistentVolumeClaim).create(from_dict(V1PersistentVolumeClaim, body))


async def make_volume(found: Cluster, claim: V1PersistentVolumeClaim, source: dict[str, Any]) -> None:
    meta = claim.metadata
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    spec = {**ASKED, "capacity": SIZE, "claimRef": reference, **source}
    volume = from_dict(V1PersistentVolume, {"metadata": {"name": meta.name}, "spec": spec})
    await found.client.resource(V1PersistentVolume).create(volume)


async def bind(found: Cluster, claim: V1PersistentVolumeClaim) -> None:
    meta, bound = claim.metadata, {"status": {"phase": "Bound"}}
    claims = found.client.resource(V1PersistentVolumeClaim)
    await claims.patch(meta.name, bound, meta.namespace or "", subresource="status")


def on_claim(name: str) -> dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": name}}


def a_pod(
    name: str,
    *levels: str,
    volume: dict[str, Any] | None = None,
    policy: str | None = None,
    namespace: str = "default",
    uid: str = "",
) -> V1Pod:
    """A pod with a container for each level; all mount one volume, that of the claim ``data`` if nothing is said."""
    containers = [
        {
            "name": f"c{number}",
            "image": "i",
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            "securityContext": {"seLinuxOptions": {"level": level}} if level else {},
        }
        for number, level in enumerate(levels)
    ]
    spec = {
        "containers": containers,
        "volumes": [{"name": "v", **(volume or on_claim("data"))}, {"name": "empty", "emptyDir": {}}],
        "securityContext": {"seLinuxChangePolicy": policy} if policy else {},
    }
    metadata = {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})}
    return from_dict(V1Pod, {"metadata": metadata, "spec": spec})


async def make_pod(found: Cluster, name: str, *levels: str, **pod: Any) -> None:
    await found.client.resource(V1Pod).create(a_pod(name, *levels, **pod))
    await found.turn(1)


async def said(found: Cluster) -> list[str]:
    """The Events, as ``type reason pod: what conflicts``; shortened."""
    await found.turn(1)
    events = (await found.client.resource(CoreV1Event).list()).items
    return sorted(
        f"{it.type} {it.reason} {it.involved_object.name}: {(it.message or '').partition(' that uses')[0]}"
        for it in events
        for _ in range(it.count or 1)
    )


def shown(pod: str, level: str, other: str, other_level: str) -> float | None:
    """The metric of a conflict of labels."""
    labels = {
        "property": "SELinuxLabel",
        "pod1_namespace": "default",
        "pod1_name": pod,
        "pod1_value": f":::{level}",
        "pod2_namespace": "default",
        "pod2_name": other,
        "pod2_value": f":::{other_level}",
    }
    return metric_value("selinux_warning_controller_selinux_volume_conflict", labels)


LABELS_CONFLICT = [
    f'Normal SELinuxLabelConflict one: SELinuxLabel ":::{ONE}" conflicts with pod two',
    f'Normal SELinuxLabelConflict two: SELinuxLabel ":::{TWO}" conflicts with pod one',
]
POLICIES_CONFLICT = [
    'Normal SELinuxChangePolicyConflict one: SELinuxChangePolicy "MountOption" conflicts with pod two',
    'Normal SELinuxChangePolicyConflict two: SELinuxChangePolicy "Recursive" conflicts with pod one',
]
ISCSI = {"iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2000-01.example:a", "lun": 1}}
FC = {"fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0}}
NFS = {"nfs": {"server": "s", "path": "/a"}}


async def test_pods_with_different_labels_hear_of_each_other_once() -> None:
    async with world() as found:
        await make_pod(found, "one", ONE)
        assert await said(found) == []
        await make_pod(found, "two", TWO)

        assert await said(found) == LABELS_CONFLICT
        assert shown("one", ONE, "two", TWO) == shown("two", TWO, "one", ONE) == 1
        await found.turn(3600)
        assert await said(found) == LABELS_CONFLICT
    assert shown("one", ONE, "two", TWO) is None


async def test_pods_with_different_policies_hear_of_each_other() -> None:
    async with world() as found:
        await make_pod(found, "one", ONE)
        await make_pod(found, "two", TWO, policy="Recursive")

        assert [it for it in await said(found) if "Policy" in it] == POLICIES_CONFLICT


@pytest.mark.parametrize("source", [ISCSI, FC], ids=["iscsi", "fc"])
async def test_volumes_in_pods_count_by_what_they_are(source: dict[str, Any]) -> None:
    async with world(source) as found:
        await make_pod(found, "one", ONE)
        await make_pod(found, "two", TWO, volume=source)

        assert await said(found) == LABELS_CONFLICT


@pytest.mark.parametrize("source", [NFS, {"hostPath": {"path": "/a"}}], ids=["nfs", "host path"])
async def test_volumes_that_cannot_be_mounted_with_a_label_have_no_conflicts(source: dict[str, Any]) -> None:
    async with world(source) as found:
        await make_pod(found, "one", ONE)
        await make_pod(found, "two", TWO, volume=source)
        await make_pod(found, "three", ONE, policy="Recursive")

        assert await said(found) == []


async def test_a_cloud_disk_is_a_volume_of_its_csi_driver() -> None:
    disk = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    async with world({"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}}) as found:
        driver = {"metadata": {"name": "ebs.csi.aws.com"}, "spec": {"seLinuxMount": True}}
        await found.client.resource(V1CSIDriver).create(from_dict(V1CSIDriver, driver))
        await make_pod(found, "one", ONE)
        await make_pod(found, "two", TWO, volume=disk)

        assert await said(found) == LABELS_CONFLICT


@pytest.mark.parametrize("end", ["deleted", "Succeeded", "Failed"])
async def test_a_pod_that_has_ended_conflicts_no_more(end: str) -> None:
    async with world() as found:
        pods = found.client.resource(V1Pod)
        await make_pod(found, "one", ONE)
        await make_pod(found, "two", TWO)
        if end == "deleted":
            await pods.delete("one", "default", AT_ONCE)
        else:
            await pods.patch("one", {"status": {"phase": end}}, "default", subresource="status")
        await found.turn(1)

        assert shown("one", ONE, "two", TWO) is None
        await make_pod(found, "three", TWO)
        assert await said(found) == LABELS_CONFLICT


async def test_a_driver_that_begins_to_mount_with_labels_has_pods_checked() -> None:
    async with world(can_mount=False) as found:
        await make_pod(found, "one", ONE)
        await make_pod(found, "two", TWO)
        assert await said(found) == []

        drivers = found.client.resource(V1CSIDriver)
        await drivers.patch("d.example.com", {"spec": {"seLinuxMount": True}}, patch_type=PatchType.MERGE)
        await found.turn(1)
        assert set(LABELS_CONFLICT) <= set(await said(found))
        await drivers.delete("d.example.com")
        await found.turn(1)
        assert shown("one", ONE, "two", TWO) is None


@pytest.mark.parametrize("last", ["claim", "volume"])
async def test_pods_whose_volume_is_bound_later_are_looked_at_then(last: str) -> None:
    source = CSI | {"csi": CSI["csi"] | {"volumeHandle": "other"}}
    async with world() as found:
        claim = await ask_for(found, "late")
        for name, level in (("one", ONE), ("two", TWO)):
            await make_pod(found, name, level, volume=on_claim("late"))
        await (bind(found, claim) if last == "volume" else make_volume(found, claim, source))
        # So long that the next try by itself is minutes away.
        await found.turn(600)
        assert await said(found) == []

        await (bind(found, claim) if last == "claim" else make_volume(found, claim, source))
        await found.turn(1)
        assert await said(found) == LABELS_CONFLICT


async def test_a_pod_in_another_namespace_is_not_named() -> None:
    async with world() as found:
        await make_claim(found, "far", CSI, "kube-system")
        await make_pod(found, "one", ONE)
        await make_pod(found, "two", TWO, volume=on_claim("far"), namespace="kube-system")

        assert await said(found) == [
            f'Normal SELinuxLabelConflict one: SELinuxLabel":::{ONE}" conflicts with another pod',
            f'Normal SELinuxLabelConflict two: SELinuxLabel":::{TWO}" conflicts with another pod',
        ]


async def test_a_volume_with_two_labels_in_one_pod_is_reported() -> None:
    async with world() as found:
        await make_pod(found, "one", ONE, TWO, volume={"configMap": {"name": "m"}})

        told = 'Volume "v" is mounted twice with different SELinux labels inside this pod'
        assert f"Warning MultipleSELinuxLabels one: {told}" in await said(found)


async def test_a_pod_whose_claim_is_not_bound_is_tried_again() -> None:
    there = FakeCluster()
    warning = SELinuxWarning(FakeContext(there.client, there.informers))
    there.cache(a_pod("one", ONE, uid="1"))

    with pytest.raises(SyncError, match=r"^the claim default/data is not bound$"):
        await warning.sync("default/one")


async def test_the_pod_of_a_conflict_that_is_gone_hears_nothing() -> None:
    there, recorder = FakeCluster(), FakeRecorder()
    warning = SELinuxWarning(FakeContext(there.client, there.informers, recorder))
    gone = a_pod("gone", ONE, volume=ISCSI, uid="1")
    for pod in (gone, a_pod("two", ONE, volume=ISCSI, uid="2"), a_pod("three", TWO, volume=ISCSI, uid="3")):
        there.cache(pod)
        if pod.metadata.name == "three":
            there.uncache(gone)
        await warning.sync(f"default/{pod.metadata.name}")

    heard = sorted(event.partition(":")[0] for event in recorder.events)
    assert heard == [f"Normal SELinuxLabelConflict {name}" for name in ("three", "three", "two")]


async def test_a_pod_that_replaced_another_one_has_its_own_volumes_only() -> None:
    there = FakeCluster()
    warning = SELinuxWarning(FakeContext(there.client, there.informers))
    for name, uid, level, volume in (
        ("one", "1", ONE, ISCSI),
        ("one", "2", ONE, FC),
        ("two", "3", TWO, ISCSI),
    ):
        there.cache(a_pod(name, level, volume=volume, uid=uid))
        await warning.sync(f"default/{name}")

    assert not warning.users.conflicts()
