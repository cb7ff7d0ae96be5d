"""Transport: requests to one API server, over one aiohttp session.

A request goes in as method, path and bytes; the answer's bytes come out, or the error that it means. In between, as in
client-go's rest.Request:

- a client-side limiter, if there is one, is passed before every try;
- an answer of 429 or 5xx that names a Retry-After is waited out and the request sent again, ten times at most,
  whatever its verb: the server has said that it did nothing;
- a GET whose connection broke is sent again after a second, ten times at most; any other verb is not, since what it
  asked for may have happened;
- credentials that the server refuses are renewed, once, and the request sent again if they changed.

No request waits for ever: the server's own limit is a minute, and an answer of which nothing came for `read_timeout`
seconds is a lost connection. Only that time is aiohttp's and the event loop's; all others are the clock's.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import aiohttp
import anyio
from yarl import URL

from kinformer.client.config import Endpoint
from kinformer.client.connection import Body, Connector, Piece, RawBody, body_of
from kinformer.client.errors import ClientError, ConnectionLost, ServerUnreachable, error_from_response
from kinformer.client.flow_control import RateLimiter
from kinformer.client.metrics import HostMetrics
from kinformer.client.status import About
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger

__all__ = ("BodyReader", "BodyStream", "Transport")

log = get_logger(__name__)

#: client-go's; a request is sent once more than that at most.
MAX_RETRIES: Final = 10
_RETRY_LOST_AFTER: Final = 1.0
_CONNECT_TIMEOUT: Final = 30.0
_LONG_THROTTLE: Final = 1.0

#: How much of a watch may lie unread here before the server is made to wait.
_STREAM_BUFFER: Final = RawBody(2**18)

#: What aiohttp raises where there is no answer, or only a part of one.
_BROKEN: Final = (aiohttp.ClientError, OSError, TimeoutError)

#: Of these, what it raises where there was no connection to the server.
_NOT_CONNECTED: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)

_GET: Final = "GET"
_JSON: Final = "application/json"


_NOTHING: Final = About()


class Transport:
    """
    Requests to one server. An async context manager: the session lives as long as that.

    :param user_agent: how the server's logs call this client
    :param headers: sent with every request
    :param read_timeout: seconds without a byte after which an answer is given up; None: never
    :param max_in_flight: requests at once; more wait their turn, so that a thousand tasks do not open a thousand
        connections. Watches are not counted
    :param compression: let the server compress large answers, for networks that are slower than gzip
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        user_agent: str = "",
        headers: Mapping[str, str] | None = None,
        limiter: RateLimiter | None = None,
        read_timeout: float | None = 65.0,
        max_in_flight: int = 128,
        compression: bool = False,
        clock: Clock | None = None,
    ):
        self.endpoint = endpoint
        self.clock = clock or RealClock()
        self.read_timeout = read_timeout
        self._limiter = limiter
        self._in_flight = anyio.Semaphore(max_in_flight, fast_acquire=True)
        self._metrics = HostMetrics(endpoint.host)
        self._seen_warnings: set[str] = set()
        self._session: aiohttp.ClientSession | None = None
        self._headers = {
            "Accept": _JSON,
            "Accept-Encoding": "gzip" if compression else "identity",
            "User-Agent": user_agent or _user_agent(),
            **(headers or {}),
        }
        # Nothing that is not needed: each of these is a default that costs every request something.
        self._options: dict[str, Any] = {}
        if endpoint.server_hostname:
            self._options["server_hostname"] = endpoint.server_hostname
        if endpoint.proxy:
            self._options["proxy"] = endpoint.proxy

    async def __aenter__(self) -> Transport:
        connector = Connector(ssl=self.endpoint.tls or True, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT, sock_read=self.read_timeout),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        session, self._session = self._session, None
        if session is not None:
            with anyio.CancelScope(shield=True):
                await session.close()

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
    ) -> bytes:
        """
        Ask for something and return the body of the answer.

        :param path: as it stands in the URL, with what is special in it already escaped
        :param body: JSON, unless `headers` name another Content-Type
        :param retries: how often it is sent again at most
        :param reader: is given the body as it comes, instead
        :raises ApiError: if the server refuses
        :raises ServerUnreachable: if there is no connection to it
        :raises ConnectionLost: if the connection breaks before the answer is complete
        """
        clock = self.clock
        started = clock.monotonic()
        if body is not None and (headers is None or "Content-Type" not in headers):
            headers = {"Content-Type": _JSON, **(headers or {})}
        tries = _Tries(self, method, self._url(path, params), about, retries)
        try:
            while True:
                try:
                    async with self._in_flight:
                        response = await tries.send(headers, body)
                        data = await _body(response, reader)
                except _BROKEN as error:
                    await tries.broken(error)
                    continue
                if response.status < 300:
                    return data
                await tries.refused(response, data)
        finally:
            self._metrics.took(method, clock.monotonic() - started)

    async def stream(
        self, path: str, *, params: Mapping[str, str], headers: Mapping[str, str] | None = None, about: About = _NOTHING
    ) -> BodyStream:
        """
        Ask for something whose answer does not end, and return once the server began to answer.

        It passes no limiter, as watches do not in client-go.

        :raises ApiError: if the server refuses
        :raises ServerUnreachable: if there is no connection to it
        :raises ConnectionLost: if it did not begin to answer
        """
        tries = _Tries(self, _GET, self._url(path, params), about, MAX_RETRIES, is_stream=True)
        while True:
            try:
                response = await tries.send(headers, None)
                if response.status < 300:
                    return BodyStream(response, str(tries.url))
                data = await response.read()
            except _BROKEN as error:
                await tries.broken(error)
                continue
            await tries.refused(response, data)

    def _url(self, path: str, params: Mapping[str, str] | None) -> URL:
        query = f"?{urlencode(params)}" if params else ""
        return URL(f"{self.endpoint.server}{path}{query}", encoded=True)


