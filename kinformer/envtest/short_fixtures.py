"""The fixtures of :mod:`kinformer.envtest.pytest_plugin` under short names.

They are there with ``kinformer_short_fixtures = true`` in pytest's configuration. Another project's fixtures have such
names, too, so nobody gets them unasked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kinformer.client import Client
    from kinformer.envtest import ApiServer
    from kinformer.envtest.nodes import FakeNodes

__all__ = ("api_server", "api_server_options", "client", "fake_nodes", "kinformer_api_server_options")


@pytest.fixture
def api_server_options() -> dict[str, Any]:
    """What the server is made with."""
    return {}


@pytest.fixture
def kinformer_api_server_options(api_server_options: dict[str, Any]) -> dict[str, Any]:
    """The same, under the name that the server's fixture knows."""
    return api_server_options


@pytest.fixture
def api_server(kinformer_api_server: ApiServer) -> ApiServer:
    """A server of this test's own."""
    return kinformer_api_server


@pytest.fixture
def client(kinformer_client: Client) -> Client:
    """A client that may do everything."""
    return kinformer_client


@pytest.fixture
def fake_nodes(kinformer_fake_nodes: FakeNodes) -> FakeNodes:
    """Nodes that run what is put on them, from now until the test is over."""
    return kinformer_fake_nodes
