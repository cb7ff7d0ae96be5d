"""Serving an application of aiohttp on a port: what the manager's endpoint and webhooks have in common.

aiohttp's server is imported here, so this module is imported only by those who serve.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from aiohttp import web

__all__ = ("app_runner", "listen")

#: Seconds for which a connection stays open without the complete head of a request: IdleTimeout of Kubernetes' servers.
IDLE_LIMIT = 90.0


@asynccontextmanager
async def app_runner(app: web.Application, *, auto_decompress: bool = True) -> AsyncIterator[web.AppRunner]:
    """
    What runs an application's handlers, as long as the block does. A handler whose client is gone is cancelled.

    :param auto_decompress: whether bodies that are compressed are unpacked
    """
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        # One that streams would not notice that its client is gone, and aiohttp forgets it.
        handler_cancellation=True,
        shutdown_timeout=0.2,
        auto_decompress=auto_decompress,
        keepalive_timeout=IDLE_LIMIT,  # aiohttp's own is an hour
    )
    try:
        await runner.setup()
        yield runner
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()


async def listen(runner: web.AppRunner, host: str, port: int, context: ssl.SSLContext | None) -> int:
    """
    Take connections.

    :param host: ``0.0.0.0`` and ``::`` stand for all addresses of both families, as in Kubernetes' ``--bind-address``
    :param port: 0 for any that is free
    :return: the port
    :raises OSError: if the port is taken or not to be had; its text says why
    """
    try:
        wildcard = _on_all_addresses(port) if host in ("0.0.0.0", "::") else None
        site: web.BaseSite = (
            web.TCPSite(runner, host, port, ssl_context=context)
            if wildcard is None
            else web.SockSite(runner, wildcard, ssl_context=context)
        )
        await site.start()
    except OSError as error:
        why = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise OSError(f"{host}:{port}: {why}") from error
    address: tuple[str, int] = runner.addresses[0]
    return address[1]


def _on_all_addresses(port: int) -> socket.socket | None:
    """A socket for both families; None if this machine has no IPv6. asyncio makes one for IPv6 alone of ``::``."""
    if not socket.has_dualstack_ipv6():
        return None
    try:
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:  # it is switched off
            return None
        raise
