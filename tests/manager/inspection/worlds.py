"""A small world to look at: two controllers with one informer each, on a clock that tests turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from kinformer.client import connect
from kinformer.clock import Clock, FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, ControllerContext, LeaderElection, Manager, SyncError
from kinformer.manager.inspection.views import TasksView, WebhookView
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1ResourceQuota
from tests.turning import eventually

__all__ = ("DAEMONS", "WEBHOOK", "World", "world")

WEBHOOK = WebhookView(
    path="/validate",
    kind="validating",
    resource="webapps.example.com",
    state="not registered",
    requests=7,
    refused=2,
    failed=1,
    running=0,
    requests_per_second=0.5,
    seconds_median=0.01,
    seconds_99=0.02,
)

DAEMONS = TasksView(
    name="probes",
    kind="daemons",
    running=3,
    failing=1,
    idle=2,
    errors=4,
    key="default/shop",
    error="no answer",
    due_seconds=8.0,
)


@dataclass
class World:
    """
    :param refuse: why syncs fail, by key
    :param takes: seconds that a sync takes, by key
    """

    clock: Any
    manager: Manager
    client: Any
    refuse: dict[str, str]
    takes: dict[str, float]
    server: ApiServer
    port: int = 0
    synced: list[str] = field(default_factory=list)

    @property
    def controller(self) -> Controller:
        return next(it for it in self.manager.inspector.controllers if it.name == "printer")

    async def create(self, name: str) -> None:
        made = V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"), data={"a": "b" * 100})
        await self.client.resource(V1ConfigMap).create(made)

    async def until_synced(self, *names: str) -> None:
        keys = {f"default/{name}" for name in names}
        await eventually(lambda: all(self.controller.history.runs(key) for key in keys), self.clock)


@asynccontextmanager
async def world(
    *,
    clock: Clock | None = None,
    endpoint: tuple[str, int] | None = None,
    election: LeaderElection | None = None,
    runs: bool = True,
) -> AsyncIterator[World]:
    """
    A manager, and its server, that run meanwhile.

    :param clock: one that tests turn if None
    """
    clock = clock or FakeClock()
    refuse: dict[str, str] = {}
    takes: dict[str, float] = {}

    def printer(context: ControllerContext) -> Controller:
        config_maps = context.informers.informer_for(V1ConfigMap)

        async def sync(key: str) -> None:
            if key in takes:
                await context.clock.sleep(takes[key])
            if key in refuse:
                raise SyncError(refuse[key])

        return Controller("printer", sync, workers=2, clock=context.clock).watch(config_maps)

    def counter(context: ControllerContext) -> Controller:
        async def sync(key: str) -> float:
            return 60.0

        return Controller("counter", sync, queue_name="counts", clock=context.clock).watch(
            context.informers.informer_for(V1ResourceQuota)
        )

    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token) as client:
        manager = Manager(
            client,
            known={"printer": printer, "counter": counter},
            clock=clock,
            endpoint=endpoint,
            leader_election=election,
        )
        async with anyio.create_task_group() as tasks:
            made = World(clock, manager, client, refuse, takes, server)
            if runs:
                tasks.start_soon(manager.run)
                if isinstance(clock, FakeClock):
                    await eventually(lambda: election or made.controller.has_synced, clock)
                if manager.endpoint is not None:
                    await manager.endpoint.listening.wait()
                    made.port = manager.endpoint.port
            yield made
            tasks.cancel_scope.cancel()