class BodyReader(Protocol):
    """Takes the body of a good answer, piece by piece."""

    def feed(self, data: bytes) -> None: ...

    def restart(self) -> None:
        """What came is not all there is, and is sent again."""


async def _body(response: aiohttp.ClientResponse, reader: BodyReader | None) -> bytes:
    """All of the body, or nothing where the reader was given it."""
    if reader is None or response.status >= 300:
        return await response.read()  # closes it, should anything go wrong
    reader.restart()
    async with response:
        async for piece in response.content.iter_any():
            reader.feed(piece)
    return b""


class BodyStream:
    """
    An answer that is still coming in. Its connection is closed with it, not used again.

    :param url: what was asked for
    """

    __slots__ = ("_body", "_response", "url")

    def __init__(self, response: aiohttp.ClientResponse, url: str):
        self.url = url
        self._response = response
        self._body: Body = body_of(response)

    async def read(self) -> list[Piece]:
        """
        All that has arrived, in pieces; waits for some; none at the end.

        :raises ConnectionLost: if the connection breaks, once everything that came before was read
        """
        try:
            return await self._body.read()
        except _BROKEN as error:
            raise ConnectionLost(self.url, _cause(error)) from error

    @property
    def has_unread(self) -> bool:
        """Whether :meth:`read` would not wait."""
        return self._body.has_unread

    def close(self) -> None:
        """Close the connection. Closing twice is closing once."""
        self._response.close()


