from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.operator import install
from tests.operator.web_apps import WebApp


@pytest.fixture
async def api_server() -> AsyncIterator[ApiServer]:
    async with ApiServer(plugins=False, seed=1) as server:
        yield server


@pytest.fixture
async def client(api_server: ApiServer) -> AsyncIterator[Client]:
    """A client of a server that serves web apps."""
    async with connect(url=api_server.url, token=api_server.token) as client:
        await install(client, WebApp)
        yield client
