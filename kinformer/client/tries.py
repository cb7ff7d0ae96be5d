"""Tries: one request, sent as often as needed.

These rules say what each try needs, and when there is another:

- Every try waits for the client's rate limiter, if there is one.
- If the response is 429 or 5xx and has a Retry-After, the request is sent again after that time, ten times at most.
  This holds for every verb, because the server has said that it did nothing.
- A GET whose connection broke is sent again, ten times at most: first at once, because most such connections were
  idle and closed by the server just then, and later after a second. Any other verb is sent once, because its request
  may have taken effect. Nothing else sends a request again (see :mod:`kinformer.client.connection`).
- If the server refuses the credentials, they are renewed, and the request is sent again if they have changed. The same
  is done if client or server rejects the other's certificate.
- A request for a WebSocket is sent again only if the server has said that it did nothing, because a command may have
  begun.
- A GET follows redirects. Within the server it keeps all its headers. To another origin it sends no credentials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kinformer.client.addressing import Addressing
from kinformer.client.answers import Answer, redirected, retry_after, warning_texts
from kinformer.client.causes import NOT_CONNECTED, cause_of, is_of_tls, why_not_connected
from kinformer.client.config import Endpoint
from kinformer.client.connection import Connections, Way
from kinformer.client.credentials import Identity
from kinformer.client.errors import ClientError, ConnectionLost, ServerUnreachable, error_from_response
from kinformer.client.flow_control import RateLimiter
from kinformer.client.metrics import HostMetrics
from kinformer.client.options import ClientOptions
from kinformer.client.reachability import Reachability
from kinformer.client.response import Response
from kinformer.client.session import SentOnce
from kinformer.client.status import About
from kinformer.client.websocket import UpgradeRefused
from kinformer.clock import Clock, move_on_after
from kinformer.logs import get_logger

__all__ = ("MAX_RETRIES", "Sender", "Tries")

log = get_logger(__name__)

#: The most retries, as in client-go. A request is sent once more than that at most.
MAX_RETRIES: Final = 10
_RETRY_LOST_AFTER: Final = 1.0
_LONG_THROTTLE: Final = 1.0
#: Seconds: a longer wait for a server is logged.
_LONG_WAIT: Final = 10.0
_MAX_REDIRECTS: Final = 10
#: The most renewals of credentials for one request. They may expire again while it is on its way. After that many, the
#: server's refusal is accepted.
_MAX_RENEWALS: Final = 3

#: Seconds within which a server must begin to answer a watch.
_STREAM_OPEN_TIMEOUT: Final = 65.0

#: Seconds between two pings of a WebSocket. A proxy may close a connection on which nothing is sent, most of them after
#: a minute. A peer that does not answer a ping within half of this time is gone.
_HEARTBEAT: Final = 30.0
#: Bytes of one message; kubelets send 32 KiB at most.
_MAX_MESSAGE: Final = 2**24
#: Seconds that a server has to answer the close frame.
_CLOSE_WITHIN: Final = 2.0
_FOR_WEBSOCKETS: Final = {"Accept": "*/*", "Accept-Encoding": "identity"}

_GET: Final = "GET"
#: The connection broke before anything was read.
_NO_ANSWER: Final = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
#: The headers that are sent to another origin.
_FOR_OTHERS: Final = ("Accept", "Accept-Encoding", "User-Agent")


class Sender(Protocol):
    """
    The part of :class:`~kinformer.client.transport.Transport` that a try needs.

    :ivar origin: scheme, host and port of the server's URL
    :ivar limiter: lets requests be sent; None for no limit
    :ivar seen_warnings: the server's warnings that were logged already
    """

    origin: str
    endpoint: Endpoint
    clock: Clock
    options: ClientOptions
    limiter: RateLimiter | None
    metrics: HostMetrics
    seen_warnings: set[str]
    reachability: Reachability
    addressing: Addressing

    @property
    def connections(self) -> Connections:
        """The connections for requests."""

    @property
    def websockets(self) -> aiohttp.ClientSession:
        """The session for WebSockets."""


class Tries:
    """
    One request through all its tries.

    :param target: path and query of its URL
    :param limit: the most times that it is sent again
    :param is_stream: whether its response does not end
    """

    __slots__ = (
        "_about",
        "_is_stream",
        "_limit",
        "_method",
        "_renewals",
        "_retries",
        "_target",
        "_transport",
        "_used",
        "url",
    )

    def __init__(
        self, transport: Sender, method: str, target: str, about: About, limit: int, *, is_stream: bool = False
    ):
        self.url = transport.origin + target
        self._target = target
        self._transport = transport
        self._method = method
        self._about = about
        self._limit = limit
        self._is_stream = is_stream
        self._retries = 0
        self._renewals = 0
        #: The identity with which it was last sent.
        self._used: Identity = transport.endpoint.credentials.identity

    async def send(self, headers: Mapping[str, str] | None, body: bytes | None) -> Response:
        """
        Send it once.

        :raises ConnectionLost: if the server does not begin to answer a watch
        """
        transport = self._transport
        if transport.limiter is not None and not self._is_stream:
            await self.throttle(transport.limiter)
        credentials = transport.endpoint.credentials
        if credentials.is_due:
            await credentials.keep_fresh()
        self._used = identity = credentials.identity
        response = await self._answer(headers, body, identity)
        metrics = transport.metrics
        metrics.answered(response.status, self._method)
        if not transport.reachability.is_up:
            transport.reachability.found()
        if self._retries:
            metrics.retried(response.status, self._method)
        if "Warning" in response.headers:
            self._warn(response.headers.getall("Warning"))
        return response

    async def _answer(self, headers: Mapping[str, str] | None, body: bytes | None, identity: Identity) -> Response:
        """Send it, follow redirects, and return the response once it has begun."""
        transport = self._transport
        addressing, connections = transport.addressing, transport.connections
        route = addressing.route(identity, connections)
        within = read_timeout = transport.options.read_timeout
        if self._is_stream:
            within, read_timeout = _STREAM_OPEN_TIMEOUT, None
        fields = addressing.fields(identity, headers, route)
        method, url, target = self._method, self.url, self._target
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                response = await route.exchange(
                    method, url, target, fields, body, within=within, read_timeout=read_timeout
                )
                if response.status not in _REDIRECTS or method != _GET or "Location" not in response.headers:
                    return response
                response.close()
                here, there = URL(url, encoded=True), redirected(URL(url, encoded=True), response)
                if there.origin() != here.origin():
                    all_headers = addressing.headers(identity, headers)
                    way = Way(there.origin(), proxy=transport.endpoint.proxy)
                    route = connections.route(way)
                    fields = route.fields(
                        CIMultiDict((name, all_headers[name]) for name in _FOR_OTHERS if name in all_headers)
                    )
                url, target = str(there), there.raw_path_qs
        except TimeoutError as error:
            if not self._is_stream or isinstance(error, NOT_CONNECTED):
                raise
            raise ConnectionLost(url, f"the server did not begin to answer within {within:.0f} s") from None
        raise ClientError(f"{self.url} redirects more than {_MAX_REDIRECTS} times")

    async def upgrade(self, protocols: Sequence[str]) -> aiohttp.ClientWebSocketResponse:
        """
        Request a WebSocket once.

        :param protocols: the server picks the first of them that it knows
        :raises UpgradeRefused: if the server does not open a WebSocket
        :raises ConnectionLost: if the server does not begin to answer
        """
        transport = self._transport
        credentials = transport.endpoint.credentials
        if credentials.is_due:
            await credentials.keep_fresh()
        self._used = identity = credentials.identity
        headers = transport.addressing.headers(identity, _FOR_WEBSOCKETS)
        options = transport.addressing.for_aiohttp(identity)
        with move_on_after(transport.clock, _STREAM_OPEN_TIMEOUT):
            try:
                socket: aiohttp.ClientWebSocketResponse = await transport.websockets.ws_connect(
                    URL(self.url, encoded=True),
                    headers=headers,
                    protocols=protocols,
                    heartbeat=_HEARTBEAT,
                    max_msg_size=_MAX_MESSAGE,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_WITHIN),
                    **options,
                )
            except UpgradeRefused as refusal:
                transport.metrics.answered(refusal.response.status, self._method)
                raise
            transport.metrics.answered(101, self._method)
            if not transport.reachability.is_up:
                transport.reachability.found()
            return socket
        raise ConnectionLost(self.url, f"the server did not begin to answer within {_STREAM_OPEN_TIMEOUT:.0f} s")

    async def broken(self, error: Exception) -> None:
        """
        Handle a broken connection: wait until the request may be sent again.

        :raises ServerUnreachable: if there was no connection
        :raises ConnectionLost: if there was one, and the request may not be sent again
        """
        transport = self._transport
        transport.metrics.answered(0, self._method)
        url = self.url
        if isinstance(error, SentOnce):
            error = error.error
        if is_of_tls(error) and await self._renewed(
            refused=not isinstance(error, aiohttp.ClientConnectorCertificateError)
        ):
            return
        if isinstance(error, NOT_CONNECTED):
            why = why_not_connected(error, transport.endpoint.proxy)
            unreachable = ServerUnreachable(transport.endpoint.server, why)
            unreachable.__cause__ = error
            unreachable.reachability = transport.reachability
            transport.reachability.lost(unreachable)
            raise unreachable
        timed_out = isinstance(error, TimeoutError)
        retryable = self._method == _GET and (self._is_stream or not timed_out)
        if not retryable or self._retries >= self._limit:
            what = f"nothing came for {transport.options.read_timeout:g} s" if timed_out else cause_of(error)
            raise ConnectionLost(url, what) from error
        # Most such connections were idle and closed by the server just then.
        at_once = isinstance(error, _NO_ANSWER) and not self._retries
        await self._wait(0 if at_once else _RETRY_LOST_AFTER, f"the connection was lost: {cause_of(error)}")

    async def refused(self, response: Answer, data: bytes) -> None:
        """
        Handle a refusal: wait until the request may be sent again.

        :raises ApiError: if it may not be sent again
        """
        code = response.status
        seconds = retry_after(response.headers.get("Retry-After"))
        error = error_from_response(
            code,
            data,
            content_type=response.headers.get("Content-Type", ""),
            retry_after=seconds or 0,
            method=self._method,
            url=self.url,
            about=self._about,
        )
        if (code == 429 or code >= 500) and seconds is not None and self._retries < self._limit:
            await self._wait(seconds, f"the server answered {code}: {error}")
            return
        if code == 401 and await self._renewed(refused=True):
            return
        raise error

    async def _renewed(self, *, refused: bool) -> bool:
        """Renew the credentials. Return whether they differ now from those that the request was sent with."""
        if self._renewals >= _MAX_RENEWALS:
            return False
        self._renewals += 1
        if not await self._transport.endpoint.credentials.refresh(refused=refused, used=self._used):
            return False
        log.debug("credentials_renewed", url=self.url)
        return True

    async def _wait(self, seconds: float, why: str) -> None:
        self._retries += 1
        level = log.info if seconds > _LONG_WAIT else log.debug
        level("request_retried", method=self._method, url=self.url, why=why, delay=seconds, retry=self._retries)
        await self._transport.clock.sleep(seconds)

    async def throttle(self, limiter: RateLimiter) -> None:
        """Wait until a limiter lets it be sent."""
        waited = await limiter.accept()
        self._transport.metrics.throttled(self._method, waited)
        if waited > _LONG_THROTTLE:
            log.info("request_throttled", method=self._method, url=self.url, seconds=round(waited, 3))

    def _warn(self, headers: list[str]) -> None:
        # Each warning is logged once. Otherwise a controller would log a deprecation with each of its requests.
        seen = self._transport.seen_warnings
        for header in headers:
            if header not in seen and len(seen) < 1000:
                seen.add(header)
                for text in warning_texts(header):
                    log.warning("server_warning", url=self.url, warning=text)
