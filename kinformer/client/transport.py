"""Transport: requests to one API server, over one aiohttp session.

A request is given as method, path and bytes. The result is the body of the response, or an error. As in client-go's
rest.Request, a request may be sent several times in between: see :mod:`kinformer.client.tries`.

No request waits for ever: the server's own limit is a minute. If a response has not begun after `read_timeout`
seconds, or no byte of it came for as long, the connection counts as lost. Whatever a server answers, it is at most an
error of this request: what aiohttp raises for it becomes a :exc:`ClientError` here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import aiohttp
import anyio
from multidict import CIMultiDict
from yarl import URL

from kinformer.client.answers import BodyReader, check_encoding, read_body
from kinformer.client.causes import BROKEN, cause_of
from kinformer.client.config import Endpoint
from kinformer.client.connection import Body, Connector, body_of
from kinformer.client.credentials import Identity, checked_header
from kinformer.client.dechunker import Piece
from kinformer.client.errors import ClientError, ConfigError, ConnectionLost, DecodeError
from kinformer.client.metrics import HostMetrics
from kinformer.client.options import DEFAULT_OPTIONS, ClientOptions
from kinformer.client.queries import query_of
from kinformer.client.reachability import Reachability
from kinformer.client.session import new_session, new_websocket_session
from kinformer.client.status import About
from kinformer.client.tries import MAX_RETRIES, Tries
from kinformer.client.websocket import UpgradeRefused, WebSocket
from kinformer.clock import Clock, RealClock

__all__ = ("BodyReader", "BodyStream", "Transport")

_JSON: Final = "application/json"

_NOTHING: Final = About()


class Transport:
    """
    Requests to one server. An async context manager: the session lives as long as that.

    :param options: how requests are sent
    :raises ConfigError: if a header cannot be sent
    :raises ValueError: if a limit lets no request through
    """

    def __init__(self, endpoint: Endpoint, options: ClientOptions = DEFAULT_OPTIONS, *, clock: Clock | None = None):
        self.endpoint = endpoint
        self.clock = clock or RealClock()
        self.options = options
        self.limiter = options.limiter(self.clock)
        self.deletions = options.deletions(self.clock)
        self.metrics = HostMetrics(endpoint.host)
        self.seen_warnings: set[str] = set()
        self.reachability = Reachability(endpoint.server, self.probe, self.clock, options.outage)
        self._in_flight = anyio.Semaphore(options.max_in_flight, fast_acquire=True)
        self._session: aiohttp.ClientSession | None = None
        self._websockets: aiohttp.ClientSession | None = None
        # Not headers of the session: aiohttp sends those to proxies too, and to the targets of redirects.
        self._headers = CIMultiDict(
            {
                "Accept": _JSON,
                "Accept-Encoding": "gzip" if options.compression else "identity",
                "User-Agent": options.user_agent or _user_agent(),
            }
        )
        for name, value in endpoint.impersonation.headers():
            self._headers.add(name, _checked(name, value))
        for name, value in options.headers.items():
            self._headers[name] = _checked(name, value)
        self._made_for: Identity | None = None
        self._own_headers = self._headers
        self._options: dict[str, Any] = {}

    async def __aenter__(self) -> Transport:
        self._session = self._new_session()
        return self

    async def __aexit__(self, *_: object) -> None:
        session, self._session = self._session, None
        websockets, self._websockets = self._websockets, None
        with anyio.CancelScope(shield=True):
            if websockets is not None:
                await websockets.close()
            if session is not None:
                await session.close()

    def _new_session(self) -> aiohttp.ClientSession:
        """Make the session. Another one in its place has `request`, `close` and `connector`."""
        return new_session(Connector(), self.options.read_timeout)

    @property
    def session(self) -> aiohttp.ClientSession:
        """
        The session for requests.

        :raises ClientError: if the client is closed
        """
        if self._session is None:
            raise ClientError(f"the client of {self.endpoint.server} is closed")
        return self._session

    @property
    def websockets(self) -> aiohttp.ClientSession:
        """
        The session for WebSockets. It uses the same connections, and reads the body of a refusal.

        :raises ClientError: if the client is closed
        """
        if self._websockets is None:
            self._websockets = new_websocket_session(self.session.connector)
        return self._websockets

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        about: About = _NOTHING,
        retries: int = MAX_RETRIES,
        reader: BodyReader | None = None,
        answered: Callable[[int], object] | None = None,
    ) -> bytes:
        """
        Send a request and return the body of the response.

        :param path: the path of the URL, with special characters escaped
        :param body: JSON, unless `headers` name another Content-Type
        :param retries: the most times that it is sent again
        :param reader: gets the body as it arrives; the result is then empty
        :param answered: called with the status code of each response, also of those after which it is sent again
        :raises ApiError: if the server refuses
        :raises ServerUnreachable: if there is no connection to it
        :raises ConnectionLost: if the connection breaks before the answer is complete
        :raises DecodeError: if the response is not valid HTTP, is compressed wrongly, or is too large
        """
        clock, in_flight = self.clock, self._in_flight
        started = clock.monotonic()
        if body is not None and (headers is None or "Content-Type" not in headers):
            headers = {"Content-Type": _JSON, **(headers or {})}
        tries, options = Tries(self, method, self._url(path, params), about, retries), self.options
        try:
            while True:
                if method == "DELETE" and self.deletions is not None:
                    await tries.throttle(self.deletions)  # before it takes a place that other requests need
                try:
                    if in_flight.value:
                        in_flight.acquire_nowait()  # to wait, be it for nothing, is a dozen calls
                    else:
                        await in_flight.acquire()
                    try:
                        response = await tries.send(headers, body)
                        data = await read_body(response, reader, options.max_answer, compressed=options.compression)
                    finally:
                        in_flight.release()
                except BROKEN as error:
                    await tries.broken(error)
                    continue
                except (ValueError, RecursionError, ArithmeticError) as error:
                    raise _not_understood(tries.url, error) from error
                if answered is not None:
                    answered(response.status)
                if 200 <= response.status < 300:
                    return data
                await tries.refused(response, data)
        finally:
            self.metrics.took(method, clock.monotonic() - started)

    async def stream(
        self,
        path: str,
        *,
        params: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        about: About = _NOTHING,
        retries: int = MAX_RETRIES,
    ) -> BodyStream:
        """
        Send a request whose response does not end, and return once the response has begun.

        It does not wait for the rate limiter, as watches do not in client-go.

        :param retries: the most times that it is sent again
        :raises ApiError: if the server refuses
        :raises ServerUnreachable: if there is no connection to it
        :raises ConnectionLost: if the response did not begin
        :raises DecodeError: if the response is not valid HTTP
        """
        if self.options.compression:
            headers = {**(headers or {}), "Accept-Encoding": "identity"}
        tries = Tries(self, "GET", self._url(path, params), about, retries, is_stream=True)
        while True:
            try:
                response = await tries.send(headers, None)
                if 200 <= response.status < 300:
                    check_encoding(response, compressed=False)
                    return BodyStream(response, str(tries.url))
                data = await read_body(response, None, self.options.max_answer, compressed=self.options.compression)
            except BROKEN as error:
                await tries.broken(error)
                continue
            except (ValueError, RecursionError, ArithmeticError) as error:
                raise _not_understood(tries.url, error) from error
            await tries.refused(response, data)

    async def upgrade(
        self,
        path: str,
        *,
        params: Sequence[tuple[str, str]],
        protocols: Sequence[str],
        about: About = _NOTHING,
    ) -> WebSocket:
        """
        Open a WebSocket. This is not tried again once the request may have had an effect.

        It does not wait for the rate limiter, as in client-go.

        :param params: the parameters; a name may occur several times
        :param protocols: the protocols that the caller speaks, the preferred one first
        :raises ApiError: if the server refuses
        :raises ServerUnreachable: if there is no connection to it
        :raises ConnectionLost: if the response did not begin
        :raises ClientError: if the server answers and opens no WebSocket
        """
        tries = Tries(self, "CONNECT", self._url(path, params), about, MAX_RETRIES, is_stream=True)
        while True:
            try:
                return WebSocket(await tries.upgrade(protocols), str(tries.url))
            except UpgradeRefused as refusal:
                await tries.refused(refusal.response, refusal.data)
            except BROKEN as error:
                await tries.broken(error)
            except (ValueError, RecursionError, ArithmeticError) as error:
                raise _not_understood(tries.url, error) from error

    async def probe(self) -> bytes:
        """Send one request, to see whether the server can be reached."""
        return await self.request("GET", "/version", retries=0)

    def headers_for(self, identity: Identity, headers: Mapping[str, str] | None) -> CIMultiDict[str]:
        """
        The headers of a request.

        :param headers: the request's own, which replace others of the same name
        """
        if identity is not self._made_for:
            self._make_for(identity)
        if headers is None:
            return self._own_headers
        own = self._own_headers.copy()
        own.update(headers)
        return own

    def options_for(self, identity: Identity) -> dict[str, Any]:
        """The options for aiohttp with each request. Unneeded ones are left out, because each costs time."""
        if identity is not self._made_for:
            self._make_for(identity)
        return self._options

    def _make_for(self, identity: Identity) -> None:
        endpoint = self.endpoint
        self._own_headers = self._headers.copy()
        if identity.header and "Authorization" not in self._headers:
            self._own_headers["Authorization"] = identity.header
        self._options = {}
        if tls := identity.tls or endpoint.tls:
            # Set for each request: open connections keep the context that they were made with.
            self._options["ssl"] = tls
        if endpoint.server_hostname:
            self._options["server_hostname"] = endpoint.server_hostname
        if endpoint.proxy:
            self._options["proxy"] = endpoint.proxy
        self._made_for = identity

    def _url(self, path: str, params: Mapping[str, str] | Sequence[tuple[str, str]] | None) -> URL:
        query = f"?{query_of(params)}" if params else ""
        return URL(f"{self.endpoint.server}{path}{query}", encoded=True)


class BodyStream:
    """
    A response that is still arriving. Its connection is closed with it and not used again.

    :param url: the URL of the request
    """

    __slots__ = ("_body", "_response", "url")

    def __init__(self, response: aiohttp.ClientResponse, url: str):
        self.url = url
        self._response = response
        self._body: Body = body_of(response)

    async def read(self) -> list[Piece] | None:
        """
        Return everything that has arrived, in pieces. It waits until there is something. The result is empty at the
        end, and None if the wait was interrupted.

        :raises ConnectionLost: if the connection broke, after everything that came before was read
        """
        try:
            return await self._body.read()
        except BROKEN as error:
            raise ConnectionLost(self.url, cause_of(error)) from error

    def interrupt(self) -> None:
        """Have a :meth:`read` that waits return None."""
        self._body.interrupt()

    @property
    def has_unread(self) -> bool:
        """Whether :meth:`read` would not wait."""
        return self._body.has_unread

    def close(self) -> None:
        """Close the connection. Closing it again has no effect."""
        self._response.close()


def _not_understood(url: URL, error: Exception) -> DecodeError:
    return DecodeError(f"the answer from {url} cannot be understood ({type(error).__name__})")


def _checked(name: str, value: str) -> str:
    try:
        return checked_header(value)
    except ConfigError:
        raise ConfigError(f"the header {name!r} cannot be sent: want printable ASCII and no line breaks") from None


@cache
def _user_agent() -> str:
    return f"kinformer/{version('kinformer')} ({sys.platform}) python/{sys.version_info[0]}.{sys.version_info[1]}"
