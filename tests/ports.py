"""Ports for servers that a test starts in another process, and for servers that are not there."""

from __future__ import annotations

import socket

__all__ = ("free_port",)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
