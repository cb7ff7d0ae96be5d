"""Direct requests: a simulated client calls the handler of a simulated server, without HTTP.

HTTP is not the subject of a simulation, and was the greatest part of its cost. So a simulated transport has
:class:`DirectConnections` in place of real ones. They hand each request to the server's handler as an object, over a
:class:`Line`. Everything else is as over a connection in memory: requests, answers and the parts of a watch take a
latency that is drawn from the seed, and stay in order. A line breaks at any time, also in the middle of an answer. A
process that is dead or cut off sends nothing. A paused process gets what has arrived when it goes on. A server waits
for a reader that is slow.

Two things are not tested in this way: how client and server read and write the bytes of HTTP, and how connections are
used again. ``WorldOptions(http=True)`` tests them. Programs that bring a client of their own use HTTP in any case.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any, Final, cast

import aiohttp
import anyio
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion11, RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from kinformer.client.connection import Connections, Fields, Route, Way, check_target
from kinformer.client.permission import ask_permission
from kinformer.client.response import Response
from kinformer.clock import Clock
from kinformer.envtest.serving import RequestHandler
from kinformer.simulation.loop import OWNER, Owner, SimulatedLoop
from kinformer.simulation.network import HIGH, LOW, Network

__all__ = ("DirectConnections", "Line", "answering")

#: The bytes of an answer's head, which a line does not send: see :meth:`Line.lose_after`.
_HEAD: Final = 150
#: Seconds that requests have to finish when the server ends.
_CLOSE_WITHIN: Final = 0.5


class DirectConnections(Connections):
    """
    Connections whose requests are direct. WebSockets use HTTP.

    :param network: has the servers
    """

    def __init__(self, clock: Clock, network: Network) -> None:
        super().__init__(clock)
        self.network = network

    def route(self, way: Way) -> Route:
        return _DirectRoute(way, self)


class _DirectRoute(Route):
    """
    The way to a server whose handler is called.

    No read times out: all bytes of an answer that does not go on arrive at once.
    """

    __slots__ = ("_address", "_direct")

    def __init__(self, way: Way, connections: DirectConnections) -> None:
        super().__init__(way, connections)
        self._address = way.origin.host or "", way.origin.port or 0
        self._direct = connections

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
        check_target(method, target)
        ask_permission()
        line = Line(self._direct.network, self._address, method, url, target, fields.headers, body)
        return cast(Response, await line.send(self._direct.clock, within))


class DirectResponse:
    """What :class:`~kinformer.client.response.Response` is, for a direct request."""

    __slots__ = ("_line", "content", "headers", "status", "url")

    def __init__(self, line: Line, status: int, headers: CIMultiDict[str], content: _Content) -> None:
        self._line = line
        self.status = status
        self.headers = headers
        self.content = content
        self.url = line.url

    async def read(self) -> list[bytes] | None:
        pieces = await self.content.read()
        if pieces:
            self._line.note_read(sum(map(len, pieces)))
        return pieces

    def interrupt(self) -> None:
        self.content.interrupt()

    @property
    def has_unread(self) -> bool:
        return self.content.has_unread

    def close(self) -> None:
        self._line.hang_up()

    def release(self) -> None:
        """Do nothing: a line is not used again."""


class _Content:
    """The body of a response, as it arrives."""

    __slots__ = ("_arrived", "_ended", "_error", "_loop", "_waiter")

    #: Its callbacks deliver what arrives from the network: see :meth:`SimulatedLoop.release`.
    is_of_network: Final = True

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._arrived: list[bytes] = []
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[bool] | None = None  # whether it was interrupted

    def feed(self, piece: bytes) -> None:
        if not self._ended:
            self._arrived.append(piece)
            self._wake(is_interrupted=False)

    def end(self, error: Exception | None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake(is_interrupted=False)

    def _wake(self, *, is_interrupted: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_interrupted)

    @property
    def has_unread(self) -> bool:
        return bool(self._arrived) or self._ended

    def interrupt(self) -> None:
        self._wake(is_interrupted=True)

    async def read(self) -> list[bytes] | None:
        """See :meth:`kinformer.client.response.Response.read`."""
        while not self._arrived:
            if self._ended:
                if self._error is not None:
                    raise aiohttp.ClientPayloadError("the line broke in the middle of the answer") from self._error
                return []
            self._waiter = self._loop.create_future()
            try:
                if await self._waiter and not self.has_unread:
                    return None
            finally:
                self._waiter = None
        pieces, self._arrived = self._arrived, []
        return pieces


class _Sent:
    """The body of a request, all of which has arrived."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def at_eof(self) -> bool:
        return not self.data

    def is_eof(self) -> bool:
        return True


_NOTHING_SENT: Final = _Sent(b"")


class _Request(web.BaseRequest):
    """A request that has arrived with its whole body."""

    async def read(self) -> bytes:
        data: bytes = cast(Any, self.content).data
        return data


