"""A server of Leases in memory, behind a client's transport: with delays, lost requests, lost answers and outages.

It knows what a group of members asks of an API server: lists by label, and writes on condition of a version. Other
paths are writes of a sync, ``/keys/NAME``, and are told to whoever looks on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol

import anyio
import msgspec

from kinformer.client import Client, ServerUnreachable, Status
from kinformer.client.errors import ConnectionLost, error_from_status
from kinformer.client.permission import ask_permission
from kinformer.clock import Clock, Timer

__all__ = ("LeaseServer", "Line", "SocketClock")

_decode = msgspec.json.decode
_encode = msgspec.json.encode


class SocketClock(Clock, Protocol):
    """A process's clock, and its sockets."""

    def arrive_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Have something arrive at the process."""


@dataclass(eq=False)
class LeaseServer:
    """
    :param compares: whether it refuses a write that expects another version
    :ivar wrote: told of each write of a sync when it arrives: the member and the key
    """

    compares: bool = True
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 0
    wrote: Callable[[str, str], None] = lambda member, key: None
    requests: int = 0

    def serve(self, method: str, path: str, params: Mapping[str, str], body: bytes | None) -> Any:
        """One request at the moment that it arrives. Raises an ApiError."""
        self.requests += 1
        name = path.rpartition("/leases")[2].strip("/")
        if method == "GET" and not name:
            label, _, value = params["labelSelector"].partition("=")
            found = [it for it in self.leases.values() if (it["metadata"].get("labels") or {}).get(label) == value]
            return {"metadata": {"resourceVersion": str(self.version)}, "items": found}
        if method == "POST":
            lease = _decode(body or b"")
            if lease["metadata"]["name"] in self.leases:
                raise _error(409, "AlreadyExists")
            return self._store(lease, uid=str(self.version + 1))
        if name not in self.leases:
            raise _error(404, "NotFound")
        there = self.leases[name]
        if method == "GET":
            return there
        given = _decode(body) if body else {}
        expected = (given.get("preconditions") if method == "DELETE" else given["metadata"]) or {}
        wanted = expected.get("resourceVersion")
        if self.compares and wanted and wanted != there["metadata"]["resourceVersion"]:
            raise _error(409, "Conflict")
        if method == "DELETE":
            del self.leases[name]
            return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        return self._store(given, uid=there["metadata"]["uid"])

    def _store(self, lease: dict[str, Any], uid: str) -> dict[str, Any]:
        self.version += 1
        metadata = {**lease["metadata"], "uid": uid, "resourceVersion": str(self.version)}
        stored = self.leases[metadata["name"]] = {**lease, "metadata": metadata}
        return stored


@dataclass(eq=False)
class Line:
    """
    One member's line to the server, in the place of a client's transport.

    :param clock: the world's, by which requests travel, whatever happens to the member
    :param own: the member's, by which it notices anything
    :param trouble: how likely it is that something happens to a request
    """

    server: LeaseServer
    member: str
    clock: Clock
    own: SocketClock
    random: random.Random
    trouble: float = 0.0
    slowest: float = 5.0
    is_cut: bool = False
    endpoint: Any = field(default_factory=lambda: SimpleNamespace(server="memory"))

    @property
    def client(self) -> Client:
        return Client(self)  # type: ignore[arg-type]

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        reader: Any = None,
        **_: Any,
    ) -> bytes:
        """A request, which may be long on its way, get lost, or lose its answer."""
        draw = self.random
        is_sync = path.startswith("/keys/")
        if draw.random() < self.trouble:
            await self.own.sleep(draw.random() * 0.5)  # for a turn, for a connection
        ask_permission()
        lost = draw.random() < self.trouble * 0.3 or self.is_cut
        unanswered = draw.random() < self.trouble * 0.3
        # A sync's write that is on its way when its sender's lease ends has a while to arrive. Others need no time.
        there, back = self._delay(is_sync), self._delay(is_sync)
        if not (there or back or lost or unanswered):
            await anyio.lowlevel.checkpoint()
            return self._arrive(method, path, params or {}, body, is_sync)
        if lost:
            await self.own.sleep(0.3)
            raise ServerUnreachable("memory", "no route")
        return await self._travel(method, path, params or {}, body, is_sync, there, back, unanswered)

    def _delay(self, is_sync: bool) -> float:
        luck = self.random.random()
        if luck < self.trouble:
            return self.random.random() * (0.4 if is_sync else self.slowest)
        return self.random.random() * 0.4 if luck < self.trouble * 5 else 0.0

    def _arrive(self, method: str, path: str, params: Mapping[str, str], body: bytes | None, is_sync: bool) -> bytes:
        if is_sync:
            self.server.wrote(self.member, path.removeprefix("/keys/"))
            return b"{}"
        return _encode(self.server.serve(method, path, params, body))

    async def _travel(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: bytes | None,
        is_sync: bool,
        there: float,
        back: float,
        unanswered: bool,
    ) -> bytes:
        answered = anyio.Event()
        answer: list[bytes | Exception] = []

        def arrive() -> None:
            try:
                answer.append(self._arrive(method, path, params, body, is_sync))
            except Exception as error:
                answer.append(error)
            if unanswered:
                answer[:] = [ConnectionLost("memory", "reset")]
            self.own.arrive_later(back, answered.set)

        # On its way: nobody can call it back.
        self.clock.call_later(there, arrive)
        await answered.wait()
        if isinstance(answer[0], Exception):
            raise answer[0]
        return answer[0]


def _error(code: int, reason: str) -> Exception:
    return error_from_status(Status(code=code, reason=reason))
