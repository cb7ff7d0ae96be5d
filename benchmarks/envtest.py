"""The embedded API server: how fast it starts, writes and sends events, and the memory of 100,000 objects.

For writes, the server runs in another process on one core, and the client on another core. The client has eight
requests under way and does as little work as possible, so that the server is measured. Two rates are measured: writes a
second, and writes a second of the server's CPU time. The second one is the same on a busy machine. Other rows are as in
a test: server and client (that of aiohttp) share one process and one core.

Watch events are counted per second of CPU time of the server and the client together, which share a process.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import anyio
import yaml

from kinformer.bench.measure import Stopwatch, cpu_seconds, current_kib, peak_kib
from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import Commands, Remote, remote
from kinformer.envtest import ApiServer

PODS = "/api/v1/namespaces/default/pods"
IN_FLIGHT = 8
CREATES, PATCHES = "creates", "patches"
MERGE = {"Content-Type": "application/merge-patch+json"}
#: The number of pods whose changes are watched.
_WATCHED = 500


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def starts(times: int) -> Figures:
    """Measure starts. The first one imports modules and fills caches."""
    took = []
    for _ in range(times):
        watch = Stopwatch()
        async with ApiServer():
            took.append(watch.wall)
    return {"first ms": round(took[0] * 1000), "then ms": round(min(took[1:]) * 1000, 1)}


@asynccontextmanager
async def serve() -> AsyncIterator[tuple[ApiServer, Commands]]:
    async with ApiServer(plugins=False) as server:
        yield server, {}


def _on_core(number: int, pid: int = 0) -> None:
    """Bind a process to one core, if there are several."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[number]})


async def writes(verb: str, count: int) -> Figures:
    """Measure writes with a client on one core and a server on another."""
    with remote(serve) as server:
        _on_core(0, server.process.pid)
        _on_core(-1)
        return await _write_to(server, verb, count)


async def _write_to(server: Remote, verb: str, count: int) -> Figures:
    found = yaml.safe_load(server.kubeconfig.read_text())
    url, token = urlsplit(found["clusters"][0]["cluster"]["server"]), found["users"][0]["user"]["token"]
    connections = [await asyncio.open_connection(url.hostname, url.port) for _ in range(IN_FLIGHT)]

    async def all_of(kind: str) -> None:
        await _shared(count, [partial(_write_raw, reader, writer, token, kind) for reader, writer in connections])

    if verb == PATCHES:
        await all_of(CREATES)
    used, watch = cpu_seconds(server.process.pid), Stopwatch()
    await all_of(verb)
    figures = {
        "writes/s": round(count / watch.wall),
        "writes/CPU-s": round(count / max(cpu_seconds(server.process.pid) - used, 0.01)),
    }
    for _, writer in connections:
        writer.close()
    return figures


async def _shared(count: int, workers: list[Callable[[Iterator[int]], Awaitable[None]]]) -> None:
    """Share the numbers from 0 to `count` out among workers, and wait until all are used."""
    numbers = iter(range(count))
    async with anyio.create_task_group() as group:
        for worker in workers:
            group.start_soon(worker, numbers)


async def _write_raw(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str, verb: str, numbers: Iterator[int]
) -> None:
    """Write objects with a client that needs very little CPU time."""
    for number in numbers:
        if verb == CREATES:
            method, path, body = "POST", PODS, json.dumps(pod(f"p{number}"))
        else:
            method, path, body = "PATCH", f"{PODS}/p{number}", json.dumps({"metadata": {"labels": {"n": str(number)}}})
        type_ = "application/json" if verb == CREATES else MERGE["Content-Type"]
        head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Type: {type_}\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert answer.startswith(b"http/1.1 20")
        await reader.readexactly(int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0]))


@asynccontextmanager
async def _together() -> AsyncIterator[tuple[ApiServer, aiohttp.ClientSession]]:
    """A server and a client in this process."""
    async with ApiServer(plugins=False) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(server.url, headers=headers, connector=connector) as session:
            yield server, session


async def writes_together(verb: str, count: int) -> Figures:
    """Measure writes with server and client in this process."""
    async with _together() as (_, session):
        if verb == PATCHES:
            await _shared(count, [partial(_write, session, CREATES)] * 4)
        watch = Stopwatch()
        await _shared(count, [partial(_write, session, verb)] * 4)
        return {"writes/s": round(count / watch.wall)}


async def _write(session: aiohttp.ClientSession, verb: str, numbers: Iterator[int]) -> None:
    for number in numbers:
        if verb == CREATES:
            request = session.post(PODS, json=pod(f"p{number}"))
        else:
            body = {"metadata": {"labels": {"n": str(number)}}}
            request = session.patch(f"{PODS}/p{number}", json=body, headers=MERGE)
        async with request as response:
            assert response.status < 300
            await response.read()


async def watches(watchers: int, changes: int) -> Figures:
    """
    Measure the events of several watches.

    The changes are made inside the server. So the time is only that of sending the events and of reading them.
    """
    async with _together() as (server, session):
        await _shared(_WATCHED, [partial(_write, session, CREATES)] * 4)
        return await _watch(server, session, watchers, changes)


async def _watch(server: ApiServer, session: aiohttp.ClientSession, watchers: int, changes: int) -> Figures:
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
    watch = Stopwatch()
    writing = 0.0
    for number in range(changes):
        before = watch.cpu
        server.operations.update(pods, "default", f"p{number % _WATCHED}", change(number))
        writing += watch.cpu - before
        if number % 20 == 0:
            await asyncio.sleep(0)
    await asyncio.gather(*readers)
    spent = watch.cpu - writing
    for response in responses:
        response.close()
    return {"events/CPU-s": round(watchers * changes / spent)}


async def objects(count: int) -> Figures:
    async with ApiServer(plugins=False) as server:
        config_maps = server.registry.find("", "v1", "configmaps")
        assert config_maps is not None
        gc.collect()
        before = current_kib()
        for number in range(count):
            obj = {"metadata": {"name": f"c{number}", "labels": {"app": "a"}}, "data": {"k": "v" * 200}}
            server.operations.create(config_maps, "default", obj)
            if number % 1000 == 0:
                await asyncio.sleep(0)
        return {"KiB/object": round((current_kib() - before) / count, 2), "MiB in all": round(peak_kib() / 1024)}


CASES = {
    "envtest-start": Case(
        "A start of the embedded server",
        starts,
        each("times", (5,)),
        each("times", (2,)),
        ("first ms", "then ms"),
        lower_is_better=True,
    ),
    "envtest-writes": Case(
        "Writes to the embedded server in another process",
        writes,
        each("verb", (CREATES, PATCHES), count=4_000),
        each("verb", (CREATES, PATCHES), count=200),
        ("writes/CPU-s",),
    ),
    "envtest-together": Case(
        "Writes to the embedded server in the same process",
        writes_together,
        each("verb", (CREATES, PATCHES), count=2_000),
        each("verb", (CREATES, PATCHES), count=200),
        ("writes/s",),
    ),
    "envtest-watches": Case(
        "Events of the embedded server, out to several watches",
        watches,
        each("watchers", (10,), changes=5_000),
        each("watchers", (10,), changes=200),
        ("events/CPU-s",),
    ),
    "envtest-memory": Case(
        "Objects of the embedded server",
        objects,
        each("count", (100_000,)),
        each("count", (2_000,)),
        ("KiB/object",),
        lower_is_better=True,
    ),
}
