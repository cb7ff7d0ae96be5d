"""A world for the endpoint slice controller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kinformer.models import V1Endpoint, V1EndpointSlice
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.endpointslice.controller import EndpointSliceController
from tests.controllers.objects import FakeContext, drained
from tests.controllers.shared.services.world import World, make_node

__all__ = ("Slices",)


class Slices(World):
    """A world with the controller, and the node n1, in it."""

    def __init__(self, *objects: Any, max_per_slice: int = 100, batch_period: float = 0.0) -> None:
        super().__init__()
        controller = EndpointSliceController(
            # This object is the client, and the factory of informers.
            FakeContext(
                self,
                self,
                self.recorder,
                clock=self.clock,
                max_endpoints_per_slice=max_per_slice,
                endpointslice_updates_batch_period=batch_period,
            )
        )
        self.sync_key: Callable[[str], Awaitable[float | None]] = controller.sync
        self.queue: RateLimitingQueue[str] = controller.controller.queue
        self.tracker = controller.tracker
        self.nodes = controller.nodes
        self.put(make_node(), *objects)

    async def sync(self, name: str = "web") -> float | None:
        return await self.sync_key(f"ns/{name}")

    async def queued(self) -> list[str]:
        return drained(self.queue)

    @property
    def verbs(self) -> list[str]:
        return [write.partition(" ")[0] for write in self.writes]

    @property
    def slice(self) -> V1EndpointSlice:
        [only] = self.slices()
        return only

    def endpoint(self, pod: str) -> V1Endpoint:
        [found] = [each for one in self.slices() for each in one.endpoints or () if each.target_ref.name == pod]
        return found

    def addresses(self) -> list[str]:
        return sorted(ip for one in self.slices() for each in one.endpoints or () for ip in each.addresses)
