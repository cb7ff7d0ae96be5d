"""RawBody: reads the bytes of a watch without aiohttp's parser. All uses of aiohttp's private parts are here.

aiohttp's parser calls into Python three times for each HTTP chunk, and an API server sends each event as a chunk of its
own. A request with ``read_bufsize=RawBody(...)`` gets its body's bytes as they come from the socket, and
:class:`~kinformer.client.dechunker.Dechunker` removes the framing from a whole read at once. Headers, redirects,
errors, TLS and proxies stay aiohttp's.

It is worth it over TLS, which clusters use; ``kinformer bench throughput`` has a row with it and one without. An event
of 5.7 KB takes 6 to 9 % less time in a whole informer: 15.5, 16.4 and 17.3 us where aiohttp's parser takes 16.5, 17.5
and 18.9 (CPU of the reading process, medians of 15 loads in turn, three times, a TLS record for each event, Python
3.11, aiohttp 3.14, two quiet cores, 2026-11-23). In records of 16 KiB it is 4 to 7 %. Plain HTTP alone is not worth it:
0 to 4 %.

Over TLS, the bytes of such a body are decrypted into one buffer for all connections (:class:`_Decrypted`). asyncio's
default allocates 256 KiB of memory for each record, and an API server sends at least one record for each event.

There is no public way to do this. The private parts are the class :class:`aiohttp.client_proto.ResponseHandler`, its
method ``set_response_params``, and the connector's ``_factory``. If a version of aiohttp lacks them,
:func:`speak_raw` returns False, everything works with aiohttp's own reader, and a test fails.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any, Final

import aiohttp

from kinformer.client.dechunker import Dechunker, Piece
from kinformer.client.tls_buffer import share_buffer

__all__ = ("RawBody", "raw_body_of", "speak_raw")


#: Bytes: as much as asyncio reads from a socket at once, and a record before that of which only a part had come.
_DECRYPTED_AT_ONCE: Final = 2**18 + 2**15


class RawBody(int):
    """A ``read_bufsize`` that asks for the body as it comes from the socket: the most bytes that are held unread."""


def speak_raw(connector: aiohttp.TCPConnector) -> bool:
    """Let a connector's connections return the raw bytes of a body. Return whether this aiohttp can."""
    if _BASE is object or not hasattr(connector, "_factory"):
        return False
    # aiohttp declares the exact class of this attribute.
    # One buffer for each loop: two loops may run in two threads, and decryption releases the GIL. Without TLS there is
    # none.
    buffer = functools.cache(lambda: memoryview(bytearray(_DECRYPTED_AT_ONCE)))
    connector._factory = functools.partial(  # type: ignore[assignment]
        _Handler, loop=asyncio.get_running_loop(), buffer=buffer
    )
    return True


def raw_body_of(response: aiohttp.ClientResponse) -> RawChunkedBody | None:
    """The body of a response that was requested with :class:`RawBody`, None if it went through aiohttp's parser."""
    protocol = getattr(response.connection, "protocol", None)
    found: RawChunkedBody | None = getattr(protocol, "raw", None)
    return found


def _handler_class() -> type[Any]:
    try:
        from aiohttp.client_proto import ResponseHandler
    except ImportError:
        return object
    return ResponseHandler if hasattr(ResponseHandler, "set_response_params") else object


_BASE = _handler_class()


