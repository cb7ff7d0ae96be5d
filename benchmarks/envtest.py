"""The embedded API server: how fast it starts, writes and sends events, and the memory of 100,000 objects.

    python -m benchmarks.envtest [--objects N]

For writes, the server runs in another process on one core, and the client on another core. The client has eight
requests under way and does as little work as possible, so that the server is measured. Two rates are printed: writes a
second, and writes a second of the server's CPU time. The second one is the same on a busy machine. A third rate is
measured as in a test: server and client (that of aiohttp) share one process and one core.

Watch events are counted per second of CPU time of the server and the client together, which share a process.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import anyio

from kinformer.envtest import ApiServer

PODS = "/api/v1/namespaces/default/pods"
IN_FLIGHT = 8
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
    """The highest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure_start() -> None:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        async with ApiServer():
            times.append(time.perf_counter() - started)
    print(f"start: first {times[0] * 1000:.0f} ms, then {min(times[1:]) * 1000:.1f} ms")


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process, in seconds (Linux only)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def on_core(number: int, pid: int = 0) -> None:
    """Bind a process to one core, if there are several."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[number]})


async def measure_writes(count: int) -> None:
    """Measure writes with a client on one core and a server on another."""
    cores = os.sched_getaffinity(0)
    command = [sys.executable, "-c", SERVE]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        port = int(await process.stdout.receive())
        try:
            on_core(0, process.pid)
            on_core(-1)
            connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(IN_FLIGHT)]
            for verb in ("creates", "patches"):
                used, started = cpu_seconds(process.pid), time.perf_counter()
                await shared(count, [partial(write_raw, reader, writer, verb) for reader, writer in connections])
                rate = count / (time.perf_counter() - started)
                per_cpu = count / (cpu_seconds(process.pid) - used)
                print(f"{verb}: {rate:,.0f}/s, {per_cpu:,.0f}/s of the server's CPU time")
            for _, writer in connections:
                writer.close()
        finally:
            process.terminate()
            os.sched_setaffinity(0, cores)


async def shared(count: int, workers: list[Callable[[Iterator[int]], Awaitable[None]]]) -> None:
    """Share the numbers from 0 to `count` out among workers, and wait until all are used."""
    numbers = iter(range(count))
    async with anyio.create_task_group() as group:
        for worker in workers:
            group.start_soon(worker, numbers)


async def write_raw(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, verb: str, numbers: Iterator[int]
) -> None:
    """Write objects with a client that needs very little CPU time."""
    for number in numbers:
        if verb == "creates":
            method, path, body = "POST", PODS, json.dumps(pod(f"p{number}"))
        else:
            method, path, body = "PATCH", f"{PODS}/p{number}", json.dumps({"metadata": {"labels": {"n": str(number)}}})
        type_ = "application/json" if verb == "creates" else MERGE["Content-Type"]
        head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\nContent-Type: {type_}\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert answer.startswith(b"http/1.1 20")
        await reader.readexactly(int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0]))


async def measure_writes_together(server: ApiServer, session: aiohttp.ClientSession, count: int) -> None:
    """Measure writes with server and client in this process."""
    for verb in ("creates", "patches"):
        started = time.perf_counter()
        await shared(count, [partial(write, session, verb)] * 4)
        print(f"{verb} with the client in the same process: {count / (time.perf_counter() - started):,.0f}/s")


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
    """
    Measure the events of several watches.

    The changes are made inside the server. So the time is only that of sending the events and of reading them.
    """
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
            await measure_writes_together(server, session, 2000)
            await measure_watches(server, session, 10, 5000)
        await measure_memory(server, objects)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=100_000)
    anyio.run(main, parser.parse_args().objects)
