"""Transport: requests to one API server.

A request is given as method, path and bytes. The result is the body of the response, or an error. As in client-go's
rest.Request, a request may be sent several times in between: see :mod:`kinformer.client.tries`.

No request waits for ever: the server's own limit is a minute. If a response has not begun after `read_timeout`
seconds, or no byte of it came for as long, the connection counts as lost. Whatever a server answers, it is at most an
error of this request: what aiohttp raises for it becomes a :exc:`ClientError` here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import anyio

from kinformer.client.addressing import Addressing
from kinformer.client.answers import BodyReader, check_encoding, read_body
from kinformer.client.causes import BROKEN, cause_of
from kinformer.client.config import Endpoint
from kinformer.client.connection import Connections
from kinformer.client.errors import ClientError, ConnectionLost, DecodeError
from kinformer.client.metrics import HostMetrics
from kinformer.client.options import DEFAULT_OPTIONS, ClientOptions
from kinformer.client.pieces import Pieces
from kinformer.client.queries import query_of
from kinformer.client.reachability import Reachability
from kinformer.client.response import Response
from kinformer.client.session import new_websocket_session
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
        self.addressing = Addressing(endpoint, options)
        parts = urlsplit(endpoint.server)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._base = endpoint.server[len(self.origin) :]
        self._connections: Connections | None = None
        self._websockets: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Transport:
        self._connections = self._new_connections()
        return self

    async def __aexit__(self, *_: object) -> None:
        connections, self._connections = self._connections, None
        websockets, self._websockets = self._websockets, None
        with anyio.CancelScope(shield=True):
            if websockets is not None:
                await websockets.close()
            if connections is not None:
                await connections.close()

    def _new_connections(self) -> Connections:
        """Make the connections. Others in their place may take requests another way."""
        return Connections(self.clock)

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way. Watches do not count."""
        return self._in_flight.value < self.options.max_in_flight

    @property
    def connections(self) -> Connections:
        """
        The connections for requests.

        :raises ClientError: if the client is closed
        """
        if self._connections is None:
            raise ClientError(f"the client of {self.endpoint.server} is closed")
        return self._connections

    @property
    def websockets(self) -> aiohttp.ClientSession:
        """
        The session for WebSockets. It has the same connector, and reads the body of a refusal.

        :raises ClientError: if the client is closed
        """
        if self._websockets is None:
            self._websockets = new_websocket_session(self.connections.connector)
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
        tries, options = Tries(self, method, self._target(path, params), about, retries), self.options
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
        tries = Tries(self, "GET", self._target(path, params), about, retries, is_stream=True)
        while True:
            try:
                response = await tries.send(headers, None)
                if 200 <= response.status < 300:
                    check_encoding(response, compressed=False)
                    return BodyStream(response, tries.url)
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
        tries = Tries(self, "CONNECT", self._target(path, params), about, MAX_RETRIES, is_stream=True)
        while True:
            try:
                return WebSocket(await tries.upgrade(protocols), tries.url)
            except UpgradeRefused as refusal:
                await tries.refused(refusal.response, refusal.data)
            except BROKEN as error:
                await tries.broken(error)
            except (ValueError, RecursionError, ArithmeticError) as error:
                raise _not_understood(tries.url, error) from error

    async def probe(self) -> bytes:
        """Send one request, to see whether the server can be reached."""
        return await self.request("GET", "/version", retries=0)

    def _target(self, path: str, params: Mapping[str, str] | Sequence[tuple[str, str]] | None) -> str:
        return f"{self._base}{path}?{query_of(params)}" if params else self._base + path


class BodyStream:
    """
    A response that is still arriving. Its connection is closed with it and not used again.

    :param url: the URL of the request
    """

    __slots__ = ("_response", "url")

    def __init__(self, response: Response, url: str):
        self.url = url
        self._response = response

    async def read(self) -> Pieces | None:
        """
        Return everything that has arrived, in pieces. It waits until there is something. The result is empty at the
        end, and None if the wait was interrupted.

        :raises ConnectionLost: if the connection broke, after everything that came before was read
        """
        try:
            return await self._response.read()
        except BROKEN as error:
            raise ConnectionLost(self.url, cause_of(error)) from error

    def interrupt(self) -> None:
        """Have a :meth:`read` that waits return None."""
        self._response.interrupt()

    @property
    def has_unread(self) -> bool:
        """Whether :meth:`read` would not wait."""
        return self._response.has_unread

    def close(self) -> None:
        """Close the connection. Closing it again has no effect."""
        self._response.close()


def _not_understood(url: str, error: Exception) -> DecodeError:
    return DecodeError(f"the answer from {url} cannot be understood ({type(error).__name__})")
