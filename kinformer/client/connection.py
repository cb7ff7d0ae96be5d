"""Connections: what a client that stays connected for weeks needs, and how it finds a connection for a request.

*Dead peers.* Every socket has TCP keepalive on. After 20 quiet seconds the kernel probes the peer, five times, once in
5 s. So a peer that is gone (a node that died, a NAT entry that was dropped) is noticed within 45 s, even if this side
only reads, as a watch does. ``TCP_USER_TIMEOUT`` sets the same limit for data that was sent and never acknowledged,
such as a request on a kept connection to a dead peer.

*Connections are kept.* Each running request has a connection of its own, which the next request uses again within a
minute. HTTP/2 would need only one connection for all of them, but it is too slow in Python. To parse its frames takes
0.23 ms (jh2) or 0.35 ms (h2) of CPU for each request. A whole request over HTTP/1.1 takes 0.1 ms.

*An idle connection is looked at before it is used again.* If the server has closed it, or has sent something that
nobody asked for, another one is taken. Otherwise a write on it would be lost, or would get the answer to nothing as its
own.

*Nothing is sent twice here.* A request goes out with one write, on one connection. Whether it is sent again is decided
in :mod:`kinformer.client.tries`.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from functools import cached_property
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kinformer.client.causes import NOT_CONNECTED, NoTunnel
from kinformer.client.credentials import checked_header
from kinformer.client.errors import ConfigError
from kinformer.client.permission import ask_permission
from kinformer.client.queries import can_be_sent
from kinformer.client.response import Response, is_header_name, read_response
from kinformer.client.wire import Wire
from kinformer.clock import Clock, move_on_after

__all__ = ("CONNECT_TIMEOUT", "Connections", "Connector", "Fields", "Route", "Way", "check_target", "configure_socket")

#: Seconds.
CONNECT_TIMEOUT: Final = 30.0
#: Seconds for which an idle connection is kept for the next request. An API server closes it after 90 s, and a request
#: that is sent at that moment is lost. With 15 s, each resync and each round of a controller would open new
#: connections.
_IDLE_LIMIT: Final = 60.0
#: Seconds for which an address is kept: the 32 connections of a burst ask the resolver once.
_ADDRESS_KEPT: Final = 10
#: Seconds after which the next of several addresses is tried beside the first one (RFC 8305; Go: 0.3).
_NEXT_ADDRESS_AFTER: Final = 0.25
_CONNECTING: Final = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT)

#: The methods whose request has no length if it has no body.
_MAY_BE_EMPTY: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
#: With two of them, a proxy and a server could see two different requests.
_OF_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})

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
    """aiohttp's connector, which makes connections, also through proxies and with TLS, and keeps none."""

    def __init__(self) -> None:
        super().__init__(
            limit=0,
            force_close=True,
            socket_factory=_make_socket,
            # Without this, aiohttp asks another resolver if the package aiodns happens to be installed.
            resolver=aiohttp.ThreadedResolver(),
            ttl_dns_cache=_ADDRESS_KEPT,
            happy_eyeballs_delay=_NEXT_ADDRESS_AFTER,
        )

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        """Make a connection for a request, and check that the request may be sent at this moment."""
        connection = await super().connect(req, traces, timeout)
        try:
            ask_permission()
        except BaseException:
            connection.close()
            raise
        return connection


class Way(NamedTuple):
    """
    The way to a server. Connections of the same way can stand for each other.

    :param origin: scheme, host and port of its URL
    :param tls: None for a context with the system's certificate authorities
    :param server_hostname: the name in its certificate, if it is not the URL's
    :param proxy: the URL of a proxy
    """

    origin: URL
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None


class Fields(NamedTuple):
    """
    The headers of a request.

    :param lines: as they are sent, with those that the way needs
    """

    headers: CIMultiDict[str]
    lines: bytes


class Connections:
    """
    All connections of a client for requests and watches. :meth:`close` closes them.

    :ivar loop: the only event loop that may send requests
    """

    def __init__(self, clock: Clock):
        self.clock = clock
        self.loop = asyncio.get_running_loop()
        self._routes: WeakValueDictionary[Way, Route] = WeakValueDictionary()
        #: Routes that have idle connections, or had some a short time ago.
        self._resting: set[Route] = set()
        self._sweeper: asyncio.TimerHandle | None = None

    @cached_property
    def connector(self) -> Connector:
        """Makes the connections, also those of WebSockets."""
        return Connector()

    def route(self, way: Way) -> Route:
        """The route of a way, which is always the same as long as somebody has it."""
        route = self._routes.get(way)
        if route is None:
            route = self._routes[way] = Route(way, self)
        return route

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        for route in self._resting:
            while route.idle:
                route.idle.pop().close()
        if "connector" in vars(self):
            await self.connector.close()

    def rest(self, route: Route) -> None:
        """Close the idle connections of a route when their time is over."""
        self._resting.add(route)
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(_IDLE_LIMIT, self._sweep)

    def _sweep(self) -> None:
        self._sweeper = None
        before = self.loop.time() - _IDLE_LIMIT
        resting, self._resting = self._resting, set()
        for route in resting:
            while route.idle and route.idle[0].idle_since <= before:
                route.idle.pop(0).close()
            if route.idle:
                self.rest(route)


def check_target(method: str, target: str) -> None:
    """
    Check the first line of a request.

    :raises ConfigError: if it cannot be sent
    """
    if not (can_be_sent(target) and method.isalpha()):
        raise ConfigError(f"{method} {target!r} cannot be sent: special characters of a path have to be escaped")