class _Tries:
    """One request through all its tries: what each came to, and whether there is to be another."""

    __slots__ = ("_about", "_is_stream", "_limit", "_method", "_renewed", "_retries", "_transport", "url")

    def __init__(
        self, transport: Transport, method: str, url: URL, about: About, limit: int, *, is_stream: bool = False
    ):
        self.url = url
        self._transport = transport
        self._method = method
        self._about = about
        self._limit = limit
        self._is_stream = is_stream
        self._retries = 0
        self._renewed = False

    async def send(self, headers: Mapping[str, str] | None, body: bytes | None) -> aiohttp.ClientResponse:
        """Send it once."""
        transport = self._transport
        session = transport._session
        if session is None:
            raise ClientError(f"the client of {transport.endpoint.server} is closed")
        if transport._limiter is not None and not self._is_stream:
            await self._throttle(transport._limiter)
        credentials = transport.endpoint.credentials
        if credentials.is_due:
            await credentials.refresh()
        if credentials.header:
            headers = {"Authorization": credentials.header, **(headers or {})}
        options = transport._options
        if self._is_stream:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT)
            options = {**options, "read_bufsize": _STREAM_BUFFER, "timeout": timeout}
        response = await session.request(
            self._method, self.url, headers=headers, data=body, allow_redirects=self._method == _GET, **options
        )
        transport._metrics.answered(response.status, self._method)
        if self._retries:
            transport._metrics.retried(response.status, self._method)
        if "Warning" in response.headers:
            self._warn(response.headers.getall("Warning"))
        return response

    async def broken(self, error: Exception) -> None:
        """
        Wait until it may be sent again.

        :raises ServerUnreachable: if there was no connection
        :raises ConnectionLost: if there was, and it may not be sent again
        """
        self._transport._metrics.answered(0, self._method)
        url = str(self.url)
        if isinstance(error, _NOT_CONNECTED):
            raise ServerUnreachable(self._transport.endpoint.server, self._why_not_connected(error)) from error
        timed_out = isinstance(error, TimeoutError)
        retryable = self._method == _GET and (self._is_stream or not timed_out)
        if not retryable or self._retries >= self._limit:
            what = f"nothing came for {self._transport.read_timeout:g} s" if timed_out else _cause(error)
            raise ConnectionLost(url, what) from error
        await self._wait(_RETRY_LOST_AFTER, f"the connection was lost: {error}")

    def _why_not_connected(self, error: Exception) -> BaseException | str:
        proxy = self._transport.endpoint.proxy
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return f"the proxy at {proxy} answered {error.status} {error.message}"
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            return f"no connection to the proxy at {proxy}: {_cause(error)}"
        return _cause(error)

    async def refused(self, response: aiohttp.ClientResponse, data: bytes) -> None:
        """
        Wait until it may be sent again.

        :raises ApiError: if it may not
        """
        code = response.status
        retry_after = _seconds(response.headers.get("Retry-After"))
        if (code == 429 or code >= 500) and retry_after is not None and self._retries < self._limit:
            await self._wait(retry_after, f"the server answered {code}")
            return
        if code == 401 and not self._renewed:
            self._renewed = True
            if await self._transport.endpoint.credentials.refresh(refused=True):
                log.debug("credentials_renewed", url=str(self.url))
                return
        raise error_from_response(
            code,
            data,
            content_type=response.headers.get("Content-Type", ""),
            retry_after=retry_after or 0,
            method=self._method,
            url=str(self.url),
            about=self._about,
        )

    async def _wait(self, seconds: float, why: str) -> None:
        self._retries += 1
        log.debug(
            "request_retried", method=self._method, url=str(self.url), why=why, delay=seconds, retry=self._retries
        )
        await self._transport.clock.sleep(seconds)

    async def _throttle(self, limiter: RateLimiter) -> None:
        waited = await limiter.accept()
        self._transport._metrics.throttled(self._method, waited)
        if waited > _LONG_THROTTLE:
            log.info("request_throttled", method=self._method, url=str(self.url), seconds=round(waited, 3))

    def _warn(self, headers: list[str]) -> None:
        # Once each: a controller would otherwise log a deprecation with every request that it makes.
        seen = self._transport._seen_warnings
        for header in headers:
            if header not in seen and len(seen) < 1000:
                seen.add(header)
                log.warning("server_warning", url=str(self.url), warning=_warning_text(header))


def _user_agent() -> str:
    return f"kinformer/{version('kinformer')} ({sys.platform}) python/{sys.version_info[0]}.{sys.version_info[1]}"


def _warning_text(header: str) -> str:
    """The text in ``299 - "text"``."""
    _, quote, rest = header.partition('"')
    return rest.rpartition('"')[0].replace('\\"', '"') if quote else header


def _seconds(header: str | None) -> int | None:
    return int(header) if header is not None and header.strip().isdecimal() else None


def _cause(error: BaseException) -> BaseException | str:
    """What went wrong, in as few words as the system has for it."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    inner: BaseException = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(inner, asyncio.TimeoutError) and not str(inner):
        return "no answer in time"
    if isinstance(inner, OSError) and not isinstance(inner, ssl.SSLError) and inner.errno and inner.strerror:
        words = os.strerror(inner.errno) if inner.errno > 0 else inner.strerror  # negative: it was the resolver
        return _SystemError(inner.errno, words)
    return inner


class _SystemError(OSError):
    """An error of the system that is shown as its words alone."""

    def __str__(self) -> str:
        return str(self.strerror)
