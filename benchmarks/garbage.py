"""The cost of the garbage collector.

The embedded server runs in another process and has the objects already. The collector follows it over HTTP, as in a
cluster. The figures are of the collector's process:

- the memory and the CPU time of each object in the first lists (cache and graph together)
- the CPU time of each update that changes no owner
- the CPU time of each object that the collector deletes after the owners were deleted
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from kinformer.bench.measure import Stopwatch, current_kib
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import Commands, remote
from kinformer.client import connect
from kinformer.deletion.graph import Graph, Kind, Node, Phase
from kinformer.deletion.heads import Head, HeadMeta, Reference
from kinformer.envtest import ApiServer
from kinformer.envtest.operations import DeleteOptions
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext
from kinformer_controllers.garbagecollector.controller import GarbageCollector
from kinformer_controllers.garbagecollector.following import GraphFeeder


@asynccontextmanager
async def serve(objects: int, owners: int) -> AsyncIterator[tuple[ApiServer, Commands]]:
    """Serve objects and their owners; the command ``delete`` deletes the owners."""
    async with ApiServer(controllers=False, plugins=False) as server:
        operations = server.operations
        kind = server.registry.find("", "v1", "configmaps")
        assert kind is not None
        references = []
        for number in range(owners):
            made = operations.create(kind, "default", {"metadata": {"name": f"owner-{number}", "namespace": "default"}})
            meta = made.decode()["metadata"]
            references.append(
                {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], "controller": True}
            )
        for number in range(objects):
            reference = references[number % owners]
            meta = {"name": f"{reference['name']}-{number}", "namespace": "default", "ownerReferences": [reference]}
            operations.create(kind, "default", {"metadata": {**meta, "labels": {"app": "web"}}, "data": {"k": "v"}})

        async def delete() -> None:
            for number in range(owners):
                operations.delete(kind, "default", f"owner-{number}", DeleteOptions(propagation="Background"))
                await anyio.lowlevel.checkpoint()

        yield server, {"delete": delete}


async def collect(objects: int, owners: int) -> Figures:
    with remote(serve, objects=objects, owners=owners) as server:
        async with connect(kubeconfig=server.kubeconfig) as client, SharedInformerFactory(client) as informers:
            collector = GarbageCollector(ControllerContext(client, informers))
            gc.collect()
            memory, watch = current_kib(), Stopwatch()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(collector.run)
                await reached(lambda: collector.has_synced)
                gc.collect()
                seen, cpu, stays = len(collector.graph.nodes), watch.cpu, current_kib() - memory
                assert seen >= objects + owners
                watch = Stopwatch()
                await anyio.to_thread.run_sync(server.do, "delete")
                await reached(lambda: len(collector.graph.nodes) <= seen - objects - owners)
                figures = {
                    "us CPU/object listed": round(cpu / (objects + owners) * 1e6, 1),
                    "bytes/object": round(stays * 1024 / (objects + owners)),
                    "us CPU/object deleted": round(watch.cpu / objects * 1e6),
                    "seconds to delete": round(watch.wall, 1),
                }
                tasks.cancel_scope.cancel()
    return figures


async def reached(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110  # the collector has no event for this; the check costs almost nothing
        await anyio.sleep(0.05)


# --- the graph alone


class Nothing:
    """An agenda that ignores everything."""

    def look_at(self, node: Node, /) -> None: ...
    def look_later(self, node: Node, /) -> None: ...
    def orphan(self, node: Node, /) -> None: ...
    def misplaced(self, node: Node, owner: Any, /) -> None: ...


async def updates(count: int) -> Figures:
    """Measure updates that change no owner. Most events in a cluster are such updates."""
    graph, kind = Graph(Nothing()), Kind("v1", "Pod")

    def head(number: int) -> Head:
        reference = Reference("apps/v1", "ReplicaSet", f"web-{number % 100}", f"owner-{number % 100}", True)
        return Head(HeadMeta(uid=f"u-{number}", name=f"p-{number}", namespace="ns", owner_references=[reference]))

    for number in range(100):
        graph.see(Kind("apps/v1", "ReplicaSet"), "ns", f"web-{number}", f"owner-{number}", (), Phase.LIVING)
    feeder = GraphFeeder(graph, kind, Head)
    pairs = [(head(number), head(number)) for number in range(10_000)]
    for old, _ in pairs:
        feeder.on_add(old, True)
    watch = Stopwatch()
    for _ in range(count // len(pairs)):
        for old, new in pairs:
            feeder.on_update(old, new)
    return {"us CPU/update": round(watch.cpu / count * 1e6, 2)}


CASES = {
    "garbage": Case(
        "The garbage collector: the first lists, and what it deletes after the owners",
        collect,
        each("objects", (100_000,), owners=1_000),
        each("objects", (500,), owners=10),
        ("us CPU/object listed", "us CPU/object deleted"),
        lower_is_better=True,
    ),
    "garbage-updates": Case(
        "An update that changes no owner, in the graph alone",
        updates,
        each("count", (200_000,)),
        each("count", (20_000,)),
        ("us CPU/update",),
        lower_is_better=True,
    ),
}
