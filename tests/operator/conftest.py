from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.models import V1CustomResourceDefinition, from_dict
from tests.operator.web_apps import DEFINITION


@pytest.fixture
async def api_server() -> AsyncIterator[ApiServer]:
    async with ApiServer(plugins=False, seed=1) as server:
        yield server


@pytest.fixture
async def client(api_server: ApiServer) -> AsyncIterator[Client]:
    """A client of a server that serves web apps."""
    async with connect(url=api_server.url, token=api_server.token) as client:
        definition = from_dict(V1CustomResourceDefinition, DEFINITION)
        await client.resource(V1CustomResourceDefinition).create(definition)
        yield client
