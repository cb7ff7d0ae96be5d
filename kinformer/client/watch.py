"""Watch: changes as they happen, a batch for each read of the socket.

All that has arrived is decoded at once and handed out as one list, at most some half a megabyte of the server's bytes,
so that nothing is done per event that can be done per read, and the loop gets its turn between reads: a reader that
keeps up waits before every batch, and one that does not makes the server wait.

*When nobody speaks.* A watch is silent when nothing happens, and also when the peer is gone and nobody told us: the
connection is half-open. HTTP/1.1 has no ping (client-go sends HTTP/2's, after 30 silent seconds), and a bookmark
proves life, but a server may send none. So there are three watchmen, none of which harms a watch that is merely quiet:

1. The kernel's keepalive (see :mod:`kinformer.client.connection`) finds a dead machine or a dropped NAT entry within
   45 s. It cannot see a proxy that keeps our connection open and has lost its own.
2. After `idle_timeout` seconds of silence (90: bookmarks come each 60 to 75 s where a server sends them, so that this
   does not happen there) a second watch is opened from the last version that was seen. If it opens, it takes the
   first one's place: an event that the first one should have brought is replayed by the second, so nothing is lost,
   and nothing comes twice, since the first one had sent nothing since. If the first one speaks up meanwhile, it stays.
   If the server cannot be reached, the watch ends with :exc:`WatchStalled`. A quiet watch costs its server one
   request in 90 s so. Where there is no version to go on from yet (during a streaming list) the server is only asked
   for its version number: any answer is a sign of life.
3. A watch that is still open, and silent, `grace` seconds after the server should have ended it (``timeoutSeconds``)
   ends with :exc:`WatchStalled`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

import anyio

from kinformer.client.codec import ObjectCodec
from kinformer.client.errors import (
    ApiError,
    ClientError,
    ConnectionLost,
    DecodeError,
    ServerUnreachable,
    Status,
    TooManyRequests,
    WatchStalled,
    error_from_status,
)
from kinformer.client.types import BOOKMARK, INITIAL_EVENTS_ANNOTATION, ListOptions, WatchEvent
from kinformer.clock import Clock, Timer
from kinformer.logs import get_logger
from kinformer.meta import accessor_of

if TYPE_CHECKING:
    from kinformer.client.dechunker import Piece
    from kinformer.client.transport import BodyStream

__all__ = ("DEFAULT_IDLE_TIMEOUT", "Opener", "WatchStream")

log = get_logger(__name__)

T = TypeVar("T")

DEFAULT_IDLE_TIMEOUT: Final = 90.0
_GRACE: Final = 15.0
_LINE_END: Final = ord("\n")
#: Some ten times what the largest object can be in the largest etcd; more is no event, and must not fill the memory.
_MAX_LINE: Final = 2**26
#: From so many pieces in a read on, of fewer bytes than this on average, it is cheaper to join them first.
_MANY: Final = 64
_TINY: Final = 64

_HOW_TO_WATCH: Final = "write `async with resource.watch(...) as events:` and then `async for batch in events:`"


@dataclass(frozen=True, slots=True)
class Opener:
    """
    What a watch needs of the client it belongs to.

    :param open: begins a watch with these options; its second argument is how often it is tried again
    :param probe: asks the server for anything at all
    :param url: what is watched, for messages
    """

    open: Callable[[ListOptions, int | None], Awaitable[BodyStream]]
    probe: Callable[[], Awaitable[object]]
    clock: Clock
    url: str


class WatchStream(Generic[T]):
    """
    One watch: ``async with`` opens and closes it, ``async for`` gives batches of its events until the server ends it.

    After the events that came before it, an ERROR event is raised as the error it holds (:exc:`Expired` when the
    version is too old), a broken connection as :exc:`ConnectionLost`, and something that is no event as
    :exc:`DecodeError`. A line that was cut in the middle is dropped: who watches again from the last version that it
    saw gets that event whole. Cancelling closes the connection.

    :param options: the label and field selectors, the version from which on, for how long
    :param idle_timeout: seconds of silence after which the connection is doubted; None: never
    :param leave_out: give events whose object does not fit the type with an :class:`Undecodable` in its place, rather
        than end with :exc:`DecodeError`
    """

    def __init__(
        self,
        opener: Opener,
        codec: ObjectCodec[T],
        options: ListOptions,
        *,
        idle_timeout: float | None = DEFAULT_IDLE_TIMEOUT,
        leave_out: bool = False,
    ):
        self._opener = opener
        self._clock = opener.clock
        self._codec = codec
        self._options = options
        self._idle_timeout = idle_timeout
        self._leave_out = leave_out
        #: The version up to which everything has been handed out, "" while there is none to go on from.
        self.resource_version = "" if _begins_with_everything(options) else options.resource_version
        self._stream: BodyStream | None = None
        self._entered = False
        #: The line that has begun, as far as it has come.
        self._rest = bytearray()
        self._failure: ClientError | None = None
        self._heard = 0.0
        self._ends: float | None = None
        self._timer: Timer | None = None
        self._waiting: anyio.CancelScope | None = None

    async def __aenter__(self) -> WatchStream[T]:
        self._entered = True
        self._stream = await self._opener.open(self._options, None)
        self._heard = now = self._clock.monotonic()
        if self._options.timeout_seconds is not None:
            self._ends = now + self._options.timeout_seconds
        self._arm()
        log.debug("watch_opened", url=self._stream.url)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __await__(self) -> Generator[Any, None, NoReturn]:
        raise RuntimeError(f"a watch is not awaited: {_HOW_TO_WATCH}")

    def __aiter__(self) -> AsyncIterator[list[WatchEvent[T]]]:
        return self

    async def __anext__(self) -> list[WatchEvent[T]]:
        """
        The next batch, never empty.

        :raises StopAsyncIteration: when the server ended the watch
        """
        while self._failure is None:
            try:
                pieces = await self._read()
            except ConnectionLost as error:
                self._failure = error
                break
            if not pieces:
                # The last line need not have a line end. What is cut off, the connection's end is an error for.
                rest, self._rest = self._rest, bytearray()
                if not rest.strip():
                    raise StopAsyncIteration
                pieces = [bytes(rest)]
            else:
                pieces = self._whole_lines(pieces)
            batch, broken = self._codec.decode_events(pieces, leave_out=self._leave_out)
            if broken is not None:
                self._failure = error_from_status(broken, self._opener.url) if isinstance(broken, Status) else broken
            self._heard = self._clock.monotonic()
            if self._timer is None:  # it went off just as something came
                self._arm()
            if batch:
                self._note_version(batch)
                return batch
        failure, self._failure = self._failure, ConnectionLost(self._opener.url, "it has ended")
        raise failure

    def _whole_lines(self, pieces: list[Piece]) -> list[Piece]:
        """
        The lines in these pieces: as they are, but for those that go on from one piece to the next.

        A read ends in the middle of a line, mostly. Only that line is put together, which is some KB; the rest of its
        pieces, which may be hundreds, stays where it is.
        """
        if not self._rest and all(piece[-1] == _LINE_END for piece in pieces):
            return pieces
        if len(pieces) > _MANY and sum(map(len, pieces)) < len(pieces) * _TINY:
            pieces = [b"".join(pieces)]  # chunks of a few bytes: one line's end is looked for in all of them at once
        lines: list[Piece] = []
        rest = self._rest
        for piece in pieces:
            begins = _first_line_end(piece) if rest else 0
            ends = _last_line_end(piece)
            if rest and ends:
                rest += piece[:begins]
                lines.append(bytes(rest))
                rest.clear()
            if begins < ends:
                lines.append(piece[begins:ends])
            if ends < len(piece):
                rest += piece[ends:]  # in place: a line that never ends costs its length, not its square
        if len(rest) > _MAX_LINE:
            self._failure = DecodeError(f"an event of more than {_MAX_LINE} bytes in the watch stream")
            rest.clear()
        return lines

    def _note_version(self, batch: list[WatchEvent[T]]) -> None:
        if not self.resource_version:
            # Events of a beginning come in no order; only the bookmark after them is a version to go on from.
            marks = [event for event in batch if event.type == BOOKMARK and self._ends_beginning(event)]
            if not marks:
                return
        try:
            last = batch[-1].object
            # Of an object that does not decode, the version need not be known.
            self.resource_version = accessor_of(last).resource_version(last) or self.resource_version
        except TypeError:  # a Struct without metadata: watched all the same, but not to be taken up again
            self._idle_timeout = None

    def _ends_beginning(self, event: WatchEvent[T]) -> bool:
        if not self._options.send_initial_events:
            return True
        return accessor_of(event.object).annotations(event.object).get(INITIAL_EVENTS_ANNOTATION) == "true"

    async def _read(self) -> list[Piece]:
        while True:
            stream = self._stream
            if stream is None and not self._entered:
                raise RuntimeError(f"the watch of {self._opener.url} was not opened: {_HOW_TO_WATCH}")
            if stream is None:
                raise ConnectionLost(self._opener.url, "the watch is closed")
            if stream.has_unread:
                return await stream.read()
            with anyio.CancelScope() as self._waiting:
                try:
                    return await stream.read()
                finally:
                    self._waiting = None
            await self._doubt(stream)

    def _arm(self) -> None:
        """Set the timer for when silence would begin to mean something."""
        limit = self._patience()
        self._timer = None
        if limit is not None:
            self._timer = self._clock.call_later(self._heard + limit - self._clock.monotonic(), self._listen)

    def _patience(self) -> float | None:
        """How long a silence may be: shorter when the server should have ended the watch."""
        if self._ends is None:
            return self._idle_timeout
        to_end = max(self._ends + _GRACE - self._heard, _GRACE)
        return to_end if self._idle_timeout is None else min(to_end, self._idle_timeout)

    def _listen(self) -> None:
        limit = self._patience()
        if limit is None:
            self._timer = None
        elif self._heard + limit - self._clock.monotonic() > 0:  # as it is armed: rounded otherwise, it might go round
            self._arm()
        elif self._waiting is not None:
            self._timer = None
            self._waiting.cancel()
        else:
            # The reader is busy with what it got; whether the server is silent shows when it comes back.
            self._timer = self._clock.call_later(1.0, self._listen)

    async def _doubt(self, stream: BodyStream) -> None:
        """
        Find out whether a silent connection is alive, or replace it.

        :raises WatchStalled: if nothing can come through it any more
        :raises ApiError: if the server is there and would not let this watch go on
        """
        now = self._clock.monotonic()
        silent = now - self._heard
        if self._ends is not None and now >= self._ends + _GRACE:
            raise WatchStalled(
                stream.url, f"still open {now - self._ends:.0f} s after its time, and silent for {silent:.0f} s"
            )
        log.debug("watch_silent", url=stream.url, seconds=round(silent), version=self.resource_version)
        try:
            if self.resource_version:
                await self._renew(stream)
            else:
                await self._opener.probe()
        except (ServerUnreachable, ConnectionLost) as error:
            raise WatchStalled(stream.url, f"silent for {silent:.0f} s, and {error}") from error
        except ApiError as error:
            # Too busy for another watch, or whatever it says to the probe: it is there.
            if self.resource_version and not isinstance(error, TooManyRequests) and error.code < 500:
                raise
        self._heard = self._clock.monotonic()
        self._arm()

    async def _renew(self, old: BodyStream) -> None:
        remaining = None
        if self._ends is not None:
            remaining = max(round(self._ends - self._clock.monotonic()), 1)
        options = replace(
            self._options,
            resource_version=self.resource_version,
            resource_version_match="",
            send_initial_events=None,
            timeout_seconds=remaining,
        )
        fresh = await self._opener.open(options, 0)
        if old.has_unread:  # it spoke up after all
            fresh.close()
            return
        old.close()
        self._stream, self._rest = fresh, bytearray()
        log.debug("watch_replaced", url=fresh.url, version=self.resource_version)


def _begins_with_everything(options: ListOptions) -> bool:
    return bool(options.send_initial_events) or options.resource_version in ("", "0")


#: As much as is looked at at once for a line's end: a view cannot be searched, and its bytes are a copy.
_WINDOW: Final = 16384


def _first_line_end(piece: Piece) -> int:
    """Where the second line begins; 0 if the first does not end here."""
    for start in range(0, len(piece), _WINDOW):
        found = bytes(piece[start : start + _WINDOW]).find(b"\n")
        if found >= 0:
            return start + found + 1
    return 0


def _last_line_end(piece: Piece) -> int:
    """Where the last line begins, which does not end here; 0 if none ends here."""
    for end in range(len(piece), 0, -_WINDOW):
        start = max(end - _WINDOW, 0)
        found = bytes(piece[start:end]).rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0
