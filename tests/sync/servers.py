"""Servers for tests without an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kinformer.envtest import ApiServer

__all__ = ("Server", "eventually")


class Server:
    """An embedded server in a thread of its own, as a script would find one."""

    def __init__(self, api: ApiServer, run: Any):
        self.api = api
        self.run = run


def eventually(true: Callable[[], object]) -> None:
    """Wait until something is true of the server or a client, which have threads of their own."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0)
