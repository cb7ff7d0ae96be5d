"""An API server for each test, with the manifests applied; the operator has the rights that they give it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from kinformer.client import Client, connect
from kinformer.envtest import ApiServer, running, service_account_token
from kinformer.manager import Manager

from sample_operator.controller import SampleReconciler

DEPLOY = Path(__file__).parents[1] / "deploy"
ACCOUNT = ("sample-operator", "operator")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client(kinformer_client: Client) -> Client:
    """A client that may do everything."""
    for file in sorted(DEPLOY.glob("*.yaml")):
        for manifest in yaml.safe_load_all(file.read_text()):
            resource = await kinformer_client.resource_for_object(manifest)
            await resource.apply(manifest, field_manager="kubectl")
    return kinformer_client


@pytest.fixture
async def manager(client: Client, kinformer_api_server: ApiServer) -> AsyncIterator[Manager]:
    """A manager that runs the operator, with its own rights."""
    token = await service_account_token(client, *ACCOUNT)
    async with connect(url=kinformer_api_server.url, token=token) as operator_client:
        known = {
            "sample-operator": SampleReconciler,
        }
        manager = Manager(operator_client, known=known)
        async with running(manager):
            yield manager
