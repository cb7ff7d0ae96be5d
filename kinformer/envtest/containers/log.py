"""FakeLog: the log of a fake container, with the time of each line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import anyio

from kinformer.clock import Clock

__all__ = ("FakeLog", "LogSelection")


class _Line(NamedTuple):
    time: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSelection:
    """
    The requested part of a log.

    :param since: the time of the oldest line
    :param tail: the most lines, from the end; None for all
    :param limit: the most bytes; None for all
    """

    follow: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None
    timestamps: bool = False


class FakeLog:
    """
    A container's log. A test may write to it while clients follow it.

    :param clock: the clock for the lines' times
    """

    def __init__(self, clock: Clock, lines: Iterable[str] = ()):
        self._clock = clock
        self._lines: list[_Line] = []
        #: The log before the last restart.
        self.previous: FakeLog | None = None
        self._ended = False
        self._changed = anyio.Event()
        self.write(*lines)

    def write(self, *lines: str) -> None:
        """
        Add lines, with the clock's present time.

        :raises ValueError: if the log has ended
        """
        if self._ended:
            raise ValueError("the log has ended: restart() begins the next one")
        now = self._clock.now()
        self._lines += [_Line(now, text) for text in lines]
        self._wake()

    def end(self) -> None:
        """End the container. Clients that follow the log come to its end."""
        self._ended = True
        self._wake()

    def restart(self) -> None:
        """End the container and start it again. Its lines become the previous log."""
        before = FakeLog(self._clock)
        before._lines, self._lines = self._lines, []
        before._ended = True
        self.previous = before
        # Clients that follow the log have a position in the old list.
        self._ended = False
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def read(self, selection: LogSelection) -> AsyncIterator[bytes]:
        """The selected part, in pieces, as a kubelet sends it."""
        left = selection.limit
        lines = self._lines
        at = 0 if selection.tail is None else max(len(lines) - selection.tail, 0)
        while True:
            # Read before the lines, because a writer may set this very event while a piece is sent.
            changed = self._changed
            piece = b"".join(_shown(line, selection) for line in islice(lines, at, None))
            at = len(lines)
            if left is not None:
                piece = piece[:left]
                left -= len(piece)
            if piece:
                yield piece
            if not selection.follow or left == 0:
                return
            if at == len(lines):
                if self._ended or lines is not self._lines:
                    return
                await changed.wait()


def _shown(line: _Line, selection: LogSelection) -> bytes:
    if selection.since is not None and line.time < selection.since:
        return b""
    time = line.time.strftime("%Y-%m-%dT%H:%M:%S.%f000Z ") if selection.timestamps else ""
    return f"{time}{line.text}\n".encode()
