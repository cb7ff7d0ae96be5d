"""A manager's start on a user's cluster: from the start of the process until its controllers could do their work.

The controllers list and watch what they need, their handlers are called for every object, and keys are queued. Each
key that a worker takes is counted and dropped, so that no controller decides anything. In addition, the client refuses
every write (:class:`~kinformer.leaderelection.guard.Guard`).
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import anyio

from kinformer.bench.measure import current_kib
from kinformer.bench.results import BenchError, Figures
from kinformer.client import connect
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection.guard import Guard, guarded_client
from kinformer.manager import ControllerNotStarted, Manager
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Sync

__all__ = ("STARTED", "start_manager")

#: The controllers that are started. They look at every pod, and most clusters have more pods than other objects.
STARTED: Final = ("replicationcontroller", "endpoint", "endpointslice", "resourcequota")


async def start_manager(kubeconfig: str) -> Figures:
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
