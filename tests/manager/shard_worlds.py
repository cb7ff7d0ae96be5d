"""Managers that share the keys out, each of which can be stopped or cut off, on an embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

import anyio

from kinformer.client import Client, WrappedTransport, connect
from kinformer.client.errors import ConnectionLost
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, ControllerContext, Manager, MembershipLost, Sharding, ShardingConflict
from kinformer.models import V1ConfigMap, V1Namespace, V1ObjectMeta, V1ReplicaSet, from_dict
from kinformer.sharding import DEFAULT_GROUP, RangeState
from tests.turning import eventually, quiet

__all__ = ("NAMESPACES", "Process", "World", "a_world", "replica_set")

By: TypeAlias = Literal["namespace", "owner"]

NAMESPACES = [f"team-{number:02d}" for number in range(12)]


class Process:
    """One manager, what it has synced, and the means to have it stop answering."""

    def __init__(
        self, world: World, name: str, controllers: dict[str, Any] | None, by_uid: tuple[type[Any], ...], by: By
    ) -> None:
        self.world = world
        self.synced: list[str] = []
        self.running: set[str] = set()
        self.is_cut = False
        #: Whether objects cannot be replaced.
        self.has_no_puts = False
        #: Seconds of a sync.
        self.takes = 0.2
        self.error: Exception | None = None
        self.ended = False
        self.scope = anyio.CancelScope()
        self.manager = Manager(
            world.client.through(lambda transport: _Wire(transport, self)),
            known=controllers or {"noted": self._make},
            controllers=["*"],
            clock=world.clock,
            sharding=Sharding(identity=name, by=by, by_uid=by_uid, fenced=("configmaps",)),
        )

    def _make(self, context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            if any(key in process.running for process in self.world.processes):
                self.world.collided.append(key)
            self.running.add(key)
            self.synced.append(key)
            try:
                await context.clock.sleep(self.takes)
            finally:
                self.running.discard(key)

        return Controller("noted", sync, clock=context.clock).watch(context.informers.informer_for(V1ConfigMap))

    @property
    def owned(self) -> frozenset[int]:
        assert self.manager.shards is not None
        return self.manager.shards.member.gate.in_state(RangeState.OPEN)

    def cached(self, type_: type[Any]) -> set[str]:
        return set(self.manager.context.informers.informer_for(type_).indexer.list_keys())

    async def run(self) -> None:
        with self.scope:
            try:
                await self.manager.run()
            except (MembershipLost, ShardingConflict) as error:
                self.error = error
        self.ended = True


class _Wire(WrappedTransport):
    """Sends nothing any more once its process is cut off."""

    def __init__(self, transport: Any, process: Process) -> None:
        super().__init__(transport)
        self._process = process

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        if self._process.is_cut:
            await anyio.sleep_forever()
        if method == "PUT" and path.endswith(f"/{DEFAULT_GROUP}") and self._process.has_no_puts:
            raise ConnectionLost("test", "reset")
        return await self._transport.request(method, path, **request)


class World:
    def __init__(self, client: Client, clock: FakeClock, tasks: anyio.abc.TaskGroup) -> None:
        self.client = client
        self.clock = clock
        self.processes: list[Process] = []
        #: Keys that were in two syncs at a time.
        self.collided: list[str] = []
        self.start_soon = tasks.start_soon

    def start(
        self,
        name: str,
        controllers: dict[str, Any] | None = None,
        by_uid: tuple[type[Any], ...] = (),
        by: By = "namespace",
    ) -> Process:
        process = Process(self, name, controllers, by_uid, by)
        self.processes.append(process)
        self.start_soon(process.run)
        return process

    async def until_shared(self, *processes: Process) -> None:
        """Until these have all ranges open between them, and each some."""

        def is_shared() -> bool:
            owned = [process.owned for process in processes]
            return all(owned) and sorted(number for numbers in owned for number in numbers) == list(range(64))

        await eventually(is_shared, self.clock)

    async def make(self, name: str = "c") -> set[str]:
        """A ConfigMap in each namespace; their keys."""
        for namespace in NAMESPACES:
            metadata = V1ObjectMeta(name=name, namespace=namespace)
            await self.client.resource(V1ConfigMap).create(V1ConfigMap(metadata=metadata))
        await quiet()
        return {f"{namespace}/{name}" for namespace in NAMESPACES}


@asynccontextmanager
async def a_world() -> AsyncIterator[World]:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        for namespace in NAMESPACES:
            await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=namespace)))
        world = World(client, clock, tasks)
        try:
            yield world
        finally:
            for process in world.processes:
                process.is_cut = False
                process.scope.cancel()
            await eventually(lambda: all(process.ended for process in world.processes), clock)
        assert not world.collided


def replica_set(namespace: str, name: str = "web") -> V1ReplicaSet:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    return from_dict(V1ReplicaSet, {"metadata": {"name": name, "namespace": namespace}, "spec": spec})
