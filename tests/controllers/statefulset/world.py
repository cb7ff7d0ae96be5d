"""A StatefulSet controller against the embedded server, with a kubelet that does only what the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kinformer.client import Client, PatchType, connect
from kinformer.client.types import DeleteOptions
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import V1ControllerRevision, V1PersistentVolumeClaim, V1Pod, V1StatefulSet, to_dict
from tests.golden.pace import scenario_clock
from tests.turning import turn

__all__ = ("World", "running")


class World:
    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client = client
        self.clock = clock
        self.sets = client.resource(V1StatefulSet)
        self.pods = client.resource(V1Pod)
        self.claims = client.resource(V1PersistentVolumeClaim)

    async def settle(self, seconds: float = 2.0) -> None:
        await turn(self.clock, seconds)

    async def apply(self, statefulset: V1StatefulSet) -> None:
        """Create the StatefulSet, in namespace default."""
        body = to_dict(statefulset)
        body["metadata"] = {"name": "web", "namespace": "default", "annotations": {}}
        await self.sets.create(body)
        await self.settle()

    async def change(self, **spec: Any) -> None:
        await self.sets.patch("web", {"spec": spec}, "default", patch_type=PatchType.MERGE)
        await self.settle()

    async def image(self, image: str) -> None:
        await self.change(template={"spec": {"containers": [{"name": "c", "image": image}]}})

    async def run(self, *ordinals: int, ready: bool = True, phase: str = "Running") -> None:
        """What a scheduler and a kubelet do: those pods, or all that are pending, are bound and run."""
        for pod in (await self.pods.list("default")).items:
            name = pod.metadata.name
            number = int(name.rpartition("-")[2])
            if number not in ordinals if ordinals else pod.status is None or pod.status.phase != "Pending":
                continue
            if pod.spec is None or not pod.spec.node_name:
                await self.pods.bind(name, "n1", "default")
            since = self.clock.now().isoformat().replace("+00:00", "Z")
            condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
            status = {"phase": phase, "conditions": [condition]}
            await self.pods.patch(name, {"status": status}, "default", subresource="status")
        await self.settle()

    async def bring_up(self) -> None:
        """Run pods until none is pending any more."""
        while any((pod.status and pod.status.phase) == "Pending" for pod in (await self.pods.list("default")).items):
            await self.run()

    async def remove(self, *names: str) -> None:
        """Delete pods at once; those that are being deleted if none is named."""
        for pod in (await self.pods.list("default")).items:
            name = pod.metadata.name
            if name in names if names else pod.metadata.deletion_timestamp:
                await self.pods.delete(name, "default", DeleteOptions(grace_period_seconds=0))
        await self.settle()

    async def shown(self) -> list[str]:
        """The pods: ``name image phase``, with ``!`` after one that is being deleted."""
        return [
            f"{pod.metadata.name} {pod.spec.containers[0].image if pod.spec else ''} "
            f"{pod.status.phase if pod.status else ''}{'!' if pod.metadata.deletion_timestamp else ''}"
            for pod in (await self.pods.list("default")).items
        ]

    async def names(self) -> list[str]:
        """The names of the pods that are not being deleted."""
        pods = (await self.pods.list("default")).items
        return [pod.metadata.name for pod in pods if not pod.metadata.deletion_timestamp]

    async def status(self) -> dict[str, Any]:
        found = await self.sets.get("web", "default")
        return to_dict(found.status) if found.status is not None else {}

    async def revisions(self) -> list[tuple[int, str]]:
        """The number and the image of each ControllerRevision, the oldest first."""
        found = (await self.client.resource(V1ControllerRevision).list("default")).items
        return sorted((one.revision, one.data["spec"]["template"]["spec"]["containers"][0]["image"]) for one in found)


@asynccontextmanager
async def running() -> AsyncIterator[World]:
    clock = scenario_clock()
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(Manager(client, controllers=["statefulset"], clock=clock).run)
        yield World(client, clock)
        tasks.cancel_scope.cancel()
