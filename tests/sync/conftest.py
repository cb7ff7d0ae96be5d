from __future__ import annotations

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

import kinformer.sync
from kinformer.envtest import ApiServer
from kinformer.sync import Client
from tests.sync.servers import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(ApiServer(plugins=False, controllers=False)) as api,
    ):
        yield Server(api, portal.call)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with kinformer.sync.connect(url=server.api.url, token=server.api.token) as client:
        yield client
