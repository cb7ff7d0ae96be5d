"""Connections: what aiohttp does not do by itself for a client that stays connected for weeks.

*Dead peers.* Every socket has TCP keepalive on: after 20 quiet seconds the kernel asks the peer, five times at 5 s, so
that a peer that is gone (a node that died, a NAT entry that was dropped) is noticed within 45 s, also when this side
only ever reads, as a watch does. ``TCP_USER_TIMEOUT`` puts the same bound on what was sent and never acknowledged: a
request on a pooled connection to a dead peer.

*Connections are kept.* Each request that is on its way has one of its own, which the next one uses again within a
minute. HTTP/2 would need only one for all of them, but not in Python: taking its frames apart costs 0.23 ms (jh2) or
0.35 ms (h2) of CPU a request, HTTP/1.1's head in aiohttp's C parser 0.006 ms, and a request with everything 0.33 ms.

*The bytes of a watch* go past aiohttp's parser where that is possible: see :mod:`kinformer.client.raw_body`.
"""

from __future__ import annotations

import socket
from typing import Any, Final, Protocol

import aiohttp

from kinformer.client.dechunker import Piece
from kinformer.client.permission import ask_permission
from kinformer.client.raw_body import raw_body_of, speak_raw

__all__ = ("IDLE_LIMIT", "Body", "Connector", "body_of", "configure_socket")

#: Seconds that a connection is kept open for the next request. An API server closes it after 90, and a request that is
#: sent at that moment is lost; aiohttp's own 15 would have each resync and each round of a controller make new ones.
IDLE_LIMIT: Final = 60.0

_KEEPALIVE_IDLE: Final = 20
_KEEPALIVE_INTERVAL: Final = 5
_KEEPALIVE_COUNT: Final = 5
_DEAD_AFTER: Final = _KEEPALIVE_IDLE + _KEEPALIVE_INTERVAL * _KEEPALIVE_COUNT


def configure_socket(sock: socket.socket) -> None:
    """Have the kernel find out when the peer is gone; options that this platform lacks are left out."""
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
    """aiohttp's connector, with keepalive and with connections that can hand out a body's raw bytes."""

    def __init__(self, **options: Any):
        super().__init__(socket_factory=_make_socket, **options)
        #: Whether it hands out raw bytes; aiohttp's own reader does otherwise.
        self.speaks_raw = speak_raw(self)

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        """A connection for a request that may be sent over it at this moment."""
        connection = await super().connect(req, traces, timeout)
        try:
            ask_permission()
        except BaseException:
            connection.release()
            raise
        return connection


class Body(Protocol):
    """The body of an answer, as it arrives."""

    async def read(self) -> list[Piece]:
        """
        All that has arrived and was not read yet, in the pieces it came in; waits for some; none at the end.

        :raises aiohttp.ClientError: if the connection breaks, once everything before was read
        :raises OSError: likewise
        """

    @property
    def has_unread(self) -> bool:
        """Whether :meth:`read` would return at once."""


def body_of(response: aiohttp.ClientResponse) -> Body:
    """The body of a response that was asked for with :class:`RawBody`, by the fastest way there is."""
    return raw_body_of(response) or _ParsedBody(response.content)


class _ParsedBody:
    """What aiohttp's own parser makes of a body."""

    __slots__ = ("_content",)

    def __init__(self, content: aiohttp.StreamReader):
        self._content = content

    async def read(self) -> list[Piece]:
        data = await self._content.readany()
        return [data] if data else []

    @property
    def has_unread(self) -> bool:
        return self._content.is_eof() or self._content.exception() is not None
