"""A namespace controller at work on an embedded server without a loop of its own, over a connection that can refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kinformer.client import Client, DeleteOptions, NotFound
from kinformer.client.config import endpoint_from_url
from kinformer.client.errors import Status, error_from_status
from kinformer.client.transport import Transport
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from tests.golden.pace import scenario_clock
from tests.turning import eventually, turn

__all__ = ("Line", "World", "emptying", "refusal")


def refusal(code: int, reason: str, message: str = "no") -> Exception:
    return error_from_status(Status(code=code, reason=reason, message=message, status="Failure"))


class Line(Transport):
    """
    A connection that notes what is asked of the objects of a namespace, and refuses what it is told to.

    :ivar asked: as ``GET pods``
    :ivar refused: what is refused, and with which error
    """

    def __init__(self, server: ApiServer) -> None:
        super().__init__(endpoint_from_url(server.url, token=server.token), clock=server.clock)
        self.asked: list[str] = []
        self.refused: dict[str, Exception] = {}

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        parts = path.split("/")
        what = f"{method} {path}"
        if "namespaces" in parts and parts.index("namespaces") + 2 < len(parts):
            what = f"{method} {'/'.join(parts[parts.index('namespaces') + 2 :])}"
            self.asked.append(what)
        if (error := self.refused.get(what)) is not None:
            raise error
        return await super().request(method, path, **request)


class World:
    def __init__(self, line: Line, client: Client, clock: FakeClock) -> None:
        self.line = line
        self.client = client
        self.clock = clock
        self.namespaces = client.resource(dict, ("", "v1", "namespaces"))

    def of(self, plural: str, group: str = "", version: str = "v1") -> Any:
        return self.client.resource(dict, (group, version, plural))

    async def make(self, kind: str, name: str, *, namespace: str = "ns", finalizers: Any = None, **more: Any) -> None:
        metadata = {"name": name, "namespace": namespace, **({"finalizers": finalizers} if finalizers else {})}
        body = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}
        await self.of(f"{kind.lower()}s").create(body)

    async def make_pod(self, name: str, grace: int, *, bound: bool = True) -> None:
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": grace}
        await self.make("Pod", name, spec={**spec, **({"nodeName": "n1"} if bound else {})})

    async def end_pod(self, name: str) -> None:
        """What a kubelet does when all containers have ended."""
        await self.of("pods").delete(name, "ns", DeleteOptions(grace_period_seconds=0))

    async def get(self) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = await self.namespaces.get("ns")
        except NotFound:
            return None
        return found

    async def is_gone(self) -> bool:
        return await self.get() is None

    async def goes(self) -> None:
        await eventually(self.is_gone, self.clock)

    async def conditions(self) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message, by type."""
        found = await self.get()
        assert found is not None, "the namespace is gone"
        return {
            one["type"]: (one["status"], one["reason"], one["message"]) for one in found["status"].get("conditions", ())
        }

    async def after(self, seconds: float) -> None:
        await turn(self.clock, seconds)


@asynccontextmanager
async def emptying() -> AsyncIterator[World]:
    """With a namespace ``ns``."""
    clock = scenario_clock()
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        Line(server) as line,
        anyio.create_task_group() as tasks,
    ):
        client = Client(line)
        world = World(line, client, clock)
        await world.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
        tasks.start_soon(Manager(client, controllers=["namespace"], clock=clock).run)
        yield world
        tasks.cancel_scope.cancel()
