"""A CSI driver: its external-attacher, which answers VolumeAttachments as the sidecar of real drivers does.

A volume that only one node may have must never be attached to two. The driver does not refuse it: it is the controller
that has to wait until the first node is rid of it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import anyio

from kinformer.client import NotFound, PatchType
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1VolumeAttachment
from kinformer.simulation.world import World
from tests.simulation.controllers.writes import create

__all__ = ("DRIVER", "EXCLUSIVE", "begin", "disk", "make_driver", "node", "pod")

DRIVER: Final = "d.example.com"
#: The volume that one node may have.
EXCLUSIVE: Final = "exclusive"
_FINALIZER: Final = "external-attacher/d-example-com"


def make_driver(context: ControllerContext) -> Controller:
    """The driver, as a controller of VolumeAttachments. Each of its answers takes a second."""
    informer, server = context.informers.informer_for(V1VolumeAttachment), context.client.resource(V1VolumeAttachment)

    async def sync(name: str) -> None:
        attachment = informer.indexer.get_by_key(name)
        if attachment is None:
            return
        meta, status = attachment.metadata, attachment.status
        await anyio.sleep(1)
        try:
            if meta.deletion_timestamp is not None:
                # Conflict if it was made anew: the uid is part of the patch.
                body: dict[str, Any] = {"metadata": {"uid": meta.uid, "finalizers": None}}
                await server.patch(name, body, patch_type=PatchType.MERGE)
            elif status is None or not status.attached:
                body = {"metadata": {"uid": meta.uid, "finalizers": [_FINALIZER]}}
                await server.patch(name, body, patch_type=PatchType.MERGE)
                body = {"metadata": {"uid": meta.uid}, "status": {"attached": True}}
                await server.patch(name, body, patch_type=PatchType.MERGE, subresource="status")
        except NotFound:
            return

    return Controller("csi-driver", sync, clock=context.clock).watch(informer)


def begin(world: World) -> None:
    """Demand that the exclusive volume is never attached to two nodes."""

    def one_node_has_it(state: Any) -> None:
        found = [obj for obj in state.list("volumeattachments.storage.k8s.io") if obj["status"]["attached"]]
        times = Counter(obj["spec"]["source"]["persistentVolumeName"] for obj in found)
        assert times[EXCLUSIVE] <= 1, f"attached to {[obj['spec']['nodeName'] for obj in found]}"

    world.assert_always(one_node_has_it)


def node(name: str) -> dict[str, Any]:
    """A step that makes a node whose volumes the controller attaches."""
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return create("Node", name, metadata={"annotations": annotations}, status=ready)


def disk(name: str, mode: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Steps that make a volume of the driver, and its claim, which is bound to it."""
    spec = {"accessModes": [mode], "storageClassName": ""}
    claim = {**spec, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}}
    source = {"csi": {"driver": DRIVER, "volumeHandle": name}, "claimRef": {"namespace": "${ns}", "name": name}}
    return (
        create("PersistentVolume", name, spec={**spec, "capacity": {"storage": "1Gi"}, **source}),
        create("PersistentVolumeClaim", name, spec=claim),
    )


def pod(name: str, node: str, *disks: str) -> dict[str, Any]:
    """A step that makes a pod on a node that uses disks."""
    volumes = [{"name": disk, "persistentVolumeClaim": {"claimName": disk}} for disk in disks]
    containers = [{"name": "c", "image": "i"}]
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": containers, "volumes": volumes}
    return create("Pod", name, spec=spec)
