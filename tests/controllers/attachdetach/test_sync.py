"""The controller with a manager, against the embedded server on a turned clock."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from prometheus_client import REGISTRY

from kinformer.manager import Manager
from kinformer.models import V1Node, V1PersistentVolumeClaim, V1Pod, V1VolumeAttachment, from_dict
from kinformer_controllers.attachdetach.controller import AttachDetachController
from tests.controllers.attachdetach.world import DRIVER, World, unique, world
from tests.controllers.nodes import cluster

#: The name that Kubernetes 1.36 gives to the attachment of the volume ``dangling`` to the node ``b``.
DANGLING = "csi-b8c39b87f0f0233ce92e29819fe418be2efb8b8cf3b5defa4b50ee0967f11056"


async def attached(there: World, volume: str = "v", node: str = "a", mode: str = "ReadWriteOnce") -> None:
    """Have a volume attached for the pod ``p``."""
    await there.node(node)
    await there.volume(volume, mode)
    await there.pod("p", node, volume)
    await there.turn(2)
    await there.answer(node)
    await there.turn(2)
    assert await there.listed(node) == [unique(volume)]


async def test_a_volume_is_attached_for_its_pod_and_detached_after_it() -> None:
    async with world() as there:
        await attached(there)
        assert await there.attachments() == ["a attached"]
        assert await there.events("SuccessfulAttachVolume") == ['AttachVolume.Attach succeeded for volume "v" ']

        await there.uses("a", "v")
        await there.delete_pod("p")
        await there.turn(400)
        assert await there.attachments() == ["a attached"]  # the node is ready and still uses it

        await there.uses("a")
        await there.turn(1)
        assert await there.listed("a") == []
        assert await there.attachments() == ["a going"]
        await there.let_go()
        await there.pod("p", "a", "v")
        await there.turn(2)
        assert await there.attachments() == ["a"]


async def test_a_pod_hears_why_its_volume_is_not_attached_until_it_is() -> None:
    async with world() as there:
        await there.node("a")
        await there.volume("v")
        await there.pod("p", "a", "v")
        await there.turn(1)
        await there.answer("a", attachError={"message": "no slot is free"})
        await there.turn(4)
        events = await there.events("FailedAttachVolume")
        assert set(events) == {'AttachVolume.Attach failed for volume "v" : no slot is free'}
        assert len(events) == 3  # after 1, 2 and 3.5 seconds: an old error counts after half a second

        await there.answer("a")
        await there.turn(5)
        assert await there.listed("a") == [unique("v")]

        await there.node("b")
        await there.volume("w")
        await there.pod("q", "b", "w")
        await there.turn(125)
        assert (await there.events("FailedAttachVolume"))[-1] == (
            'AttachVolume.Attach failed for volume "w" : timed out waiting for external-attacher of d.example.com CSI '
            "driver to attach volume handle-w"
        )


async def test_pods_hear_which_pods_have_their_exclusive_volume() -> None:
    async with world() as there:
        await attached(there)
        await there.node("b")
        await there.pod("q", "b", "v")
        await there.turn(30)
        assert await there.events("FailedAttachVolume") == [
            'Multi-Attach error for volume "v" Volume is already used by pod(s) p'
        ]
        await there.delete_pod("p")
        await there.uses("a")
        await there.turn(1)
        await there.let_go()
        await there.turn(1)
        assert await there.attachments() == ["b"]


@pytest.mark.parametrize("seconds", [300, 400])
async def test_a_node_that_is_not_ready_loses_its_volumes_after_six_minutes(seconds: float) -> None:
    async with world() as there:
        before = forced("timeout")
        await attached(there)
        await there.uses("a", "v")
        await there.inner.report("a", "Unknown")
        await there.delete_pod("p")
        await there.turn(seconds)
        gone = seconds > 360
        assert await there.attachments() == (["a going"] if gone else ["a attached"])
        assert forced("timeout") - before == int(gone)


async def test_a_node_out_of_service_loses_its_volumes_at_once() -> None:
    async with world(disable_force_detach_on_timeout=True) as there:
        await attached(there)
        await there.uses("a", "v")
        await there.inner.report("a", "Unknown")
        await there.delete_pod("p")
        await there.turn(500)
        assert await there.attachments() == ["a attached"]

        await there.inner.set_taints("a", "node.kubernetes.io/out-of-service", effect="NoSchedule")
        await there.turn(1)
        assert await there.attachments() == ["a going"]


async def test_volumes_stay_attached_while_the_status_of_their_node_cannot_be_written() -> None:
    async with world() as there:
        await attached(there)
        there.inner.server.faults.refuse(500, times=1000, matching=lambda call: call.verb == "patch")
        await there.delete_pod("p")
        await there.turn(10)
        assert await there.attachments() == ["a attached"]
        there.inner.server.faults.end_all()
        await there.turn(30)
        assert await there.attachments() == ["a going"]
        assert await there.listed("a") == []


async def test_an_attachment_that_is_lost_is_made_anew() -> None:
    async with world(attach_detach_reconcile_sync_period=20.0) as there:
        await attached(there)
        [attachment] = (await there.client.resource(V1VolumeAttachment).list()).items
        await there.answer("a", attached=False)
        await there.turn(21)
        assert await there.listed("a") == []
        assert await there.attachments() == ["a"]
        await there.answer("a")
        await there.turn(2)
        assert await there.listed("a") == [unique("v")]
        assert [attachment.metadata.uid] == [it.metadata.uid for it in await all_attachments(there)]


async def test_a_driver_that_attaches_nothing_gets_no_attachments() -> None:
    async with world() as there:
        await attached(there)
        await there.driver(attach_required=False)
        await there.volume("w")
        await there.pod("q", "a", "w")
        await there.turn(30)
        assert await there.attachments() == ["a attached"]
        await there.turn(60)  # what was attached before there was a CSIDriver
        assert await there.attachments() == ["a going"]


async def test_pods_of_an_unmanaged_node_get_nothing_until_it_is_managed() -> None:
    async with world() as there:
        await there.node("a", managed=False)
        await there.volume("v")
        await there.pod("p", "a", "v")
        await there.turn(300)
        assert await there.attachments() == []
        body = {"metadata": {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}}
        await there.client.resource(V1Node).patch("a", body)
        await there.turn(1)
        assert await there.attachments() == ["a"]


async def test_a_claim_that_is_bound_after_its_pod_has_its_volume_attached() -> None:
    async with world() as there:
        await there.node("a")
        await there.pod("p", "a", "v")
        await there.turn(1)
        await there.volume("v")
        await there.turn(1)
        assert await there.attachments() == ["a"]


async def test_iscsi_and_ephemeral_volumes_of_a_pod_are_attached() -> None:
    async with world() as there:
        await there.node("a")
        iscsi = {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026.x:y", "lun": 1}
        template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        volumes = [{"name": "i", "iscsi": iscsi}, {"name": "e", "ephemeral": {"volumeClaimTemplate": template}}]
        spec = {"nodeName": "a", "containers": [{"name": "c", "image": "i"}], "volumes": volumes}
        metadata = {"name": "p", "namespace": "default"}
        pod = await there.client.resource(V1Pod).create(from_dict(V1Pod, {"metadata": metadata, "spec": spec}))
        await there.volume("p-e")
        await there.turn(1)
        assert await there.listed("a") == ["kubernetes.io/iscsi/10.0.0.1:3260:iqn.2026.x:y:1"]
        assert await there.attachments() == []  # the claim is not the pod's own

        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod.metadata.uid, "controller": True}
        body = {"metadata": {"ownerReferences": [owner]}}
        await there.client.resource(V1PersistentVolumeClaim).patch("p-e", body, "default")
        await there.turn(1)
        assert await there.attachments() == ["a"]


async def test_a_cloud_disk_in_a_pod_is_attached_by_its_csi_driver() -> None:
    async with world() as there:
        await there.node("a")
        volumes = [{"name": "disk", "awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}]
        spec = {"nodeName": "a", "containers": [{"name": "c", "image": "i"}], "volumes": volumes}
        metadata = {"name": "p", "namespace": "default"}
        await there.client.resource(V1Pod).create(from_dict(V1Pod, {"metadata": metadata, "spec": spec}))
        await there.turn(1)
        [attachment] = await all_attachments(there)
        inline = attachment.spec.source.inline_volume_spec
        assert (attachment.spec.attacher, inline.csi.volume_handle) == ("ebs.csi.aws.com", "vol-1")
        assert inline.access_modes == ["ReadWriteOnce"]
        await there.answer("a")
        await there.turn(1)
        assert await there.listed("a") == ["kubernetes.io/csi/ebs.csi.aws.com^vol-1"]


async def test_what_events_have_missed_is_found_within_minutes() -> None:
    async with world() as there:
        await attached(there)
        controller = there.inner.manager.controllers["attachdetach"]
        assert isinstance(controller, AttachDetachController)
        [pod] = controller.desired.pods()
        controller.desired.remove_pod(pod.metadata.uid)
        await there.turn(200)
        assert list(controller.desired.on(unique("v"))) == ["a"]

        ghost = from_dict(
            V1Pod, {"metadata": {"name": "p", "namespace": "default", "uid": "x"}, "spec": {"nodeName": "a"}}
        )
        controller.desired.add_pod(ghost, [controller.desired.on(unique("v"))["a"].spec])
        await there.turn(61)
        assert list(controller.desired.on(unique("v"))["a"].pods) == [pod.metadata.uid]


async def test_metrics_count_volumes_in_both_states() -> None:
    async with world() as there:
        await attached(there)
        plugin = f"kubernetes.io/csi:{DRIVER}"
        for state in ("actual_state_of_world", "desired_state_of_world"):
            labels = {"plugin_name": plugin, "state": state}
            assert REGISTRY.get_sample_value("attachdetach_controller_total_volumes", labels) == 1
        labels = {"node": "a", "volume_plugin": plugin}
        assert REGISTRY.get_sample_value("storage_count_attachable_volumes_in_use", labels) == 1
        labels = {"volume_plugin": plugin, "operation_name": "volume_attach", "status": "success", "migrated": "false"}
        assert REGISTRY.get_sample_value("storage_operation_duration_seconds_count", labels)


async def test_a_new_process_keeps_what_is_needed_and_detaches_the_rest() -> None:
    async with cluster({}) as inner:
        there = World(inner)
        listed = [{"name": unique(it), "devicePath": "/dev/x"} for it in ("v", "old")]
        listed.append({"name": "example.com/flex/x", "devicePath": ""})
        await there.node("a", volumesAttached=listed, volumesInUse=[unique("v")])
        await there.node("b")
        await there.volume("v")
        await there.volume("dangling")
        await there.pod("p", "a", "v")
        for name, node in (("v", "a"), ("dangling", "b")):
            await attach_by_hand(there, name, node, NAMES[name, node])
        manager = Manager(there.client, known={"attachdetach": AttachDetachController}, clock=inner.clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await there.turn(5)
            # The volume of a plug-in that is not here cannot be detached, so it stays.
            assert await there.listed("a") == ["example.com/flex/x", unique("v")]
            assert await there.attachments() == ["a attached"]
            # The volume of the pod is known again, so that its attachment can be checked.
            labels = {"plugin_name": f"kubernetes.io/csi:{DRIVER}", "state": "actual_state_of_world"}
            assert REGISTRY.get_sample_value("attachdetach_controller_total_volumes", labels) == 1
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("name", "left"),
    [(DANGLING, []), ("by-hand", ["b attached"])],
    ids=["of the process before", "somebody else's"],
)
async def test_an_attachment_that_appears_later_goes_if_it_has_our_name(name: str, left: list[str]) -> None:
    async with world() as there:
        await there.node("b")
        await there.volume("dangling")
        await there.turn(2)
        await attach_by_hand(there, "dangling", "b", name)
        await there.turn(5)
        assert await there.attachments() == left


async def test_an_attachment_of_before_goes_when_its_volume_is_seen_later() -> None:
    async with world() as there:
        await there.node("b")
        await there.turn(2)
        await attach_by_hand(there, "dangling", "b", DANGLING)
        await there.turn(5)
        assert await there.attachments() == ["b attached"]
        await there.volume("dangling")
        await there.turn(65)
        assert await there.attachments() == []


async def attach_by_hand(there: World, volume: str, node: str, name: str) -> None:
    attachments = there.client.resource(V1VolumeAttachment)
    spec = {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}}
    await attachments.create(from_dict(V1VolumeAttachment, {"metadata": {"name": name}, "spec": spec}))
    await attachments.patch(name, {"status": {"attached": True}}, subresource="status")


#: The names that Kubernetes 1.36 gives to the attachments of these volumes and nodes.
NAMES = {
    ("v", "a"): "csi-93341a60c6121ab2be36893b7b2c990ab7154cff7f1411b352762e29c915d96d",
    ("dangling", "b"): DANGLING,
}


async def all_attachments(there: World) -> list[Any]:
    return list((await there.client.resource(V1VolumeAttachment).list()).items)


def forced(reason: str) -> float:
    name = "attach_detach_controller_attachdetach_controller_forced_detaches"
    return REGISTRY.get_sample_value(name, {"reason": reason}) or 0.0
