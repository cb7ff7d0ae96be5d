"""The fixtures of :mod:`kinformer.envtest.pytest_plugin` under short names.

They exist if pytest's configuration has ``kinformer_short_fixtures = true``. They are not on by default, because other
projects have fixtures with such names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from kinformer.envtest import pytest_plugin

__all__ = ("api_server", "api_server_options", "budget", "client", "fake_nodes", "kinformer_api_server_options")


@pytest.fixture
def api_server_options() -> dict[str, Any]:
    """The parameters of the server."""
    return {}


@pytest.fixture
def kinformer_api_server_options(api_server_options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the server, which `api_server_options` has."""
    return api_server_options


def _short(same: Callable[[Any], Any]) -> Any:
    """A fixture that is another one, which its parameter names, and has that one's docstring."""
    [name] = inspect.signature(same).parameters
    same.__doc__ = getattr(pytest_plugin, name).__doc__
    return pytest.fixture(same)


api_server = _short(lambda kinformer_api_server: kinformer_api_server)
client = _short(lambda kinformer_client: kinformer_client)
budget = _short(lambda kinformer_budget: kinformer_budget)
fake_nodes = _short(lambda kinformer_fake_nodes: kinformer_fake_nodes)
