"""Connections: what a client that stays connected for weeks needs beyond aiohttp.

*Dead peers.* Every socket has TCP keepalive on. After 20 quiet seconds the kernel probes the peer, five times, once in
5 s. So a peer that is gone (a node that died, a NAT entry that was dropped) is noticed within 45 s, even if this side
only reads, as a watch does. ``TCP_USER_TIMEOUT`` sets the same limit for data that was sent and never acknowledged,
such as a request on a pooled connection to a dead peer.

*Connections are kept.* Each running request has a connection of its own, which the next request uses again within a
minute. HTTP/2 would need only one connection for all of them, but it is too slow in Python. To parse its frames takes
0.23 ms (jh2) or 0.35 ms (h2) of CPU for each request. To parse the head of HTTP/1.1 in aiohttp's C parser takes 0.006
ms, and a complete request 0.33 ms.

*An idle connection is looked at before it is used again.* If the server has closed it, or has sent something that
nobody asked for, another one is taken. Otherwise a write on it would be lost, or would get the answer to nothing as its
own.

*The bytes of a watch* bypass aiohttp's parser where that is possible: see :mod:`kinformer.client.raw_body`.
"""

from __future__ import annotations

import select
import socket
from typing import Any, Final, Protocol
from weakref import WeakSet

import aiohttp
import anyio

from kinformer.client.dechunker import Piece
from kinformer.client.permission import ask_permission
from kinformer.client.raw_body import raw_body_of, speak_raw

__all__ = ("Body", "Connector", "body_of", "configure_socket")

#: Seconds for which an idle connection is kept for the next request. An API server closes it after 90 s, and a request
#: that is sent at that moment is lost. With aiohttp's default of 15 s, each resync and each round of a controller would
#: open new connections.
_IDLE_LIMIT: Final = 60.0
#: Seconds for which an address is kept: the 32 connections of a burst ask the resolver once.
_ADDRESS_KEPT: Final = 10
#: Seconds after which the next of several addresses is tried beside the first one (RFC 8305; Go: 0.3).
_NEXT_ADDRESS_AFTER: Final = 0.25

_KEEPALIVE_IDLE: Final = 20
_KEEPALIVE_INTERVAL: Final = 5
_KEEPALIVE_COUNT: Final = 5
_DEAD_AFTER: Final = _KEEPALIVE_IDLE + _KEEPALIVE_INTERVAL * _KEEPALIVE_COUNT


def configure_socket(sock: socket.socket) -> None:
    """Make the kernel detect a peer that is gone. Options that this platform lacks are left out."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_IDLE),
        ("TCP_KEEPALIVE", _KEEPALIVE_IDLE),  # what macOS calls it
        ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", _KEEPALIVE_COUNT),
        ("TCP_USER_TIMEOUT", _DEAD_AFTER * 1000),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def _make_socket(address: Any) -> socket.socket:
    family, kind, protocol, _, _ = address
    sock = socket.socket(family=family, type=kind, proto=protocol)
    configure_socket(sock)
    return sock


class Connector(aiohttp.TCPConnector):
    """aiohttp's connector, with keepalive, and with connections that can return the raw bytes of a body."""

    def __init__(self) -> None:
        super().__init__(
            limit=0,
            keepalive_timeout=_IDLE_LIMIT,
            socket_factory=_make_socket,
            # Without this, aiohttp asks another resolver if the package aiodns happens to be installed.
            resolver=aiohttp.ThreadedResolver(),
            ttl_dns_cache=_ADDRESS_KEPT,
            happy_eyeballs_delay=_NEXT_ADDRESS_AFTER,
        )
        #: Whether its connections return raw bytes. If not, aiohttp's own reader is used.
        self.speaks_raw = speak_raw(self)
        self._used: WeakSet[Any] = WeakSet()

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        """Get a connection for a request, and check that the request may be sent at this moment."""
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol not in self._used:
                self._used.add(protocol)
                break
            if protocol is not None and not protocol.should_close and not _has_something_to_read(connection):
                break
            connection.close()
        try:
            ask_permission()
        except BaseException:
            connection.release()
            raise
        return connection


def _has_something_to_read(connection: aiohttp.connector.Connection) -> bool:
    """Whether the peer of an idle connection has sent something, or has closed it, and the loop has not read it yet."""
    sock = None if connection.transport is None else connection.transport.get_extra_info("socket")
    if sock is None or not hasattr(select, "poll"):
        return False
    looking = select.poll()
    looking.register(sock.fileno(), select.POLLIN)
    return bool(looking.poll(0))


class Body(Protocol):
    """The body of a response, as it arrives."""

    async def read(self) -> list[Piece] | None:
        """
        Return everything that has arrived and was not read yet, in the pieces in which it came.

        It waits until there is something. The result is empty at the end of the body, and None if the
        wait was interrupted.

        :raises aiohttp.ClientError: if the connection broke, after everything before was read
        :raises OSError: likewise
        """

    def interrupt(self) -> None:
        """Have a :meth:`read` that waits return None."""

    @property
    def has_unread(self) -> bool:
        """Whether :meth:`read` would return at once."""


def body_of(response: aiohttp.ClientResponse) -> Body:
    """The body of a response that was requested with :class:`RawBody`, by the fastest way that is available."""
    return raw_body_of(response) or _ParsedBody(response.content)


class _ParsedBody:
    """A body as aiohttp's own parser returns it."""

    __slots__ = ("_content", "_waiting")

    def __init__(self, content: aiohttp.StreamReader):
        self._content = content
        self._waiting = anyio.CancelScope()

    async def read(self) -> list[Piece] | None:
        with anyio.CancelScope() as self._waiting:
            data = await self._content.readany()
            return [data] if data else []
        return None

    def interrupt(self) -> None:
        if not self.has_unread:
            self._waiting.cancel()

    @property
    def has_unread(self) -> bool:
        return self._content.is_eof() or self._content.exception() is not None
