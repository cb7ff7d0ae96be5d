"""Serves HTTP on one socket, until the last connection is closed.

Connections are accepted by aiohttp's server, which is configured to do as kube-apiserver does. Bodies are passed on as
they were sent, whatever their encoding is. A connection without requests is closed.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
from aiohttp import web

from kinformer.envtest.handlers.yaml_bodies import BODY_LIMIT

__all__ = ("RequestHandler", "ServerError", "listen", "serving")

#: Answers a request.
RequestHandler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

#: Seconds that requests have to finish when the server closes.
_CLOSE_WITHIN = 0.5
#: Seconds for which a connection stays open without a complete request head: before the first request, and between two.
IDLE_LIMIT = 90.0
#: Turns of the event loop from the acceptance of a connection until the server knows it.
_TURNS_TO_CONNECT = 3


class ServerError(Exception):
    """The server cannot start. The message says why."""


def listen(host: str, port: int) -> socket.socket:
    """
    Make a socket that accepts connections.

    :raises ServerError: if the port is taken
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        why = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise ServerError(f"cannot serve on {host}:{port}: {why}") from error
    return listener


class _Server(web.Server):
    """aiohttp's server, which closes connections that come while it closes: a TLS handshake may end as late as that."""

    is_closing = False

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if self.is_closing:
            transport.abort()


@asynccontextmanager
async def serving(
    handler: RequestHandler,
    listener: socket.socket,
    ssl_context: ssl.SSLContext | None,
    end_watches: Callable[[], None],
) -> AsyncIterator[None]:
    """
    Answer requests while the block runs. After it, every accepted connection is closed.

    :param end_watches: ends the responses that would go on
    """
    server = _Server(
        handler,
        request_factory=_make_request,
        handler_cancellation=True,
        access_log=None,
        auto_decompress=False,
        keepalive_timeout=IDLE_LIMIT,
    )
    runner = web.ServerRunner(server, shutdown_timeout=_CLOSE_WITHIN)
    await runner.setup()
    try:
        await web.SockSite(runner, listener, ssl_context=ssl_context).start()
        yield
    finally:
        with anyio.CancelScope(shield=True):
            server.is_closing = True
            await _refuse_connections(listener)
            end_watches()
            await runner.cleanup()


async def _refuse_connections(listener: socket.socket) -> None:
    """
    Accept no more connections, and wait until the server knows all accepted ones.

    If a server closes before it knows an accepted connection, the connection stays open, and its client waits until its
    own timeout.
    """
    asyncio.get_running_loop().remove_reader(listener)
    for _ in range(_TURNS_TO_CONNECT):
        await anyio.lowlevel.checkpoint()


def _make_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    return web.BaseRequest(message, payload, protocol, writer, task, task.get_loop(), client_max_size=BODY_LIMIT)