class _Handler(_BASE):  # type: ignore[misc,valid-type]  # the base class is found at run time
    """aiohttp's protocol, in which the body of a chunked response bypasses the parser if that was requested."""

    def __init__(self, loop: asyncio.AbstractEventLoop, buffer: Callable[[], memoryview]):
        super().__init__(loop)
        self._decrypted_here = buffer
        self.raw: RawChunkedBody | None = None
        self._limit: RawBody | None = None
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        share_buffer(transport, self._loop)
        super().connection_made(transport)

    def set_response_params(self, **params: Any) -> None:
        limit = params.get("read_bufsize")
        self._limit = limit if isinstance(limit, RawBody) else None
        self.raw = None
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if self.raw is not None:
            self.raw.feed(data)
        elif self._limit is None or not data:
            super().data_received(data)
        else:
            self._feed_head(data, self._limit)

    def _feed_head(self, data: bytes, limit: RawBody) -> None:
        self._head += data
        head, separator, body = self._head.partition(b"\r\n\r\n")
        if not separator and len(self._head) < limit:
            return
        data, self._head, self._limit = self._head, b"", None
        if separator and _is_plain_chunked(head):
            self.raw = RawChunkedBody(self, limit)
            super().data_received(head + separator)
            self.raw.feed(body)
            transport = self.transport
            if transport is not None and transport.get_extra_info("ssl_object") is not None:
                transport.set_protocol(_Decrypted(self, self.raw, self._decrypted_here()))
        else:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self.raw is not None:
            self.raw.feed_end(exc)
        if self._head:
            data, self._head, self._limit = self._head, b"", None
            super().data_received(data)
        super().connection_lost(exc)


class _Decrypted(asyncio.BufferedProtocol):
    """
    Takes a handler's place for the rest of a body that comes over TLS, and provides the buffer for decryption.

    If each event is a record of its own, an event of 5.7 KB is decrypted in 5.8 µs instead of 8.8. In records of 16 KiB
    it takes 3.1 instead of 6.1. OpenSSL's AES-GCM takes 1.8 µs of these. Over plain HTTP this would be one copy more
    and no gain.

    :param buffer: the shared buffer; the bytes are copied from it before anything else writes to it
    """

    def __init__(self, handler: _Handler, body: RawChunkedBody, buffer: memoryview):
        self._handler = handler
        self._feed = body.feed
        self._buffer = buffer

    def get_buffer(self, _: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, size: int) -> None:
        self._feed(bytes(self._buffer[:size]))

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()

    def eof_received(self) -> None:
        self._handler.eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._handler.connection_lost(exc)


def _is_plain_chunked(head: bytes) -> bool:
    """Whether a response is an ordinary one to a watch. aiohttp handles all others."""
    status, _, fields = head.lower().partition(b"\r\n")
    return (
        status.startswith(b"http/1.1 200")
        and b"\ntransfer-encoding: chunked" in b"\n" + fields
        and b"content-encoding:" not in fields
    )


class RawChunkedBody:
    """The chunked body of one response, between the socket and its one reader."""

    def __init__(self, handler: _Handler, limit: int):
        self._handler = handler
        self._limit = limit
        self._arrived: list[bytes] = []
        self._size = 0
        self._paused = False
        self._waiter: asyncio.Future[bool] | None = None  # whether it was interrupted
        self._ended = False
        self._error: BaseException | None = None
        self._dechunker = Dechunker()

    def feed(self, data: bytes) -> None:
        if not data:
            return
        self._arrived.append(data)
        self._size += len(data)
        self._wake()
        transport = self._handler.transport
        if self._size >= self._limit and not self._paused and transport is not None:
            self._paused = True
            transport.pause_reading()

    def feed_end(self, error: BaseException | None) -> None:
        self._ended = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(False)

    @property
    def has_unread(self) -> bool:
        return bool(self._arrived) or self._ended or self._dechunker.finished

    def interrupt(self) -> None:
        """Have a read that waits return None."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(True)

    async def read(self) -> list[Piece] | None:
        while not self._dechunker.finished:
            if self._arrived:
                if pieces := self._take():
                    return pieces
            elif self._ended:
                raise aiohttp.ClientPayloadError("the connection was closed in the middle of it") from self._error
            else:
                self._waiter = asyncio.get_running_loop().create_future()
                try:
                    is_interrupted = await self._waiter
                finally:
                    self._waiter = None
                if is_interrupted and not self.has_unread:
                    return None
        return []

    def _take(self) -> list[Piece]:
        arrived, self._arrived = self._arrived, []
        self._size = 0
        transport = self._handler.transport
        if self._paused and transport is not None and not transport.is_closing():
            transport.resume_reading()
        self._paused = False
        feed = self._dechunker.feed
        if len(arrived) == 1:
            return feed(arrived[0])
        return [piece for raw in arrived for piece in feed(raw)]
