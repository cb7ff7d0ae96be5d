"""Fake nodes at scale: a server, a client, 1,000 nodes and 20,000 pods in one process.

    python -m benchmarks.nodes [--nodes N] [--pods N] [--profile FILE]

For each step, the wall time, the CPU time of this process, and its highest memory so far are printed. Pods are created
inside the server, so that the nodes' work is measured: each pod is bound, reported as running, and removed when it is
deleted.
"""

from __future__ import annotations

import argparse
import cProfile
import resource
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import structlog

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.envtest.operations import DeleteOptions

PIECE = 200


def pod(number: int) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]}
    return {"metadata": {"name": f"p-{number}", "labels": {"app": f"a{number % 100}"}}, "spec": spec}


async def measure(what: str, count: int, step: Callable[[], Awaitable[None]]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    await step()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<28}{count:>8,}{wall:>9.1f} s{cpu:>9.1f} s{count / cpu:>10,.0f}/s{memory:>9,.0f} MB", flush=True)


async def main(nodes: int, pods: int) -> None:
    print(f"{'':<28}{'count':>8}{'time':>11}{'CPU':>11}{'per CPU s':>12}{'memory':>12}")
    async with ApiServer(plugins=False) as server, connect(url=server.url, token=server.token) as client:
        agents = FakeNodes(client, nodes)
        resource_ = server.registry.find("", "v1", "pods")
        assert resource_ is not None
        log = server.storage.log(resource_.storage)

        async def until(true: Callable[[], bool]) -> None:
            while not true():  # noqa: ASYNC110  # a handler called for each change would be measured, too
                await anyio.sleep(0.25)

        async def create() -> None:
            for number in range(pods):
                obj = pod(number)
                server.operations.strategy(resource_).default(obj)
                server.operations.create(resource_, "default", obj)
                if number % PIECE == 0:
                    await anyio.lowlevel.checkpoint()

        async def run() -> None:
            # A pod gets several versions on its way. It is counted when its last one says that it runs.
            await until(lambda: sum(b'"phase":"Running"' in one.raw for one in log.objects.values()) == pods)

        async def delete() -> None:
            for number in range(pods):
                server.operations.delete(resource_, "default", f"p-{number}", DeleteOptions())
                if number % PIECE == 0:
                    await anyio.lowlevel.checkpoint()
            await until(lambda: not log.objects)

        async with anyio.create_task_group() as group:
            group.start_soon(agents.run)
            await measure("nodes registered", nodes, agents.wait_registered)
            await measure("pods created", pods, create)
            await measure("pods bound and running", pods, run)
            await measure("Leases renewed", nodes, agents.renew_leases)
            await measure("pods deleted and gone", pods, delete)
            group.cancel_scope.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--profile", metavar="FILE", help="write a profile, for pstats")
    arguments = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    profile = cProfile.Profile()
    if arguments.profile:
        profile.enable()
    anyio.run(main, arguments.nodes, arguments.pods)
    if arguments.profile:
        profile.dump_stats(arguments.profile)
