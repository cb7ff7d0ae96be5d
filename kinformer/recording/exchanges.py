"""Exchanges: a client whose requests and watches are recorded.

Only references are taken: to the pieces of an answer, which are never changed, and to bodies. Requests for Leases and
Events are passed on as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from kinformer.client import ApiError, WrappedTransport
from kinformer.meta.requests import UNCOUNTED, about
from kinformer.models import encode

if TYPE_CHECKING:
    from kinformer.client.answers import BodyReader
    from kinformer.client.pieces import Piece, Pieces
    from kinformer.client.transport import BodyStream, Transport

__all__ = ("SYNC", "WATCH", "Exchanges", "RecordedTransport")

SYNC: ContextVar[int] = ContextVar("kinformer_recorded_sync", default=0)
"""The number of the sync that runs in this context; 0 outside of syncs."""

WATCH: Final = "WATCH"
"""The method of a watch, in an entry."""


class Exchanges(Protocol):
    """Takes what happens to requests."""

    def asked(self, method: str, path: str, params: Mapping[str, str] | None, form: str, body: bytes) -> int:
        """A request is sent. Return the number of its exchange."""

    def opened(self, exchange: int) -> None:
        """A watch was accepted."""

    def came(self, exchange: int, pieces: Sequence[Piece]) -> None:
        """A part of an answer has come; none if it begins again."""

    def over(self, exchange: int, status: int, error: BaseException | None) -> None:
        """An exchange is over."""


class RecordedTransport(WrappedTransport):
    """
    A transport whose requests are recorded.

    :param exchanges: records them
    """

    def __init__(self, transport: Transport, exchanges: Exchanges) -> None:
        super().__init__(transport)
        self._exchanges = exchanges

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        reader: BodyReader | None = None,
        answered: Callable[[int], object] | None = None,
        **more: Any,
    ) -> bytes:
        """See :meth:`Transport.request`."""
        asked: dict[str, Any] = {"params": params, "body": body, "headers": headers, **more}
        if about(method, path).resource in UNCOUNTED:
            return await self._transport.request(method, path, reader=reader, answered=answered, **asked)
        exchanges, status = self._exchanges, 0
        exchange = exchanges.asked(method, path, params, _form(headers), body or b"")

        def answered_with(code: int) -> None:
            nonlocal status
            status = code
            if answered is not None:
                answered(code)

        if reader is not None:
            reader = _RecordedReader(reader, exchange, exchanges)
        try:
            answer = await self._transport.request(method, path, reader=reader, answered=answered_with, **asked)
        except BaseException as error:
            if isinstance(error, ApiError):
                exchanges.came(exchange, [encode(error.status)])
                status = error.code
            exchanges.over(exchange, status, error)
            raise
        if answer:
            exchanges.came(exchange, [answer])
        exchanges.over(exchange, status, None)
        return answer

    async def stream(
        self, path: str, *, params: Mapping[str, str], headers: Mapping[str, str] | None = None, **more: Any
    ) -> BodyStream | RecordedStream:
        """See :meth:`Transport.stream`."""
        if about("GET", path).resource in UNCOUNTED:
            return await self._transport.stream(path, params=params, headers=headers, **more)
        exchanges = self._exchanges
        exchange = exchanges.asked(WATCH, path, params, _form(headers), b"")
        try:
            stream = await self._transport.stream(path, params=params, headers=headers, **more)
        except BaseException as error:
            if isinstance(error, ApiError):
                exchanges.came(exchange, [encode(error.status), b"\n"])
            exchanges.over(exchange, error.code if isinstance(error, ApiError) else 0, error)
            raise
        exchanges.opened(exchange)
        return RecordedStream(stream, exchange, exchanges)


class RecordedStream:
    """What :class:`~kinformer.client.transport.BodyStream` is, for a watch that is recorded."""

    __slots__ = ("_exchange", "_exchanges", "_is_over", "_stream", "url")

    def __init__(self, stream: BodyStream, exchange: int, exchanges: Exchanges) -> None:
        self.url = stream.url
        self._stream = stream
        self._exchange = exchange
        self._exchanges = exchanges
        self._is_over = False

    async def read(self) -> Pieces | None:
        try:
            pieces = await self._stream.read()
        except Exception as error:
            self._end(200, error)
            raise
        if pieces:
            self._exchanges.came(self._exchange, pieces)
        elif pieces is not None:
            self._end(200, None)
        return pieces

    def interrupt(self) -> None:
        self._stream.interrupt()

    @property
    def has_unread(self) -> bool:
        return self._stream.has_unread

    def close(self) -> None:
        self._end(0, None)
        self._stream.close()

    def _end(self, status: int, error: BaseException | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._exchanges.over(self._exchange, status, error)


class _RecordedReader:
    """A reader of an answer, which passes on each piece and records it."""

    __slots__ = ("_exchange", "_exchanges", "_reader")

    def __init__(self, reader: BodyReader, exchange: int, exchanges: Exchanges) -> None:
        self._reader = reader
        self._exchange = exchange
        self._exchanges = exchanges

    @property
    def held(self) -> int:
        return self._reader.held

    def feed(self, data: Piece) -> None:
        self._exchanges.came(self._exchange, [data])
        self._reader.feed(data)

    def restart(self) -> None:
        self._exchanges.came(self._exchange, [])
        self._reader.restart()


def _form(headers: Mapping[str, str] | None) -> str:
    found = headers or {}
    return found.get("Content-Type") or found.get("Accept", "")
