"""A server that serves web apps, and a client of it, as the operator's tests have them."""

from tests.operator.conftest import api_server, client

__all__ = ("api_server", "client")
