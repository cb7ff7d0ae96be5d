"""A server for each test, its clock in the test's hand, and a client that speaks plain HTTP to it."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer


class Http:
    """Requests to one server, answered as ``(status, decoded body)``."""

    def __init__(self, server: ApiServer, session: aiohttp.ClientSession):
        self.server = server
        self.session = session

    async def __call__(
        self, method: str, path: str, body: Any = None, type_: str = "application/json", **headers: str
    ) -> tuple[int, Any]:
        data = body if isinstance(body, bytes | None) else io.BytesIO(json.dumps(body).encode())
        headers["Content-Type"] = type_
        async with self.session.request(method, self.server.url + path, data=data, headers=headers) as response:
            is_json = response.content_type == "application/json"
            return response.status, await response.json() if is_json else await response.text()

    async def create(self, path: str, body: Any) -> Any:
        code, created = await self("POST", path, body)
        assert code == 201, created
        return created

    async def get(self, path: str) -> Any:
        code, found = await self("GET", path)
        assert code == 200, found
        return found

    async def merge(self, path: str, body: Any) -> Any:
        code, patched = await self("PATCH", path, body, "application/merge-patch+json")
        assert code == 200, patched
        return patched


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[ApiServer]:
    async with ApiServer(clock=clock, plugins=False, seed=1) as server:
        yield server


@pytest.fixture
async def http(server: ApiServer) -> AsyncIterator[Http]:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {server.token}"}) as session:
        yield Http(server, session)
