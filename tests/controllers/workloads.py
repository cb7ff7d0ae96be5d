"""A controller of pods against the embedded server, with a kubelet that does only what the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Self

import anyio

from kinformer.client import Client, PatchType, connect
from kinformer.client.types import DeleteOptions
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import V1ControllerRevision, V1Pod, to_dict
from tests.golden.pace import scenario_clock
from tests.turning import turn

__all__ = ("WorkloadWorld", "is_pending")


class WorkloadWorld:
    """
    One object of a kind that has pods and a history, in namespace default. A subclass says of which kind.

    :cvar type: the kind
    :cvar controller: the controller's name
    :cvar name: the object's name
    """

    type: ClassVar[type[Any]]
    controller: ClassVar[str]
    name: ClassVar[str]

    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client = client
        self.clock = clock
        self.sets = client.resource(self.type)
        self.pods = client.resource(V1Pod)
        self.revisions = client.resource(V1ControllerRevision)

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[Self]:
        clock = scenario_clock()
        async with (
            ApiServer(clock=clock, controllers=False) as server,
            connect(url=server.url, token=server.token, clock=clock) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(Manager(client, controllers=[cls.controller], clock=clock).run)
            yield cls(client, clock)
            tasks.cancel_scope.cancel()

    async def settle(self, seconds: float = 2.0) -> None:
        await turn(self.clock, seconds)

    async def apply(self, obj: Any) -> None:
        """Create the object."""
        await self.sets.create({**to_dict(obj), "metadata": {"name": self.name, "namespace": "default"}})
        await self.settle()

    async def change(self, **spec: Any) -> None:
        await self.sets.patch(self.name, {"spec": spec}, "default", patch_type=PatchType.MERGE)
        await self.settle()

    async def image(self, image: str) -> None:
        await self.change(template={"spec": {"containers": [{"name": "c", "image": image}]}})

    async def run_where(
        self, wanted: Callable[[V1Pod], bool], node: Callable[[V1Pod], str], *, ready: bool, phase: str
    ) -> None:
        """What a scheduler and a kubelet do: pods are bound and run."""
        for pod in filter(wanted, (await self.pods.list("default")).items):
            if pod.spec is None or not pod.spec.node_name:
                await self.pods.bind(pod.metadata.name, node(pod), "default")
            since = self.clock.now().isoformat().replace("+00:00", "Z")
            condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
            status = {"phase": phase, "conditions": [condition]}
            await self.pods.patch(pod.metadata.name, {"status": status}, "default", subresource="status")
        await self.settle()

    async def remove(self, *names: str) -> None:
        """Delete pods at once; those that are being deleted if none is named."""
        for pod in (await self.pods.list("default")).items:
            name = pod.metadata.name
            if name in names if names else pod.metadata.deletion_timestamp:
                await self.pods.delete(name, "default", DeleteOptions(grace_period_seconds=0))
        await self.settle()

    async def status(self) -> dict[str, Any]:
        found = await self.sets.get(self.name, "default")
        return to_dict(found.status) if found.status is not None else {}

    async def history(self) -> list[tuple[int, str]]:
        """The number and the image of each ControllerRevision, the oldest first."""
        found = (await self.revisions.list("default")).items
        return sorted((one.revision, one.data["spec"]["template"]["spec"]["containers"][0]["image"]) for one in found)


def is_pending(pod: V1Pod) -> bool:
    return pod.status is not None and pod.status.phase == "Pending"
