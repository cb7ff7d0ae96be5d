"""A cluster with volumes: what users, kubelets and a CSI driver do, and what they see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kinformer.client import DeleteOptions, PatchType
from kinformer.models import (
    V1CSIDriver,
    V1Node,
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1Pod,
    V1VolumeAttachment,
    from_dict,
)
from kinformer_controllers.attachdetach.controller import AttachDetachController
from tests.controllers.nodes import Cluster, cluster, ready

__all__ = ("DRIVER", "World", "unique", "world")

DRIVER = "d.example.com"


def unique(volume: str) -> str:
    """The unique name of a volume of the driver."""
    return f"kubernetes.io/csi/{DRIVER}^handle-{volume}"


class World:
    def __init__(self, inner: Cluster) -> None:
        self.inner = inner
        self.client = inner.client
        self.turn = inner.turn
        self.events = inner.events
        self._nodes = inner.client.resource(V1Node)
        self._pods = inner.client.resource(V1Pod)
        self._attachments = inner.client.resource(V1VolumeAttachment)

    async def node(self, name: str, *, managed: bool = True, **status: Any) -> None:
        key = "volumes.kubernetes.io/controller-managed-attach-detach"
        metadata = {"name": name, "annotations": {key: "true"} if managed else {}}
        status.setdefault("conditions", [ready("True", self.inner.clock)])
        await self._nodes.create(from_dict(V1Node, {"metadata": metadata, "status": status}))

    async def uses(self, node: str, *volumes: str) -> None:
        """The kubelet says which volumes it uses."""
        body = {"status": {"volumesInUse": [unique(volume) for volume in volumes] or None}}
        await self._nodes.patch(node, body, patch_type=PatchType.MERGE, subresource="status")

    async def volume(self, name: str, mode: str = "ReadWriteOnce", **source: Any) -> None:
        """Make a volume, and a claim of this name in ``default`` that is bound to it."""
        claims = self.client.resource(V1PersistentVolumeClaim)
        spec = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": name}
        claim = {"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": {"phase": "Bound"}}
        made = await claims.create(from_dict(V1PersistentVolumeClaim, claim))
        await claims.patch(name, {"status": {"phase": "Bound"}}, "default", subresource="status")
        source = source or {"csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"}}
        reference = {"namespace": "default", "name": name, "uid": made.metadata.uid}
        body = {"capacity": {"storage": "1Gi"}, "accessModes": [mode], "claimRef": reference, **source}
        await self.client.resource(V1PersistentVolume).create(
            from_dict(V1PersistentVolume, {"metadata": {"name": name}, "spec": body})
        )

    async def pod(self, name: str, node: str, *volumes: str) -> None:
        listed = [{"name": it, "persistentVolumeClaim": {"claimName": it}} for it in volumes]
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "volumes": listed}
        metadata = {"name": name, "namespace": "default"}
        await self._pods.create(from_dict(V1Pod, {"metadata": metadata, "spec": spec}))

    async def delete_pod(self, name: str) -> None:
        await self._pods.delete(name, "default", DeleteOptions(grace_period_seconds=0))

    async def driver(self, *, attach_required: bool) -> None:
        spec = {"attachRequired": attach_required}
        made = from_dict(V1CSIDriver, {"metadata": {"name": DRIVER}, "spec": spec})
        await self.client.resource(V1CSIDriver).create(made)

    async def answer(self, node: str, **status: Any) -> None:
        """The driver says of the attachments to a node that they are attached, or what `status` has."""
        for attachment in (await self._attachments.list()).items:
            if attachment.spec.node_name == node:
                name, said = attachment.metadata.name, {"attached": not status, **status}
                await self._attachments.patch(name, {"metadata": {"finalizers": ["driver/attached"]}})
                await self._attachments.patch(name, {"status": said}, subresource="status")

    async def let_go(self) -> None:
        """The driver has detached what is to be detached."""
        for attachment in (await self._attachments.list()).items:
            if attachment.metadata.deletion_timestamp is not None:
                body = {"metadata": {"finalizers": None}}
                await self._attachments.patch(attachment.metadata.name, body, patch_type=PatchType.MERGE)

    async def attachments(self) -> list[str]:
        """As ``node``, ``node attached`` or ``node going``, sorted."""
        found = []
        for it in (await self._attachments.list()).items:
            state = " going" if it.metadata.deletion_timestamp else " attached" if it.status.attached else ""
            found.append(f"{it.spec.node_name}{state}")
        return sorted(found)

    async def listed(self, node: str) -> list[str]:
        """The volumes that a node's status has as attached."""
        return [it.name for it in (await self._nodes.get(node)).status.volumes_attached or ()]


@asynccontextmanager
async def world(**options: Any) -> AsyncIterator[World]:
    """A cluster with the controller."""
    async with cluster({"attachdetach": AttachDetachController}, options) as inner:
        yield World(inner)