# More than 15 fields: both directions of a request: what is sent and what has arrived.
class Line(AbstractStreamWriter):
    """
    One request and its answer, in place of a connection.

    To the server's handler it is also what aiohttp's protocol, transport and writer are to a handler.

    :ivar owner: the process that sends the request
    :ivar server: the listener that it goes to; None if there is none
    :ivar loses_after: how many further bytes of the answer are sent before the line breaks; None if it does not break
    """

    #: Its callbacks deliver what arrives from the network: see :meth:`SimulatedLoop.release`.
    is_of_network: Final = True
    #: What aiohttp's request asks a protocol for.
    ssl_context = peername = sockname = None

    def __init__(
        self,
        network: Network,
        address: tuple[str, int],
        method: str,
        url: str,
        target: str,
        headers: CIMultiDict[str],
        data: bytes | None,
    ) -> None:
        self.network = network
        self.url = url
        self._address = address
        self.owner: Owner | None = OWNER.get()
        self.loses_after: int | None = None
        self._loop = network.loop
        self.server = network.servers.get(address)
        self._context = copy_context()
        #: Gets the status and the headers. A line does not refer to its response or its request, which refer to it:
        #: so it is freed at once, and not by the garbage collector.
        self._waiter: asyncio.Future[tuple[int, CIMultiDict[str]]] = self._loop.create_future()
        self._sent = method, target, headers, data
        self._task: asyncio.Task[None] | None = None
        self._content = _Content(self._loop)
        self._when_read: Callable[[], object] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._unread = 0
        #: The times at which the last thing arrives that was sent to the server, and to the client.
        self._last_up = self._last_down = 0.0
        #: Whether the client has gone away; the server gets to know it later. The same for the server.
        self._client_left = self._server_left = False
        self._has_begun = False

    # -- the client ---------------------------------------------------------------------------------------------------

    async def send(self, clock: Clock, within: float | None) -> DirectResponse:
        """
        Send the request, and wait until the answer begins.

        :param within: seconds that this may take; None: there is no limit
        :raises aiohttp.ClientConnectorError: if the server does not listen, or the process has no network
        :raises aiohttp.ClientOSError: if the line broke before the answer
        :raises TimeoutError: if it takes too long
        """
        if self.owner is not None and not self.owner.may_send():
            # A process that was killed by this is cancelled here, and sees no error.
            await asyncio.sleep(self.network.latency())
            raise self._not_connected(errno.ENETUNREACH, "this process is dead, or cut off")
        if self.server is None:
            await asyncio.sleep(self.network.latency())
            raise self._not_connected(errno.ECONNREFUSED, _failed(self._address))
        self.network.lines[self] = None
        self._last_up = self._loop.now + self.network.latency()
        self._loop.call_at(self._last_up, self._arrive, context=self.server.context)
        timer = clock.call_later(within, self._time_out) if within is not None else None
        try:
            status, headers = await self._waiter
        except (asyncio.CancelledError, TimeoutError):
            self.hang_up()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return DirectResponse(self, status, headers, self._content)

    def hang_up(self) -> None:
        """Let the client leave the line. The server gets to know it when everything sent before has arrived."""
        if not self._client_left:
            self._client_left = True
            self.network.lines.pop(self, None)
            if not self._server_left and self.server is not None:
                self._last_up = at = max(self._last_up, self._loop.now + self.network.latency())
                self._loop.call_at(at, self._end_serving, context=self.server.context)

    def _time_out(self) -> None:
        if not self._waiter.done():
            self._waiter.set_exception(TimeoutError())

    def break_off(self) -> None:
        """Break the line at the client's end, as :meth:`abort` does at the server's."""
        self._loop.call_soon(self._reset, context=self._context)
        self.hang_up()

    def note_read(self, count: int) -> None:
        """Note that the client has read so many bytes of the answer."""
        self._unread -= count
        if self._drained is not None and self._unread <= LOW:
            if not self._drained.done():
                self._drained.set_result(None)
            self._drained = None

    def _deliver(self, status: int, headers: CIMultiDict[str]) -> None:
        if not self._waiter.done():
            self._waiter.set_result((status, headers))
        self._note_arrival()

    def _feed(self, piece: bytes) -> None:
        self._content.feed(piece)
        self._note_arrival()

    def _note_arrival(self) -> None:
        if self._when_read is not None:
            call, self._when_read = self._when_read, None
            call()

    def _reset(self) -> None:
        self._fail(aiohttp.ClientOSError(errno.ECONNRESET, "Connection reset by peer"))

    def _refuse(self) -> None:
        self._fail(self._not_connected(errno.ECONNREFUSED, _failed(self._address)))

    def _fail(self, error: Exception) -> None:
        if not self._waiter.done():
            self._waiter.set_exception(error)
        self._content.end(error)

    def _not_connected(self, number: int, text: str) -> aiohttp.ClientConnectorError:
        key = SimpleNamespace(host=self._address[0], port=self._address[1], is_ssl=False, ssl=True)
        return aiohttp.ClientConnectorError(cast(Any, key), OSError(number, text))

    # -- the server ---------------------------------------------------------------------------------------------------

    def _arrive(self) -> None:
        server = self.server
        assert server is not None
        if server.handler is None or not server.is_accepting or not server.is_serving():
            self._leave_server(self._refuse)
            return
        self._task = task = self._loop.create_task(self._serve(server.handler))
        server.tasks[task] = None
        task.add_done_callback(server.tasks.pop)

    async def _serve(self, handler: RequestHandler) -> None:
        try:
            response = await handler(self._request())
        except aiohttp.ClientConnectionError:
            return  # the client has gone away in the middle of the answer
        finally:
            self._task = None
        if self._server_left or self._has_begun:
            return
        assert isinstance(response, web.Response)
        body = response.body if isinstance(response.body, bytes) else b""
        error: Exception | None = None
        if self.loses_after is not None:
            if self.loses_after < _HEAD:
                self.abort()
                return
            body, error = body[: self.loses_after - _HEAD], _broken()
        if body:
            self._unread += len(body)
            self._content.feed(body)
        self._content.end(error)
        self._leave_server(self._deliver, response.status, response.headers)

    def _request(self) -> _Request:
        method, target, headers, data = self._sent
        proxy = CIMultiDictProxy(headers)
        url = URL(target, encoded=True)
        head = RawRequestMessage(method, target, HttpVersion11, proxy, (), False, None, False, False, url)
        body = cast(Any, _NOTHING_SENT if data is None else _Sent(data))
        return _Request(head, body, cast(Any, self), self, cast(Any, None), self._loop)

    def _leave_server(self, last: Callable[..., object], *args: Any) -> None:
        """End the server's part, with the last thing that it sends."""
        self._server_left = True
        self.network.lines.pop(self, None)
        self._send(last, *args)

    def _send(self, callback: Callable[..., object], *args: Any) -> None:
        self._last_down = at = max(self._last_down, self._loop.now + self.network.latency())
        self._loop.call_at(at, callback, *args, context=self._context)

    def _end_serving(self) -> None:
        """End the handler: the client has gone away, or the line is broken."""
        self._server_left = True
        if self._task is not None:
            self._task.cancel()

    def lose_after(self, count: int) -> None:
        """Break the line when so many further bytes of the answer have arrived. Its head counts as 150 bytes."""
        self.loses_after = count

    def when_read(self, callback: Callable[[], object]) -> None:
        """Call a function when the client has got what is sent next."""
        self._when_read = callback

    # -- what a handler uses as its transport ------------------------------------------------------------------------

    @property
    def sender(self) -> Owner | None:
        """The process that sends the request."""
        return self.owner

    @property
    def transport(self) -> Any:
        return self

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """There is no certificate, and no socket."""
        return default

    def is_closing(self) -> bool:
        return self._server_left

    def close(self) -> None:
        """End the answer where it is."""
        if not self._server_left:
            self._leave_server(self._content.end, _broken())

    def abort(self) -> None:
        """Break the line at once. Later writes are lost, and the client gets an error after the latency."""
        if not self._server_left:
            self._leave_server(self._reset)
            assert self.server is not None
            self._loop.call_soon(self._end_serving, context=self.server.context)

    # -- what a handler uses to write an answer that goes on ---------------------------------------------------------

    def enable_chunking(self) -> None:
        """Do nothing: pieces need no framing."""

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        raise NotImplementedError("a simulated server does not compress answers that go on")

    async def write_headers(self, status_line: str, headers: CIMultiDict[str]) -> None:
        self._has_begun = True
        status = int(status_line.split(" ", 2)[1])
        self._send(self._deliver, status, headers)

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """
        :raises ConnectionResetError: if the line is broken
        """
        if self._server_left:
            raise ConnectionResetError("Cannot write to closing transport")
        for piece in self.network.pieces(bytes(chunk)):
            self._send(self._feed, piece)
        self._unread += len(chunk)
        if self._unread > HIGH:
            self._drained = self._loop.create_future()
            await self._drained

    async def write_eof(self, chunk: bytes = b"") -> None:
        if chunk:
            await self.write(chunk)
        if not self._server_left:
            self._leave_server(self._content.end, None)

    async def drain(self) -> None:
        """Do nothing: :meth:`write` waits."""


def _failed(address: tuple[str, int]) -> str:
    return f"Connect call failed {address[0]}:{address[1]}"


def _broken() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")


@asynccontextmanager
async def answering(
    network: Network, address: tuple[str, int], handler: RequestHandler, end_watches: Callable[[], None]
) -> AsyncIterator[None]:
    """
    Answer direct requests to the listener at an address while the block runs. After it, none is being handled.

    :param end_watches: ends the answers that would go on
    """
    server = network.servers[address]
    server.handler = handler
    try:
        yield
    finally:
        server.is_accepting = False
        end_watches()
        with anyio.CancelScope(shield=True):
            if server.tasks:
                await asyncio.wait(list(server.tasks), timeout=_CLOSE_WITHIN)
            for task in server.tasks:
                task.cancel()
            if server.tasks:
                await asyncio.wait(list(server.tasks))
