"""pytest fixtures: an API server for each test, a client to it, nodes on it.

A server starts in some 3 ms, so that every test has one of its own and shares nothing. Under anyio's pytest plugin::

    async def test_something(client: Client) -> None:
        await client.resource(V1ConfigMap).create(...)

Whoever wants the server otherwise overrides the fixture `api_server_options`, which are :class:`ApiServer`'s.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import anyio
import pytest

if TYPE_CHECKING:
    from kinformer.client import Client
    from kinformer.envtest import ApiServer
    from kinformer.envtest.nodes import FakeNodes

__all__ = ("api_server", "api_server_options", "client", "fake_nodes")


@pytest.fixture
def api_server_options() -> dict[str, Any]:
    """What the server is made with."""
    return {}


@pytest.fixture
async def api_server(api_server_options: dict[str, Any]) -> AsyncIterator[ApiServer]:
    """A server of this test's own."""
    from kinformer.envtest import ApiServer

    async with ApiServer(**api_server_options) as server:
        yield server


@pytest.fixture
async def client(api_server: ApiServer) -> AsyncIterator[Client]:
    """A client that may do everything."""
    from kinformer.client import connect

    async with connect(url=api_server.url, token=api_server.token) as client:
        yield client


@pytest.fixture
async def fake_nodes(client: Client) -> AsyncIterator[FakeNodes]:
    """Nodes that run what is put on them, from now until the test is over."""
    from kinformer.envtest.nodes import FakeNodes

    nodes = FakeNodes(client)
    async with anyio.create_task_group() as group:
        group.start_soon(nodes.run)
        await nodes.wait_registered()
        yield nodes
        group.cancel_scope.cancel()
