"""The system pods of a kubeadm cluster: a control plane's node, its pods, and their owners, for ``system_pods=True``.

``system_objects.yaml`` lists the objects. A fake node keeps the pods ready.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kinformer.client import AlreadyExists, Client, PatchType
from kinformer.envtest.controllers import Served, connected
from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.waiting import running

__all__ = ("running_system_pods",)


@asynccontextmanager
async def running_system_pods(server: Served) -> AsyncIterator[None]:
    """Create the objects that are not there yet, and keep the pods ready while the block runs."""
    from kinformer.envtest.nodes import FakeNodes

    async with connected(server) as client:
        await _create_objects(client)
        nodes = FakeNodes(
            client,
            1,
            prefix="control-plane",
            pod_network="10.244.0.0/24",
            node_network="172.18.0.0/16",
            schedules=False,
            clock=server.clock,
        )
        async with running(nodes):
            await nodes.wait_registered()
            yield


async def _create_objects(client: Client) -> None:
    made: dict[str, dict[str, Any]] = {}
    for place, objects in read_yaml(__package__, "system_objects.yaml").items():
        group_version, _, plural = place.rpartition("/")
        group, _, version = group_version.rpartition("/")
        resource = client.resource(dict, (group, version, plural))
        for obj in objects:
            metadata = dict(obj["metadata"])
            if "owner" in obj:
                metadata["ownerReferences"] = [_reference(made[obj["owner"]])]
            name, namespace = metadata["name"], metadata.get("namespace", "")
            try:
                created = await resource.create({"metadata": metadata, "spec": obj["spec"]}, namespace)
            except AlreadyExists:
                created = await resource.get(name, namespace)
            if "status" in obj:
                patch = {"status": obj["status"]}
                await resource.patch(name, patch, namespace, subresource="status", patch_type=PatchType.MERGE)
            made[f"{created['kind']} {name}"] = created


def _reference(owner: dict[str, Any]) -> dict[str, Any]:
    metadata = owner["metadata"]
    head = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**head, "name": metadata["name"], "uid": metadata["uid"], "controller": True}
