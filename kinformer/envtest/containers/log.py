"""The log of a fake container: lines with their times, and who follows it."""

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
    Which part of a log is asked for.

    :param since: the time of the oldest line
    :param tail: how many lines at most, from the end; None for all
    :param limit: how many bytes at most; None for all
    """

    follow: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None
    timestamps: bool = False


class FakeLog:
    """
    A container's log. A test writes to it, also while clients follow it.

    :param clock: where the lines' times come from
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
        Add lines, at the clock's time.

        :raises ValueError: if the log has ended
        """
        if self._ended:
            raise ValueError("the log has ended: restart() begins the next one")
        now = self._clock.now()
        self._lines += [_Line(now, text) for text in lines]
        self._wake()

    def end(self) -> None:
        """The container has ended: who follows the log comes to its end."""
        self._ended = True
        self._wake()

    def restart(self) -> None:
        """The container has ended and started again: what it wrote is its previous log."""
        before = FakeLog(self._clock)
        before._lines, self._lines = self._lines, []
        before._ended = True
        self.previous = before
        # Followers hold a position in the old list.
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
            # Before the lines are looked at: whoever writes while a piece is sent sets this very event.
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
