"""Writer: makes entries of what a recorder has taken, and writes them to segments. All of this runs in a thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from kinformer.cache.state import CacheState
from kinformer.models import DECODE_ERRORS, encode
from kinformer.recording.entries import Asked, Begin, Cached, Came, Entry, Opened, Over
from kinformer.recording.file import SEGMENTS, Segment, SegmentFull
from kinformer.recording.options import Recording
from kinformer.recording.redaction import Redactor

__all__ = ("Cut", "Pieces", "Source", "Writer")

#: Number of objects of a cache that are encoded without a pause: about a millisecond's work.
_SLICE: Final = 200
#: Seconds of a pause.
_PAUSE: Final = 0.001
#: Entries of a block, and bytes of the answers in it.
_ENTRIES: Final = 5000
_BYTES: Final = 2**22


class Pieces(NamedTuple):
    """A part of an answer, as it came. It becomes a :class:`~kinformer.recording.entries.Came`."""

    at: float
    exchange: int
    pieces: Iterable[bytes | memoryview]


@dataclass(frozen=True, slots=True)
class Source:
    """
    Where objects of a cache come from.

    :param namespace: only those of this namespace; empty for all
    :param path: the path of their watch
    :param selectors: its label selector and its field selector
    """

    namespace: str
    path: str
    form: str
    selectors: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Cut:
    """
    The moment between two segments.

    :param caches: the state of each cache, with where its objects come from
    :param asked: the exchanges that are not over, by number
    :param opened: the watches among them that were accepted
    :param missed: the exchanges whose answers are not complete, because something was left out, and whether the last
        part that was left out ends within a line
    """

    begin: Begin
    caches: list[tuple[CacheState[Any], Source]]
    asked: Mapping[int, Asked]
    opened: frozenset[int]
    missed: Mapping[int, bool]


class Writer:
    """
    Writes to the newest segment.

    :ivar cpu: the seconds of CPU time that the last beginning of a segment took
    """

    def __init__(self, options: Recording) -> None:
        self._path = Path(os.path.realpath(options.path))
        self._limit = options.size // SEGMENTS
        self._redactor = Redactor(options.redact)
        self._segment: Segment | None = None
        #: The exchanges that are not over, and the parts of their answers that cannot be written yet.
        self._asked: dict[int, Asked] = {}
        self._rests: dict[int, bytearray] = {}
        #: The watches whose data is left out until the next line begins.
        self._skipped: set[int] = set()
        #: A thread that hangs may have been left behind.
        self._lock = threading.Lock()
        self.cpu = 0.0

    @property
    def size(self) -> int:
        """Bytes of the newest segment; 0 if there is none."""
        return self._segment.size if self._segment is not None else 0

    @property
    def is_nearly_full(self) -> bool:
        return self.size > 0.8 * self._limit

    def write(self, taken: Iterable[Entry | Pieces]) -> None:
        """
        Append entries. If that fails, the segment has nothing more.

        :raises SegmentFull: if they have no place in the segment
        :raises OSError: if they cannot be written
        """
        with self._lock:
            ready = self._entries(taken)
            try:
                while block := list(_some(ready)):
                    if self._segment is not None:
                        self._segment.add(block)
            except (SegmentFull, OSError):
                self._end()
                for _ in ready:  # what has come of answers until now is needed for what comes next
                    pass
                raise

    def begin(self, cut: Cut) -> None:
        """
        Begin a segment, and end the one before.

        :raises SegmentFull: if the caches have no place in it
        :raises OSError: if it cannot be written
        """
        began = time.thread_time()
        with self._lock:
            try:
                self._begin(cut)
            finally:
                self.cpu = time.thread_time() - began

    def _begin(self, cut: Cut) -> None:
        self._end()
        segment = Segment(self._path, self._limit)
        try:
            segment.add([cut.begin])
            for state, source in cut.caches:
                for cached in self._cached(cut.begin.at, state, source):
                    segment.add([cached])
            asked = {number: it for number, it in cut.asked.items() if it.is_watch or number not in cut.missed}
            again = list(self._entries(asked.values()))
            segment.add([*again, *(Opened(cut.begin.at, it) for it in sorted(cut.opened & asked.keys()))])
            segment.publish()
        except BaseException:
            segment.close()
            raise
        self._asked = asked
        for number, is_within_line in cut.missed.items():
            self._rests.pop(number, None)
            if is_within_line:
                self._skipped.add(number)
        self._segment = segment

    def close(self) -> None:
        """End the segment. What is written before the next one is dropped."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _entries(self, taken: Iterable[Entry | Pieces]) -> Iterator[Entry]:
        for one in taken:
            if isinstance(one, Pieces):
                if (came := self._came(one)) is not None:
                    yield came
                continue
            if isinstance(one, Asked):
                one.body = self._redactor.cleaned(one.body, one.method, one.path)
                self._asked[one.exchange] = one
            elif isinstance(one, Over) and (asked := self._asked.pop(one.exchange, None)) is not None:
                rest = self._rests.pop(one.exchange, None)
                if rest and not asked.is_watch:
                    yield Came(one.at, one.exchange, self._redactor.cleaned(bytes(rest), asked.method, asked.path))
                one.text = self._redactor.cleaned_text(one.text, asked.method, asked.path)
            yield one

    def _came(self, one: Pieces) -> Came | None:
        asked, data = self._asked.get(one.exchange), b"".join(one.pieces)
        if asked is None:
            return None
        if not asked.is_watch:
            if not self._redactor.concerns(asked.method, asked.path):
                return Came(one.at, one.exchange, data)
            if not data:
                self._rests.pop(one.exchange, None)
                return None
            self._rests.setdefault(one.exchange, bytearray()).extend(data)
            return None
        if one.exchange in self._skipped:
            _, end, data = data.partition(b"\n")
            if not end:
                return None
            self._skipped.discard(one.exchange)
        # Whole lines only: then a segment can begin anywhere.
        ends = data.rfind(b"\n") + 1
        if not ends:
            self._rests.setdefault(one.exchange, bytearray()).extend(data)
            return None
        begins, rest = self._rests.pop(one.exchange, b""), data[ends:]
        if rest:
            self._rests[one.exchange] = bytearray(rest)
        lines = bytes(begins) + data[:ends]
        lines = self._redactor.cleaned_lines(lines, "GET", asked.path)
        return Came(one.at, one.exchange, lines)

    def _cached(self, at: float, state: CacheState[Any], source: Source) -> Iterator[Cached]:
        version = state.versions.get(source.namespace, "")
        prefix = f"{source.namespace}/" if source.namespace else ""
        objects = (
            obj for part in state.parts for key, obj in part.items() if not prefix or str(key).startswith(prefix)
        )
        yield Cached(at, source.path, version, source.form, source.selectors, b"")  # an empty cache has a version, too
        while some := list(islice(objects, _SLICE)):
            lines = b"".join(line + b"\n" for obj in some if (line := _encoded(obj)))
            lines = self._redactor.cleaned_lines(lines, "GET", source.path)
            yield Cached(at, source.path, version, source.form, source.selectors, lines)
            time.sleep(_PAUSE)


def _encoded(obj: Any) -> bytes:
    try:
        return encode(obj)
    except (TypeError, *DECODE_ERRORS):  # a form that a transformer has made
        return b""


def _some(entries: Iterator[Entry]) -> Iterator[Entry]:
    """The entries of the next block."""
    size = 0
    for number, entry in enumerate(entries, 1):
        yield entry
        size += len(entry.data) if isinstance(entry, Came) else 0
        if number >= _ENTRIES or size >= _BYTES:
            return
