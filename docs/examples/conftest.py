"""What the tests of all examples have.

An operator under test has the rights of the service account in its manifest, and no others. So each test also tries the
manifest: what it lacks is an error of the test.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinformer.client import Client, connect
from kinformer.clock import Clock, RealClock
from kinformer.envtest import ApiServer, service_account_token


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> Clock:
    """Whose time server and clients have; a test with a clock to turn overrides it."""
    return RealClock()


@pytest.fixture
def kinformer_api_server_options(clock: Clock) -> dict[str, Any]:
    return {"clock": clock}


@pytest.fixture
async def operator_client(
    kinformer_api_server: ApiServer, kinformer_client: Client, request: pytest.FixtureRequest, clock: Clock
) -> AsyncIterator[Client]:
    """The client of the operator, once the manifest beside the test has been applied."""
    account = ("", "")
    for manifest in yaml.safe_load_all((Path(request.path).parent / "manifest.yaml").read_text()):
        resource = await kinformer_client.resource_for_object(manifest)
        await resource.apply(manifest, field_manager="kubectl")
        if manifest["kind"] == "ServiceAccount":
            account = (manifest["metadata"]["namespace"], manifest["metadata"]["name"])
    token = await service_account_token(kinformer_client, *account)
    async with connect(url=kinformer_api_server.url, token=token, clock=clock) as client:
        yield client