class Route:
    """
    A way to a server, and its idle connections.

    :ivar idle: the one that was used last comes last
    """

    __slots__ = ("__weakref__", "_connections", "_host", "_loop", "_prefix", "_proxy_authorization", "_way", "idle")

    def __init__(self, way: Way, connections: Connections):
        self._way = way
        self._connections = connections
        self._loop = connections.loop
        self._host = way.origin.host_port_subcomponent or ""
        #: A proxy is told where a request without TLS goes. With TLS it makes a tunnel, and sees no request.
        tells_proxy = way.proxy is not None and way.origin.scheme == "http"
        self._prefix = str(way.origin) if tells_proxy else ""
        self._proxy_authorization = _basic(way.proxy) if tells_proxy and way.proxy else ""
        self.idle: list[Wire] = []

    def fields(self, headers: CIMultiDict[str]) -> Fields:
        """
        These headers, ready to be sent.

        :raises ConfigError: if a header cannot be sent
        """
        lines = [] if "Host" in headers else [f"Host: {self._host}\r\n"]
        if self._proxy_authorization:
            lines.append(f"Proxy-Authorization: {self._proxy_authorization}\r\n")
        for name, value in headers.items():
            if is_header_name(name) is None:
                raise ConfigError(f"the header {name!r} cannot be sent: that is no name of a header")
            if name.lower() in _OF_FRAMING:
                raise ConfigError(f"the header {name!r} cannot be sent: the client itself says where a body ends")
            lines.append(f"{name}: {checked_header(value)}\r\n")
        return Fields(headers, "".join(lines).encode())

    async def exchange(
        self,
        method: str,
        url: str,
        target: str,
        fields: Fields,
        body: bytes | None,
        *,
        within: float | None,
        read_timeout: float | None,
    ) -> Response:
        """
        Send a request once, and return the response when it has begun.

        :param url: for errors
        :param target: path and query
        :param fields: see :meth:`fields`
        :param within: seconds that this may take; None: there is no limit
        :param read_timeout: see :class:`Response`
        :raises ConfigError: if the method or the target cannot be sent
        :raises aiohttp.ClientError: if there is no connection, or it breaks, or the answer is none
        :raises TimeoutError: if it takes too long
        :raises RuntimeError: if another event loop runs this
        """
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(
                "the client belongs to another event loop: connect() in each loop; for threads there is kinformer.sync"
            )
        check_target(method, target)
        length = b"" if body is None and method in _MAY_BE_EMPTY else b"Content-Length: %d\r\n" % len(body or b"")
        line = f"{method} {self._prefix}{target} HTTP/1.1\r\n".encode("ascii")
        wire = self._take()
        if wire is not None:
            try:
                ask_permission()
            except BaseException:
                self._keep(wire)
                raise
        else:
            clock = self._connections.clock
            started = clock.monotonic()
            wire = await self._connect(within)
            if within is not None:
                within -= clock.monotonic() - started
        try:
            wire.send(b"".join((line, fields.lines, length, b"\r\n", body or b"")), within)
            return await read_response(wire, method, url, self._keep, read_timeout)
        except BaseException:
            wire.close()
            raise

    async def _connect(self, within: float | None) -> Wire:
        way, clock = self._way, self._connections.clock
        request = aiohttp.ClientRequest(
            "GET",
            way.origin,
            loop=self._loop,
            proxy=URL(way.proxy) if way.proxy else None,
            ssl=way.tls or True,
            server_hostname=way.server_hostname,
        )
        with move_on_after(clock, within):
            try:
                connection = await self._dial(request)
            except TimeoutError as error:
                raise aiohttp.ConnectionTimeoutError(f"no connection within {CONNECT_TIMEOUT:.0f} s") from error
            except (aiohttp.ClientResponseError, aiohttp.ServerDisconnectedError) as error:
                # Nothing was sent to the server. Only a proxy can have answered, and aiohttp's text has its password.
                if isinstance(error, NOT_CONNECTED) or way.proxy is None:
                    raise
                lost = isinstance(error, aiohttp.ServerDisconnectedError)
                what = "closed the connection" if lost else "answered something that is not HTTP"
                raise NoTunnel(what) from None
            return Wire(connection, clock)
        raise TimeoutError

    async def _dial(self, request: aiohttp.ClientRequest) -> aiohttp.connector.Connection:
        try:
            return await self._connections.connector.connect(request, [], _CONNECTING)
        except (aiohttp.ClientError, OSError) as error:
            # The frames of a failed handshake hold the error and a TLS protocol, which has a buffer of 256 KiB. So
            # only the cycle collector would free them, and it runs rarely during an outage.
            part: BaseException | None = error
            while part is not None:
                part.__traceback__ = None
                part = part.__cause__ or part.__context__
            raise

    def _take(self) -> Wire | None:
        """The idle connection that was used last, if its peer has neither closed it nor sent anything."""
        idle = self.idle
        while idle:
            wire = idle.pop()
            if wire.is_quiet and self._loop.time() - wire.idle_since < _IDLE_LIMIT:
                return wire
            wire.close()
        return None

    def _keep(self, wire: Wire) -> None:
        wire.idle_since = self._loop.time()
        self.idle.append(wire)
        self._connections.rest(self)


def _basic(url: str) -> str:
    """The credentials in a URL, as a header; empty if there are none."""
    parts = URL(url)
    if parts.user is None and parts.password is None:
        return ""
    return "Basic " + base64.b64encode(f"{parts.user or ''}:{parts.password or ''}".encode()).decode()
