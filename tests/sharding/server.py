"""A server of Leases in memory, behind a client's transport, and a clock that can be stopped: for single members.

The server knows what a group of members asks of an API server: lists by label, and writes on condition of a version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import anyio
import msgspec

from kinformer.client import Client, ClientOptions, ServerUnreachable, Status
from kinformer.client.errors import error_from_status
from kinformer.client.permission import ask_permission
from kinformer.clock import Clock, FakeClock, Timer, sleep_by_timer

__all__ = ("LeaseServer", "Line", "OwnClock")

_decode = msgspec.json.decode
_encode = msgspec.json.encode


@dataclass(eq=False)
class LeaseServer:
    """
    :ivar leases: by name
    """

    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 0

    def serve(self, method: str, path: str, params: Mapping[str, str], body: bytes | None) -> Any:
        """One request at the moment that it arrives. Raises an ApiError."""
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
        if wanted and wanted != there["metadata"]["resourceVersion"]:
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

    :param own: the member's clock
    """

    server: LeaseServer
    own: Clock
    is_cut: bool = False
    #: Whether a list needs 9 seconds on its way to the server.
    is_slow: bool = False
    endpoint: Any = field(default_factory=lambda: SimpleNamespace(server="memory"))
    options: ClientOptions = field(default_factory=ClientOptions)

    @property
    def client(self) -> Client:
        return Client(self)  # type: ignore[arg-type]

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: bytes | None = None, **_: Any
    ) -> bytes:
        """A request, which does not get through while the line is cut."""
        ask_permission()
        if self.is_cut:
            await self.own.sleep(0.3)
            raise ServerUnreachable("memory", "no route")
        if self.is_slow and params:
            await self.own.sleep(9)
        await anyio.lowlevel.checkpoint()
        return _encode(self.server.serve(method, path, params or {}, body))


def _error(code: int, reason: str) -> Exception:
    return error_from_status(Status(code=code, reason=reason))


class OwnClock:
    """A member's clock: the world's, but for a process that can be stopped for a while."""

    def __init__(self, world: FakeClock) -> None:
        self._world = world
        self._missed: list[Callable[[], object]] | None = None
        self.monotonic = world.monotonic

    def now(self) -> datetime:
        return self._world.now()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        timer = _OwnTimer(callback)

        def fire() -> None:
            if self._missed is not None:
                self._missed.append(timer.fire)
            else:
                timer.fire()

        timer.timer = self._world.call_later(seconds, fire)
        return timer

    async def sleep(self, seconds: float) -> None:
        await sleep_by_timer(self, seconds)

    def stop(self) -> None:
        """As SIGSTOP does."""
        if self._missed is None:
            self._missed = []

    def go_on(self) -> None:
        missed, self._missed = self._missed, None
        for fire in missed or ():
            fire()


class _OwnTimer:
    __slots__ = ("callback", "timer")

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback
        self.timer: Timer | None = None

    def fire(self) -> None:
        callback, self.callback = self.callback, None
        if callback is not None:
            callback()

    def cancel(self) -> None:
        self.callback = None
        if self.timer is not None:
            self.timer.cancel()
