"""A StatefulSet controller against the embedded server."""

from __future__ import annotations

from typing import Final

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.models import V1PersistentVolumeClaim, V1Pod, V1StatefulSet
from tests.controllers.workloads import WorkloadWorld, is_pending

__all__ = ("World", "running")


class World(WorkloadWorld):
    type, controller, name = V1StatefulSet, "statefulset", "web"

    def __init__(self, client: Client, clock: FakeClock) -> None:
        super().__init__(client, clock)
        self.claims = client.resource(V1PersistentVolumeClaim)

    async def run(self, *ordinals: int, ready: bool = True, phase: str = "Running") -> None:
        """Those pods run, or all that are pending."""

        def wanted(pod: V1Pod) -> bool:
            return int(pod.metadata.name.rpartition("-")[2]) in ordinals if ordinals else is_pending(pod)

        await self.run_where(wanted, lambda _: "n1", ready=ready, phase=phase)

    async def bring_up(self) -> None:
        """Run pods until none is pending any more."""
        while any(map(is_pending, (await self.pods.list("default")).items)):
            await self.run()

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


running: Final = World.running
