"""The fixtures of :mod:`kinformer.envtest.pytest_plugin` under short names.

They exist if pytest's configuration has ``kinformer_short_fixtures = true``. They are not on by default, because other
projects have fixtures with such names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kinformer.client import Client
    from kinformer.envtest import ApiServer, Budget
    from kinformer.envtest.nodes import FakeNodes

__all__ = ("api_server", "api_server_options", "budget", "client", "fake_nodes", "kinformer_api_server_options")


@pytest.fixture
def api_server_options() -> dict[str, Any]:
    """The parameters of the server."""
    return {}


@pytest.fixture
def kinformer_api_server_options(api_server_options: dict[str, Any]) -> dict[str, Any]:
    """The same, under the name that the server's fixture uses."""
    return api_server_options


@pytest.fixture
def api_server(kinformer_api_server: ApiServer) -> ApiServer:
    """A server for this test alone."""
    return kinformer_api_server


@pytest.fixture
def client(kinformer_client: Client) -> Client:
    """A client that is allowed to do everything."""
    return kinformer_client


@pytest.fixture
def budget(kinformer_budget: Budget) -> Budget:
    """What the controllers of this test cost."""
    return kinformer_budget


@pytest.fixture
def fake_nodes(kinformer_fake_nodes: FakeNodes) -> FakeNodes:
    """Nodes that run the pods that are bound to them, until the test is over."""
    return kinformer_fake_nodes
