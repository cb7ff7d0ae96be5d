"""The cost of the garbage collector: ``python -m benchmarks.garbage [--objects N] [--owners N]``.

The embedded server runs in another process and has the objects already. The collector follows it over HTTP, as in a
cluster. The figures are of the collector's process:

- the memory and the CPU time of each object in the first lists (cache and graph together)
- the CPU time of each update that changes no owner
- the CPU time of each object that the collector deletes after the owners were deleted
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import anyio
import structlog

from kinformer.client import connect
from kinformer.collector import relax
from kinformer.deletion.graph import Graph, Kind, Node, Phase
from kinformer.deletion.heads import Head, HeadMeta, Reference
from kinformer.envtest import ApiServer
from kinformer.envtest.operations import DeleteOptions
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext
from kinformer_controllers.garbagecollector.controller import GarbageCollector
from kinformer_controllers.garbagecollector.following import GraphFeeder

UPDATES = 200_000


def rss() -> int:
    """The resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# --- the server


async def serve(pipe: Connection, objects: int, owners: int) -> None:
    """
    Run a server.

    Its URL and token are sent through the pipe. Then it waits for a message, deletes the owners, and runs until the
    next message.

    :param objects: the number of objects with an owner
    :param owners: the number of their owners
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
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
            if number % 1000 == 0:
                await anyio.lowlevel.checkpoint()
        pipe.send((server.url, server.token))
        await anyio.to_thread.run_sync(pipe.recv)
        for number in range(owners):
            operations.delete(kind, "default", f"owner-{number}", DeleteOptions(propagation="Background"))
            await anyio.lowlevel.checkpoint()
        await anyio.to_thread.run_sync(pipe.recv)


def server_process(pipe: Connection, objects: int, owners: int) -> None:
    anyio.run(serve, pipe, objects, owners)


# --- the collector


async def collect(objects: int, owners: int) -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=server_process, args=(there, objects, owners))
    process.start()
    try:
        url, token = await anyio.to_thread.run_sync(here.recv)
        async with connect(url=url, token=token) as client, SharedInformerFactory(client) as informers:
            collector = GarbageCollector(ControllerContext(client, informers))
            gc.collect()
            memory, cpu = rss(), time.process_time()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(collector.run)
                await reached(lambda: collector.has_synced)
                gc.collect()
                seen = len(collector.graph.nodes)
                assert seen >= objects + owners
                used = (rss() - memory) / (objects + owners)
                took = (time.process_time() - cpu) / (objects + owners)
                print(f"first lists of {objects:,} objects: {took * 1e6:.1f} us CPU and {used:,.0f} bytes each")
                began, cpu = time.perf_counter(), time.process_time()
                here.send("delete the owners")
                await reached(lambda: len(collector.graph.nodes) <= seen - objects - owners)
                took, wall = (time.process_time() - cpu) / objects, time.perf_counter() - began
                print(
                    f"{owners:,} owners deleted: {took * 1e6:.0f} us CPU for each object deleted, {wall:.0f} s in all"
                )
                tasks.cancel_scope.cancel()
        here.send("end")
    finally:
        process.join(10)
        process.kill()


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


def updates() -> None:
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
    began = time.process_time()
    for _ in range(UPDATES // len(pairs)):
        for old, new in pairs:
            feeder.on_update(old, new)
    print(f"an update that changes no owner: {(time.process_time() - began) / UPDATES * 1e6:.2f} us CPU in the graph")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--owners", type=int, default=1000)
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    relax()
    updates()
    anyio.run(collect, arguments.objects, arguments.owners)


if __name__ == "__main__":
    main()
