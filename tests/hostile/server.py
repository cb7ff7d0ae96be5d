"""A server that does not mean well, in this process: decent until it attacks, and decent again once it is healed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.turning import quiet

__all__ = (
    "CANARY",
    "OK",
    "Ask",
    "Attack",
    "HostileServer",
    "chunk",
    "config_map",
    "event",
    "hostile",
    "listed",
    "whole",
)

#: Stands in the data of objects and wherever else a secret would: it may be in no line of the log.
CANARY = "c4n4ry"

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def config_map(name: Any, version: int | str, **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "resourceVersion": str(version), "uid": f"u-{name}"}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"password": CANARY}, **more}


def event(kind: str, obj: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(code: int, body: bytes, headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s" % (
        code,
        len(body),
        headers,
        body,
    )


def listed(*items: dict[str, Any], version: str = "10", token: str = "") -> bytes:
    meta = {"resourceVersion": version, **({"continue": token} if token else {})}
    return json.dumps({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items}).encode()


@dataclass(frozen=True)
class Ask:
    """One request, and the way back."""

    target: str
    head: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def kind(self) -> str:
        """``stream`` for a streaming list, ``watch``, ``list``, or ``version``."""
        if "/version" in self.target:
            return "version"
        if "watch=true" not in self.target:
            return "list"
        return "stream" if "sendInitialEvents" in self.target else "watch"

    async def send(self, *data: bytes) -> None:
        for one in data:
            self.writer.write(one)
            await self.writer.drain()

    async def watch(self, *lines: bytes) -> None:
        """Answer with a watch of these lines, each a chunk, that stays open."""
        await self.send(OK, *map(chunk, lines))
        await self.hold()

    async def hold(self) -> None:
        """Wait until the client is gone."""
        while await self.reader.read(65536):
            pass
        raise ConnectionResetError

    async def flood(self, data: bytes, times: int = 100_000) -> None:
        """Send this again and again: it must be the client that has enough of it."""
        for _ in range(times):
            await self.send(data)


#: Answers one request in a hostile way.
Attack = Callable[[Ask], Awaitable[None]]


class HostileServer:
    """
    :param attack: what is done to those requests that are attacked
    :param kinds: which these are
    """

    def __init__(self, attack: Attack, kinds: str):
        self.attack = attack
        self.kinds = kinds.split()
        self.attacks = 0
        self.healed = False
        self.heads: list[str] = []
        self._writers: set[asyncio.StreamWriter] = set()

    def heal(self) -> None:
        """Be a decent server from now on, with two objects; whoever is connected has to come again."""
        self.healed = True
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                ask = Ask(head.split(" ", 2)[1], head, reader, writer)
                if ask.kind in self.kinds and not self.healed:
                    self.attacks += 1
                    await self.attack(ask)
                else:
                    await self._decently(ask)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _decently(self, ask: Ask) -> None:
        if ask.kind == "version":
            await ask.send(whole(200, b'{"gitVersion":"v1.36.2","major":"1","minor":"36"}'))
        elif ask.kind == "list":
            await ask.send(whole(200, listed(config_map("a", 5), config_map("b", 6), version="1000")))
        elif ask.kind == "watch" and "resourceVersion=1000&" not in ask.target:
            # A version that came of an attack: what was stored since is to be found out by a list.
            await ask.watch(event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}))
        elif ask.kind == "watch":
            await ask.watch()
        else:
            end = {"annotations": {"k8s.io/initial-events-end": "true"}, "resourceVersion": "1000"}
            mark = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": end}
            items = (event("ADDED", config_map("a", 5)), event("ADDED", config_map("b", 6)))
            await ask.watch(*items, event("BOOKMARK", mark))


@asynccontextmanager
async def hostile(attack: Attack, kinds: str) -> AsyncIterator[tuple[HostileServer, str]]:
    """A hostile server and its URL."""
    server = HostileServer(attack, kinds)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=2**20)
    try:
        yield server, f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        server.heal()
        await quiet()
