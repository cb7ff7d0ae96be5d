"""The fixtures of :mod:`kinformer.envtest.pytest_plugin` under short names.

They exist if pytest's configuration has ``kinformer_short_fixtures = true``. They are not on by default, because other
projects have fixtures with such names.
"""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ("api_server", "api_server_options", "budget", "client", "fake_nodes", "kinformer_api_server_options")


@pytest.fixture
def api_server_options() -> dict[str, Any]:
    """The parameters of the server."""
    return {}


# The server's fixture uses the parameters under its own name for them.
kinformer_api_server_options = pytest.fixture(lambda api_server_options: api_server_options)
api_server = pytest.fixture(lambda kinformer_api_server: kinformer_api_server)
client = pytest.fixture(lambda kinformer_client: kinformer_client)
budget = pytest.fixture(lambda kinformer_budget: kinformer_budget)
fake_nodes = pytest.fixture(lambda kinformer_fake_nodes: kinformer_fake_nodes)
