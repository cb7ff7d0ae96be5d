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

__all__ = ("DRIVER", "EXCLUSIVE", "begin", "make_driver")

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
