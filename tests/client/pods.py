"""A pod that runs on an embedded server, for tests of what is asked of its containers."""

from __future__ import annotations

from kinformer.client import Client, PatchType, Resource
from kinformer.models import V1Pod

__all__ = ("running_pod",)


async def running_pod(client: Client, name: str = "web", *containers: str, waiting: bool = False) -> Resource[V1Pod]:
    """Make a pod on a node, whose status says that its containers run; the verbs of pods."""
    names = containers or ("app",)
    pods = client.resource(V1Pod)
    spec = {"nodeName": "node-0", "containers": [{"name": each, "image": "i"} for each in names]}
    await pods.create({"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    state = {"waiting": {"reason": "ContainerCreating"}} if waiting else {"running": {}}
    told = [
        {"name": each, "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": state} for each in names
    ]
    status = {"status": {"phase": "Running", "containerStatuses": told}}
    await pods.patch(name, status, "default", subresource="status", patch_type=PatchType.MERGE)
    return pods
