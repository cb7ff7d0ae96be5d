"""The embedded API server: how fast it starts, writes and tells, and what 100,000 objects take.

    python -m benchmarks.envtest [--objects N]

Rates are per second of CPU time, so that they say the same on a machine that has other things to do: for writes of the
server's, which has a process of its own; for watches of both ends together, which share one.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import anyio

from kinformer.envtest import ApiServer

PODS = "/api/v1/namespaces/default/pods"
SERVE = """
import anyio
from kinformer.envtest import ApiServer

async def main():
    async with ApiServer(token="t", plugins=False) as server:
        print(server.port, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""
MERGE = {"Content-Type": "application/merge-patch+json"}


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def memory() -> float:
    """The most that this process has taken, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure_start() -> None:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        async with ApiServer():
            times.append(time.perf_counter() - started)
    print(f"start: first {times[0] * 1000:.0f} ms, then {min(times[1:]) * 1000:.1f} ms")


def cpu_seconds(pid: int) -> float:
    """What a process has used of the CPU, as Linux tells it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure_writes(count: int) -> None:
    """One client with four connections, and a server in a process of its own."""
    command = [sys.executable, "-c", SERVE]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(await process.stdout.receive())}"
        try:
            async with aiohttp.ClientSession(url, headers={"Authorization": "Bearer t"}) as session:
                for verb in ("creates", "patches"):
                    before = cpu_seconds(process.pid)
                    numbers = iter(range(count))
                    async with anyio.create_task_group() as group:
                        for _ in range(4):
                            group.start_soon(write, session, verb, numbers)
                    print(f"{verb}: {count / (cpu_seconds(process.pid) - before):,.0f}/s")
        finally:
            process.terminate()


async def write(session: aiohttp.ClientSession, verb: str, numbers: Iterator[int]) -> None:
    for number in numbers:
        if verb == "creates":
            request = session.post(PODS, json=pod(f"p{number}"))
        else:
            body = {"metadata": {"labels": {"n": str(number)}}}
            request = session.patch(f"{PODS}/p{number}", json=body, headers=MERGE)
        async with request as response:
            assert response.status < 300
            await response.read()


async def measure_watches(server: ApiServer, session: aiohttp.ClientSession, watchers: int, changes: int) -> None:
    """Changes are made inside the server, so that the time is that of telling, by the server and to the client."""
    pods = server.registry.find("", "v1", "pods")
    assert pods is not None
    responses = [
        await session.get(f"{PODS}?watch=true&resourceVersion={server.storage.version}") for _ in range(watchers)
    ]

    async def read(response: aiohttp.ClientResponse) -> None:
        seen = 0
        while seen < changes:
            seen += (await response.content.readany()).count(b"\n")

    def change(number: int) -> Any:
        def edit(obj: Any) -> Any:
            obj["metadata"]["labels"]["w"] = str(number)
            return obj

        return edit

    readers = [asyncio.create_task(read(response)) for response in responses]
    started = time.process_time()
    writing = 0.0
    for number in range(changes):
        before = time.process_time()
        server.operations.update(pods, "default", f"p{number % 500}", change(number))
        writing += time.process_time() - before
        if number % 20 == 0:
            await asyncio.sleep(0)
    await asyncio.gather(*readers)
    spent = time.process_time() - started - writing
    for response in responses:
        response.close()
    print(f"watch events out to {watchers} watchers: {watchers * changes / spent:,.0f}/s")


async def measure_memory(server: ApiServer, count: int) -> None:
    config_maps = server.registry.find("", "v1", "configmaps")
    assert config_maps is not None
    gc.collect()
    before = memory()
    for number in range(count):
        obj = {"metadata": {"name": f"c{number}", "labels": {"app": "a"}}, "data": {"k": "v" * 200}}
        server.operations.create(config_maps, "default", obj)
        if number % 1000 == 0:
            await asyncio.sleep(0)
    print(f"{count:,} objects: {memory() - before:,.0f} MB more, {memory():,.0f} MB in all")


async def main(objects: int) -> None:
    await measure_start()
    await measure_writes(4000)
    async with ApiServer(plugins=False) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(server.url, headers=headers, connector=connector) as session:
            for number in range(500):
                await (await session.post(PODS, json=pod(f"p{number}"))).read()
            await measure_watches(server, session, 10, 5000)
        await measure_memory(server, objects)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=100_000)
    anyio.run(main, parser.parse_args().objects)
