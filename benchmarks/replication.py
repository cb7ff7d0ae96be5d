"""The cost of the ReplicationController controller: ``python -m benchmarks.replication``.

The embedded API server runs in another process. The figures are wall time, and the CPU time of this process, which has
the client, the informers and the controller.

- ``up`` and ``down``: one ReplicationController is scaled from 0 to many replicas and back, until its status says so;
- ``fairness``: many ReplicationControllers are made at once. Measured is how long each waits for its first sync, and
  how long until its status has the wanted replicas.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import structlog

from benchmarks.servers import api_server
from kinformer.client import Client, connect
from kinformer.manager import Manager
from kinformer.models import V1ReplicationController, from_dict

NAMESPACE = "default"


def manifest(name: str, replicas: int) -> V1ReplicationController:
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": "img"}]}
    return from_dict(
        V1ReplicationController,
        {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "replicas": replicas,
                "selector": labels,
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    )


class Bench:
    """A manager, and what its cache shows."""

    def __init__(self, client: Client, workers: int) -> None:
        self.rcs = client.resource(V1ReplicationController)
        options = {"concurrent_rc_syncs": workers}
        self.manager = Manager(client, controllers=["replicationcontroller"], options=options)
        self._cache = self.manager.context.informers.informer_for(V1ReplicationController).indexer
        self._waiting: dict[str, int] = {}
        self.reached: dict[str, float] = {}
        self._all_reached = anyio.Event()
        self.manager.context.informers.informer_for(V1ReplicationController).add_event_handler(self)

    def on_add(self, rc: V1ReplicationController, is_in_initial_list: bool, /) -> None:
        self.on_update(rc, rc)

    def on_update(self, old: V1ReplicationController, rc: V1ReplicationController, /) -> None:
        name = rc.metadata.name
        if self._waiting.get(name) == rc.status.replicas and rc.status.observed_generation == rc.metadata.generation:
            del self._waiting[name]
            self.reached[name] = time.perf_counter()
            if not self._waiting:
                self._all_reached.set()

    def on_delete(self, rc: Any, /) -> None:
        """No object is deleted while this runs."""

    @asynccontextmanager
    async def until(self, replicas: dict[str, int]) -> AsyncIterator[None]:
        """At the end of the block, wait until the statuses in the cache have these replicas, by name."""
        self._waiting, self._all_reached = dict(replicas), anyio.Event()
        yield
        await self._all_reached.wait()


@contextmanager
def measured(what: str, pods: int) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{what:10} {wall:7.2f} s wall {cpu:7.2f} s CPU {cpu / pods * 1000:7.3f} ms CPU a pod")


async def up_and_down(bench: Bench, replicas: int) -> None:
    began = time.process_time()
    with measured(f"up {replicas}", replicas):
        async with bench.until({"web": replicas}):
            await bench.rcs.create(manifest("web", replicas))
    with measured(f"down {replicas}", replicas):
        async with bench.until({"web": 0}):
            await bench.rcs.patch("web", {"spec": {"replicas": 0}}, NAMESPACE)
    cpu = time.process_time() - began
    print(f"both: {cpu / replicas * 1000:.3f} ms of CPU for a pod made and removed")


async def fairness(bench: Bench, count: int, replicas: int) -> None:
    names = [f"rc-{index}" for index in range(count)]
    made: dict[str, float] = {}
    first_sync: dict[str, float] = {}
    controller: Any = bench.manager.controllers["replicationcontroller"]
    sync: Callable[[str], Awaitable[float | None]] = controller._sync

    async def noting(key: str) -> float | None:
        first_sync.setdefault(key.partition("/")[2], time.perf_counter())
        return await sync(key)

    async def make(name: str) -> None:
        await bench.rcs.create(manifest(name, replicas))
        made[name] = time.perf_counter()

    controller._sync = noting
    with measured(f"{count} rcs", count * replicas):
        async with bench.until(dict.fromkeys(names, replicas)), anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(make, name)
    start = min(made.values())
    for what, ends in (("first sync", first_sync), ("converged", bench.reached)):
        since_made = sorted(max(ends[name] - made[name], 0.0) * 1000 for name in names)
        since_start = sorted((ends[name] - start) * 1000 for name in names)
        for of, waits in (("its create", since_made), ("the first create", since_start)):
            median = statistics.median(waits)
            print(
                f"{what:10} after {of:16}: median {median:7.1f} ms, last {waits[-1]:7.1f} ms"
                f" ({waits[-1] / median if median else 0:.2f} times)"
            )


async def run(kubeconfig: Path, arguments: argparse.Namespace) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    async with connect(kubeconfig=kubeconfig) as client, anyio.create_task_group() as tasks:
        bench = Bench(client, arguments.workers)
        tasks.start_soon(bench.manager.run)
        profile = cProfile.Profile(time.process_time)
        if arguments.profile:
            profile.enable()
        await up_and_down(bench, arguments.replicas)
        profile.disable()
        if arguments.profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        if arguments.controllers:
            await fairness(bench, arguments.controllers, replicas=5)
        tasks.cancel_scope.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=2000)
    parser.add_argument("--controllers", type=int, default=200, help="how many for fairness; 0 to leave this part out")
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="profile the run, which makes it slower")
    arguments = parser.parse_args()
    with api_server() as kubeconfig:
        anyio.run(run, kubeconfig, arguments)


if __name__ == "__main__":
    main()
