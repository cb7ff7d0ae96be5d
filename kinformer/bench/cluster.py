"""Benchmarks of a user's cluster: the first sync of an informer and the cluster's events, and a manager's start.

The informer lists and watches pods in all namespaces. Nothing is written.

For the manager's start, controllers list and watch what they need, their handlers are called for every object, and keys
are queued. Each key that a worker takes is counted and dropped, so that no controller decides anything. In addition,
the client refuses every write (:class:`~kinformer.leaderelection.guard.Guard`).
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

import anyio

from kinformer.bench.informing import syncing
from kinformer.bench.measure import Stopwatch, current_kib
from kinformer.bench.results import BenchError, Figures
from kinformer.bench.runner import Case
from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import ListOptions, connect
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection.guard import Guard, guarded_client
from kinformer.manager import ControllerNotStarted, Manager
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Sync
from kinformer.models import V1Pod

__all__ = ("STARTED", "cases_of", "check_cluster")

#: The controllers that are started. They look at every pod, and most clusters have more pods than other objects.
STARTED: Final = ("replicationcontroller", "endpoint", "endpointslice", "resourcequota")


async def _start_manager(kubeconfig: str) -> Figures:
    """
    Start the controllers, and stop them when all have started and their queues are empty.

    :param kubeconfig: the path of the kubeconfig
    :raises BenchError: if a controller cannot start
    :raises ClientError: if the cluster cannot be reached, or refuses
    """
    imports = time.process_time()
    keys = 0

    def counting(_: Sync) -> Sync:
        async def count(key: str) -> None:
            nonlocal keys
            keys += 1

        return count

    async with connect(Path(kubeconfig)) as client, anyio.create_task_group() as tasks:
        reading = guarded_client(client, Guard("of a benchmark, which writes nothing", time.monotonic))
        informers = SharedInformerFactory(reading)
        manager = Manager(
            reading, controllers=STARTED, informers=informers, beside_kube_controller_manager=True, required=("*",)
        )
        parts = [part for controller in manager.controllers.values() for part in parts_of(controller)]
        for part in parts:
            part.wrap_sync(counting)

        async def run() -> None:
            try:
                await manager.run()
            except ControllerNotStarted as error:
                raise BenchError(str(error)) from error

        tasks.start_soon(run)
        for part in parts:
            await part.started.wait()
        while any(len(part.queue) for part in parts):
            await anyio.lowlevel.checkpoint()
        figures = {
            "objects": sum(len(informer.indexer) for informer in informers.informers.values()),
            "keys": keys,
            "seconds": round(_age(), 2),
            "CPU seconds": round(time.process_time(), 2),
            "of them imports": round(imports, 2),
            "MiB": round(current_kib() / 1024),
        }
        tasks.cancel_scope.cancel()
    return figures


def _age() -> float:
    """Seconds since this process was started (Linux only)."""
    ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def cases_of(kubeconfig: Path, seconds: float) -> dict[str, Case]:
    """
    The benchmarks of a cluster, by name.

    :param kubeconfig: the file with its address and credentials
    :param seconds: how long events are counted
    """
    of_it = {"kubeconfig": str(kubeconfig)}
    watched, started = ({**of_it, "seconds": seconds},), (of_it,)
    title = "An informer of the cluster's pods"
    start = "A manager's start on the cluster, until it could work"
    return {
        "cluster": Case(title, _watch_cluster, watched, watched, ("us CPU/event",), True, ("pods",), is_repeated=False),
        "start": Case(start, _start_manager, started, started, ("seconds",), True, (", ".join(STARTED),)),
    }


async def check_cluster(kubeconfig: Path) -> str:
    """
    Check that the pods of a cluster can be read.

    :param kubeconfig: the file with its address and credentials
    :return: the server's URL and its version
    :raises ClientError: if they cannot be read
    """
    async with connect(kubeconfig) as client:
        version = await client.server_version()
        await client.resource(V1Pod).list(options=ListOptions(limit=1))
        return f"{client.server} ({version.git_version})"


async def _watch_cluster(kubeconfig: str, seconds: float) -> Figures:
    """
    Measure the first sync of an informer, and then the events of the cluster.

    :param kubeconfig: the path of the kubeconfig
    :param seconds: how long events are counted
    :raises ClientError: if the cluster cannot be reached, or refuses
    """
    seen = 0

    def count(*_: Any) -> None:
        nonlocal seen
        seen += 1

    async with connect(Path(kubeconfig)) as client:
        handlers = [ResourceEventHandlerFuncs(count, count, count)]
        async with syncing(client.resource(V1Pod), V1Pod, handlers) as synced:
            objects, first = len(synced.informer.indexer), synced.figures
            seen, watch = 0, Stopwatch()
            await anyio.sleep(seconds)
            return {
                "objects": objects,
                "first sync s": first["seconds"],
                "first sync CPU s": first["CPU seconds"],
                # With a few objects, the memory for each cannot be measured.
                "KiB/object": first["KiB/object"] if objects >= 100 else "",
                "peak / stays": first["peak / stays"] if objects >= 100 else "",
                "seconds": seconds,
                "events": seen,
                "us CPU/event": round(watch.cpu / seen * 1e6, 1) if seen else "",
            }
