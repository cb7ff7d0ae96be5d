"""Servers for tests without an event loop."""

from __future__ import annotations

from typing import Any

from kinformer.envtest import ApiServer

__all__ = ("Server",)


class Server:
    """An embedded server in a thread of its own, as a script would find one."""

    def __init__(self, api: ApiServer, run: Any):
        self.api = api
        self.run = run
