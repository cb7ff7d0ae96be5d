"""Watch: changes as they happen, in batches, one for each read of the socket.

Everything that has arrived is decoded at once and returned as one list, of about half a megabyte of the server's bytes
at most. So work is done once for each read, not for each event, and the event loop gets its turn between two reads. A
reader that keeps up waits before every batch. A reader that is slower makes the server wait.

*Silent watches.* A watch is silent when nothing changes. It is also silent when the connection is half-open: the peer
is gone and no packet said so. HTTP/1.1 has no ping (client-go sends one of HTTP/2 after 30 silent seconds). A bookmark
shows that the peer is alive, but a server may send none. So there are three checks, and none of them disturbs a watch
that is merely quiet:

1. The kernel's keepalive (see :mod:`kinformer.client.connection`) detects a dead machine or a dropped NAT entry within
   45 s. It cannot detect a proxy that keeps our connection open and has lost its own to the server.
2. After `idle_timeout` seconds of silence, a second watch is opened from the last version that was seen. (The default
   is 90 s. Servers that send bookmarks do so every 60 to 75 s, so with them this does not happen.) If the second watch
   opens, it replaces the first one. Nothing is lost: the second watch sends every event that the first one should have
   sent. No event comes twice, because the first one had sent nothing since. If the first one sends something
   meanwhile, it is kept. If the server cannot be reached, the watch ends with :exc:`WatchStalled`. A quiet watch
   costs its server one request in 90 s this way. During a streaming list there is no version to start from yet. Then
   the server is only asked for its version number: any response is a sign of life.
3. A watch that is still open and silent 15 seconds after the server should have ended it (``timeoutSeconds``) ends with
   :exc:`WatchStalled`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

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
from kinformer.client.heads import Wanted, keep_wanted
from kinformer.client.pieces import Pieces
from kinformer.client.types import BOOKMARK, ListOptions, WatchEvent, ends_initial_events
from kinformer.clock import Clock, Timer
from kinformer.logs import get_logger
from kinformer.meta import accessor_of

if TYPE_CHECKING:
    from kinformer.client.pieces import Piece
    from kinformer.client.transport import BodyStream

__all__ = ("DEFAULT_IDLE_TIMEOUT", "Opener", "WatchStream")

log = get_logger(__name__)

T = TypeVar("T")

DEFAULT_IDLE_TIMEOUT: Final = 90.0
_GRACE: Final = 15.0
_LINE_END: Final = ord("\n")
#: Bytes: about ten times the largest object of the largest etcd. A longer line is no event, and must not fill the
#: memory.
_MAX_LINE: Final = 2**26
#: If a read has more pieces than this, of fewer bytes than `_TINY` on average, it is cheaper to join them first.
_MANY: Final = 64
_TINY: Final = 64

_HOW_TO_WATCH: Final = "write `async with resource.watch(...) as events:` and then `async for batch in events:`"


@dataclass(frozen=True, slots=True)
class Opener:
    """
    The parts of a client that a watch needs.

    :param open: opens a watch with these options; the second argument is the most retries, None for the default
    :param probe: sends any request to the server
    :param url: the URL of the watch, for messages
    """

    open: Callable[[ListOptions, int | None], Awaitable[BodyStream]]
    probe: Callable[[], Awaitable[object]]
    clock: Clock
    url: str


class WatchStream(Generic[T]):
    """
    One watch. ``async with`` opens and closes it. ``async for`` gives batches of its events until the server ends it.

    Events that came before an error are returned first. Then an ERROR event is raised as the error that it holds
    (:exc:`Expired` if the version is too old), a broken connection as :exc:`ConnectionLost`, and a line that is no
    event as :exc:`DecodeError`. A line that was cut in the middle is dropped. A new watch from the last version that
    was seen brings that event again. Cancelling closes the connection.

    :param options: the label and field selectors, the version to start from, and the timeout
    :param idle_timeout: seconds of silence after which the connection is checked; None: never
    :param leave_out: if an event's object does not fit the type, put an :class:`Undecodable` in its place. By default
        the watch ends with :exc:`DecodeError`.
    :param wanted: which objects to decode; None for all. The events of others are left
        out. If the last event of a batch is one of them, a BOOKMARK with its version takes its place.
    """

    def __init__(
        self,
        opener: Opener,
        codec: ObjectCodec[T],
        options: ListOptions,
        *,
        idle_timeout: float | None = DEFAULT_IDLE_TIMEOUT,
        leave_out: bool = False,
        wanted: Wanted | None = None,
    ):
        self._opener = opener
        self._clock = opener.clock
        self._decode_events = partial(codec.decode_events, leave_out=leave_out)
        self._wanted = wanted
        self._options = options
        self._idle_timeout = idle_timeout
        #: The version up to which all events were returned, "" while there is none to continue from.
        self.resource_version = "" if _begins_with_everything(options) else options.resource_version
        self._stream: BodyStream | None = None
        self._entered = False
        #: The beginning of the next line, as far as it has come.
        self._rest = bytearray()
        self._failure: ClientError | None = None
        self._heard = 0.0
        self._ends: float | None = None
        self._timer: Timer | None = None
        self._waiting: BodyStream | None = None

    async def __aenter__(self) -> WatchStream[T]:
        self._entered = True
        self._stream = await self._opener.open(self._options, None)
        self._heard = now = self._clock.monotonic()
        if self._options.timeout_seconds is not None:
            self._ends = now + self._options.timeout_seconds
        self._arm()
        log.debug("watch_opened", url=self._stream.url)
        return self

    async def __aexit__(self, *_: object) -> None:
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
                pieces: Sequence[Piece] = await self._read()
            except ConnectionLost as error:
                self._failure = error
                break
            if not pieces:
                # The last line may have no line end. If it was cut, the connection raises an error at its end.
                rest, self._rest = self._rest, bytearray()
                if not rest.strip():
                    raise StopAsyncIteration
                rest += b"\n"
                pieces = Pieces(bytes(rest), [(0, len(rest))])
            if self._wanted is None:
                batch, broken = self._decode_events(self._whole_lines(pieces))
            else:
                wanted, passed = self._wanted_lines(pieces, self._wanted)
                batch, broken = self._decode_events(wanted, passed=passed)
            if broken is not None:
                self._failure = error_from_status(broken, self._opener.url) if isinstance(broken, Status) else broken
            self._heard = self._clock.monotonic()
            if self._timer is None:  # it fired just as something came
                self._arm()
            if batch:
                self._note_version(batch)
                return batch
        failure, self._failure = self._failure, ConnectionLost(self._opener.url, "it has ended")
        raise failure

    def _whole_lines(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """
        The complete lines in these pieces. Only a line that continues from one piece to the next is copied.

        Most reads end in the middle of a line. Only that line, of a few KB, is put together. The other pieces of the
        read, which may be hundreds, are not copied.
        """
        if isinstance(pieces, Pieces) and not self._rest:
            data = pieces.data
            if all(data[end - 1] == _LINE_END for _, end in pieces.spans):
                return pieces
        return [memoryview(data)[start:end] for data, start, end in self._lines_in(pieces)]

    def _wanted_lines(self, pieces: Sequence[Piece], wanted: Wanted) -> tuple[Sequence[Piece], str]:
        """The complete lines that are wanted, and the version of the last complete line if it is not wanted."""
        kept: list[Piece] = []
        passed = b""
        for data, start, end in self._lines_in(pieces):
            passed = keep_wanted(data, start, end, wanted, kept)
        return kept, passed.decode()

    def _lines_in(self, pieces: Sequence[Piece]) -> Iterator[tuple[bytes, int, int]]:
        """Where the complete lines are: bytes, and the begin and end of some lines in them."""
        if len(pieces) > _MANY and sum(map(len, pieces)) < len(pieces) * _TINY:
            pieces = [b"".join(pieces)]  # chunks of a few bytes: it is faster to search their line ends in one block
        rest = self._rest
        for data, start, end in _spans_of(pieces):
            ends = data.rfind(b"\n", start, end) + 1
            if rest and ends:
                begins = data.find(b"\n", start, ends) + 1
                rest += memoryview(data)[start:begins]
                line = bytes(rest)
                rest.clear()
                yield line, 0, len(line)
                start = begins
            if start < ends:
                yield data, start, ends
                start = ends
            if start < end:
                # In place, so that a line without an end does not take quadratic time.
                rest += memoryview(data)[start:end]
        if len(rest) > _MAX_LINE:
            self._failure = DecodeError(f"an event of more than {_MAX_LINE} bytes in the watch stream")
            rest.clear()

    def _note_version(self, batch: list[WatchEvent[T]]) -> None:
        if not self.resource_version:
            # Initial events come in no order of versions. Only the bookmark after them has a version to continue from.
            marks = [event for event in batch if event.type == BOOKMARK and self._ends_beginning(event)]
            if not marks:
                return
        try:
            last = batch[-1].object
            # The version of an object that does not decode may be unknown.
            self.resource_version = accessor_of(last).resource_version(last) or self.resource_version
        except TypeError:  # a Struct without metadata: it can be watched, but not continued from a version
            self._idle_timeout = None

    def _ends_beginning(self, event: WatchEvent[T]) -> bool:
        return not self._options.send_initial_events or ends_initial_events(event)

    async def _read(self) -> Sequence[Piece]:
        while True:
            stream = self._stream
            if stream is None and not self._entered:
                raise RuntimeError(f"the watch of {self._opener.url} was not opened: {_HOW_TO_WATCH}")
            if stream is None:
                raise ConnectionLost(self._opener.url, "the watch is closed")
            self._waiting = stream
            try:
                pieces = await stream.read()
            finally:
                self._waiting = None
            if pieces is not None:
                return pieces
            await self._doubt(stream)

    def _arm(self) -> None:
        """Set the timer for the time at which silence has lasted too long."""
        limit = self._patience()
        self._timer = None
        if limit is not None:
            self._timer = self._clock.call_later(self._heard + limit - self._clock.monotonic(), self._listen)

    def _patience(self) -> float | None:
        """Seconds that a silence may last. They are fewer when the server should have ended the watch."""
        if self._ends is None:
            return self._idle_timeout
        to_end = max(self._ends + _GRACE - self._heard, _GRACE)
        return to_end if self._idle_timeout is None else min(to_end, self._idle_timeout)

    def _listen(self) -> None:
        limit = self._patience()
        if limit is None:
            self._timer = None
        elif self._heard + limit - self._clock.monotonic() > 0:  # the same expression as in _arm: rounding could loop
            self._arm()
        elif self._waiting is not None:
            self._timer = None
            self._waiting.interrupt()
        else:
            # The reader is busy with the last batch. When it reads again, it shows whether the server is silent.
            self._timer = self._clock.call_later(1.0, self._listen)

    async def _doubt(self, stream: BodyStream) -> None:
        """
        Check whether a silent connection is alive, or replace it.

        :raises WatchStalled: if the connection is dead, or the server cannot be reached
        :raises ApiError: if the server refuses to continue this watch
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
            # The server answered, so it is there. It may be too busy for another watch.
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
        if old.has_unread:  # the first watch has sent something after all
            fresh.close()
            return
        old.close()
        self._stream, self._rest = fresh, bytearray()
        log.debug("watch_replaced", url=fresh.url, version=self.resource_version)


def _begins_with_everything(options: ListOptions) -> bool:
    return bool(options.send_initial_events) or options.resource_version in ("", "0")


def _spans_of(pieces: Sequence[Piece]) -> Iterator[tuple[bytes, int, int]]:
    if isinstance(pieces, Pieces):
        data = pieces.data
        for start, end in pieces.spans:
            yield data, start, end
    else:
        for piece in pieces:
            yield bytes(piece), 0, len(piece)
