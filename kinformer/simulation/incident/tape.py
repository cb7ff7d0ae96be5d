"""Tape: a recording, with the requests of each sync and the answer of each request put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kinformer.client import ClientError, ConnectionLost, ServerUnreachable
from kinformer.client.errors import WatchStalled, error_from_response
from kinformer.recording import Recorded
from kinformer.recording.entries import Asked, Began, Cached, Came, Ended, Entry, Opened, Over

__all__ = ("Exchange", "RecordedSync", "Tape", "result_of")

#: Each is made of a URL and a cause.
_UNANSWERED: Final[tuple[type[ServerUnreachable | ConnectionLost], ...]] = (
    ServerUnreachable,
    ConnectionLost,
    WatchStalled,
)


_CANCELLED: Final = "CancelledError"


@dataclass(eq=False, slots=True)
class Exchange:
    """
    A recorded request with its answer.

    :param over: its end; None if the recording ends before
    """

    asked: Asked
    answer: bytearray = field(default_factory=bytearray)
    over: Over | None = None
    is_opened: bool = False

    @property
    def text(self) -> str:
        return f"{self.asked.method} {self.asked.path}"

    @property
    def outcome(self) -> str:
        """The status, or the error that has no status; empty if the recording has none."""
        over = self.over
        return "" if over is None else str(over.status or over.error)

    def error(self) -> ClientError | None:
        """The error that it ended with, made again."""
        over, url = self.over, self.asked.path
        if over is None or not (over.error or over.status >= 400):
            return None
        if over.status >= 400:
            return error_from_response(over.status, bytes(self.answer), method=self.asked.method, url=url)
        kind = next((kind for kind in _UNANSWERED if kind.__name__ == over.error), None)
        error = ClientError() if kind is None else kind(url, "")
        error.args = (over.text or over.error,)  # as it was, with the server's name
        return error


@dataclass(eq=False, slots=True)
class RecordedSync:
    """
    A recorded sync.

    :param ended: its end; None if the recording ends before
    """

    began: Began
    ended: Ended | None = None
    requests: list[Exchange] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether it has ended by itself, within the recording."""
        return self.ended is not None and self.ended.error != _CANCELLED

    @property
    def result(self) -> str:
        ended = self.ended
        if ended is None:
            return ""
        return result_of(ended.error, ended.text, ended.after)


def result_of(error: str, text: str, after: float) -> str:
    if error:
        return f"{error}: {text}" if text else error
    return f"again in {after:g} s" if after else "success"


class Tape:
    """
    :param recorded: what was read
    :ivar beginning: the entries that say what there is when the recording begins
    :ivar entries: what happens after that
    """

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.begin = begin = recorded.begin
        self.exchanges: dict[int, Exchange] = {}
        self.syncs: dict[int, RecordedSync] = {}
        self.beginning: list[Entry] = []
        self.entries: list[Entry] = []
        for entry in recorded.entries:
            is_state = isinstance(entry, Cached) or (isinstance(entry, Asked | Opened) and entry.at <= begin.at)
            (self.beginning if is_state and not self.entries else self.entries).append(entry)
            self._note(entry)

    @property
    def begins_with_process(self) -> bool:
        """Whether it begins with the start of the process, so that nothing from before is missing."""
        return self.begin.number == 0

    @property
    def seconds(self) -> float:
        return self.entries[-1].at - self.begin.at if self.entries else 0.0

    def _note(self, entry: Entry) -> None:
        if isinstance(entry, Asked):
            found = self.exchanges[entry.exchange] = Exchange(entry)
            if (sync := self.syncs.get(entry.sync)) is not None:
                sync.requests.append(found)
        elif isinstance(entry, Began):
            self.syncs[entry.sync] = RecordedSync(entry)
        elif isinstance(entry, Ended):
            if (sync := self.syncs.get(entry.sync)) is not None:
                sync.ended = entry
        elif isinstance(entry, Opened | Came | Over) and (exchange := self.exchanges.get(entry.exchange)) is not None:
            if isinstance(entry, Opened):
                exchange.is_opened = True
            elif isinstance(entry, Over):
                exchange.over = entry
            elif not exchange.is_opened:  # of a watch, only a refusal is kept here
                exchange.answer = exchange.answer + entry.data if entry.data else bytearray()
