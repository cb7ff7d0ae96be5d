"""Recorder: takes what happens in a manager, in its event loop, and has it written by a thread."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
import anyio.to_thread

from kinformer.cache import SharedIndexInformer
from kinformer.cache.listwatch import ListWatch
from kinformer.client import Client, Resource
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.recording.entries import Asked, Began, Begin, Ended, Entry, Opened, Over, Wall
from kinformer.recording.exchanges import SYNC, RecordedTransport
from kinformer.recording.file import SEGMENTS, SegmentFull, check_place
from kinformer.recording.options import Recording
from kinformer.recording.writer import Cut, Pieces, Source, Writer

if TYPE_CHECKING:
    from kinformer.client.pieces import Piece

__all__ = ("Recorder",)

log = get_logger(__name__)

#: Seconds between two blocks: a process that is killed loses so much.
_FLUSH: Final = 0.25
#: Bytes that may wait for the disk. More than that is left out.
_MOST_WAITING: Final = 2**26
#: Bytes that an entry without an answer counts for.
_SMALL: Final = 300
#: Seconds between two looks for a moment at which no informer stores changes, and the number of looks.
_LOOK_AGAIN: Final = 0.01
_LOOKS: Final = 100
#: The beginnings of segments take at most this share of the time of one core.
_SHARE: Final = 0.02
#: Seconds after which writing is tried again if it failed.
_TRY_AGAIN: Final = 30.0
#: Seconds that the last block may take: the disk may hang.
_LAST: Final = 5.0
_LINE_END: Final = ord("\n")
#: Seconds by which the wall clock may differ from what was written.
_DRIFT: Final = 0.5


class Trigger(Protocol):
    """Why a key was added: see :class:`kinformer.manager.history.Trigger`."""

    @property
    def at(self) -> float: ...
    @property
    def event(self) -> str: ...
    @property
    def informer(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...


class Told(Protocol):
    """The history of a controller's keys, as far as it is needed here."""

    def running(self, key: str) -> tuple[Trigger, float] | None: ...


# More than 15 fields: what is taken, what is open, and how the writing goes.
class Recorder:
    """
    Records one manager. :meth:`open`, then :meth:`run` until cancelled, then :meth:`finish`.

    :param options: where and how much
    """

    def __init__(self, options: Recording, clock: Clock) -> None:
        self.path = Path(os.path.realpath(options.path))  # a link stays one
        self._options = options
        self._clock = clock
        self._began = clock.monotonic()
        self._run = os.urandom(8).hex()
        self._segments = itertools.count()
        self._numbers = itertools.count(1)
        self._syncs = itertools.count(1)
        self._writer = Writer(options)
        self._taken: list[Entry | Pieces] = []
        self._waiting = 0
        #: Whether something was left out since the last segment began. Until the next one, nothing is taken.
        self._is_broken = True
        self._asked: dict[int, Asked] = {}
        self._opened: set[int] = set()
        #: The exchanges of which something was left out since then, and whether that ends within a line.
        self._missed: dict[int, bool] = {}
        self._wall = 0.0
        self._segment_began = self._next_try = 0.0
        self._was_told = False
        self._about: dict[str, Any] = {}
        self._informers: Callable[[], Iterable[SharedIndexInformer[Any]]] = tuple

    # -- before the run -----------------------------------------------------------------------------------------------

    def client(self, client: Client) -> Client:
        """The same client, whose requests are recorded."""
        return client.through(lambda transport: RecordedTransport(transport, self))

    def describe(
        self,
        informers: Callable[[], Iterable[SharedIndexInformer[Any]]],
        *,
        controllers: Collection[str],
        options: Mapping[str, Any],
        namespaces: Collection[str],
    ) -> None:
        """
        Say what runs, for the beginnings of segments.

        :param informers: gives all informers
        """
        self._informers = informers
        plain = {name: it for name, it in options.items() if it is None or isinstance(it, bool | int | float | str)}
        self._about = {"controllers": list(controllers), "options": plain, "namespaces": list(namespaces)}

    def wrapped(self, name: str, history: Told, sync: Callable[[str], Any]) -> Callable[[str], Any]:
        """A sync function that is recorded."""

        async def recorded(key: str) -> Any:
            number, now = next(self._syncs), self._now()
            running = history.running(key)
            if running is None:
                self._take(Began(now, number, name, str(key), "", "", "", "", 0.0))
            else:
                why = running[0]
                what = f"{why.namespace}/{why.name}" if why.namespace else why.name or ""
                waited = self._clock.monotonic() - running[1] - why.at
                self._take(Began(now, number, name, str(key), why.event, why.informer, what, why.version or "", waited))
            token = SYNC.set(number)
            try:
                after = await sync(key)
            except BaseException as error:
                self._take(Ended(self._now(), number, type(error).__name__, str(error), 0.0))
                raise
            finally:
                SYNC.reset(token)
            self._take(Ended(self._now(), number, "", "", _seconds(after)))
            return after

        return recorded

    # -- what happens -------------------------------------------------------------------------------------------------

    def asked(self, method: str, path: str, params: Mapping[str, str] | None, form: str, body: bytes) -> int:
        number = next(self._numbers)
        entry = Asked(self._now(), number, SYNC.get(), method, path, dict(params or {}), form, body)
        self._asked[number] = entry
        self._take(entry, len(body))
        return number

    def opened(self, exchange: int) -> None:
        self._opened.add(exchange)
        self._take(Opened(self._now(), exchange))

    def came(self, exchange: int, pieces: Sequence[Piece]) -> None:
        self._take(Pieces(self._now(), exchange, pieces), sum(map(len, pieces)))

    def over(self, exchange: int, status: int, error: BaseException | None) -> None:
        self._asked.pop(exchange, None)
        self._opened.discard(exchange)
        name = "" if error is None else type(error).__name__
        self._take(Over(self._now(), exchange, status, name, "" if error is None else str(error)))

    def _now(self) -> float:
        return self._clock.monotonic() - self._began

    def _take(self, entry: Entry | Pieces, size: int = 0) -> None:
        if self._is_broken:
            self._miss(entry)
            return
        self._waiting += size + _SMALL
        if self._waiting > _MOST_WAITING:
            self._break("the disk is slower than the events")
            self._miss(entry)
            return
        self._taken.append(entry)

    # -- the run ------------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """
        Check the place of the file, and begin the first segment.

        :raises RecordingUnusable: if nothing can be written there
        """
        await anyio.to_thread.run_sync(check_place, self.path)
        await self._cut([])

    async def run(self) -> None:
        """Write what has been taken, again and again, until cancelled."""
        while True:
            await self._clock.sleep(_FLUSH)
            await self._flush()
            if self._is_due():
                await self._cut(await self._settled())

    async def finish(self) -> None:
        """Write the rest. A cancellation has to wait for it, but not for a disk that hangs."""
        with anyio.move_on_after(_LAST, shield=True):
            await self._flush()
            await anyio.to_thread.run_sync(self._writer.close, abandon_on_cancel=True)

    async def _flush(self) -> None:
        wall = self._clock.now().timestamp() - self._now()
        if abs(wall - self._wall) > _DRIFT:
            self._wall = wall
            self._take(Wall(self._now(), wall + self._now()))
        taken, self._taken, self._waiting = self._taken, [], 0
        if not taken:
            return
        try:
            await anyio.to_thread.run_sync(self._writer.write, taken, abandon_on_cancel=True)
        except SegmentFull:
            self._break("a segment is full before the next one may begin: want a larger size")
        except Exception as error:  # whatever it is: the controllers go on
            self._failed(error)

    def _is_due(self) -> bool:
        """Whether it is time for the next segment."""
        age = self._now() - self._segment_began
        if self._now() < self._next_try or age < self._writer.cpu / _SHARE:
            return False
        return self._is_broken or self._writer.is_nearly_full or age > self._options.minutes * 60 / (SEGMENTS - 1)

    async def _settled(self) -> list[SharedIndexInformer[Any]]:
        """The informers whose state is known at this moment: if possible all that have synced."""
        every: list[SharedIndexInformer[Any]] = []
        for _ in range(_LOOKS):
            every = [it for it in self._informers() if it.has_synced and not it.is_stopped]
            within_line = any(self._missed.get(watch) for watch in self._opened)
            if not within_line and all(it.state() is not None for it in every):
                break
            await self._clock.sleep(_LOOK_AGAIN)
        return every

    async def _cut(self, informers: Iterable[SharedIndexInformer[Any]]) -> None:
        """Begin a segment. What is taken from this moment on is in it."""
        now, wall = self._now(), self._clock.now().timestamp()
        caches = [
            (state, source) for it in informers if (state := it.state()) is not None for source in _sources_of(it)
        ]
        begin = Begin(
            at=now,
            run=self._run,
            number=next(self._segments),
            is_gapless=not self._is_broken,
            wall=wall,
            version=version("kinformer"),
            redact=sorted(self._options.redact),
            **self._about,
        )
        missed, self._missed = self._missed, {}
        cut = Cut(begin, caches, dict(self._asked), frozenset(self._opened), missed)
        before, self._taken, self._waiting, self._is_broken = self._taken, [], 0, False
        self._wall, self._segment_began = wall - now, now

        def write() -> None:
            with suppress(SegmentFull):
                self._writer.write(before)
            self._writer.begin(cut)

        try:
            await anyio.to_thread.run_sync(write, abandon_on_cancel=True)
        except SegmentFull:
            self._break("the caches do not fit into a quarter of its size: want a larger one", _TRY_AGAIN)
        except Exception as error:  # whatever it is: the controllers go on
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        why = error.strerror if isinstance(error, OSError) else None
        self._break(why or f"{type(error).__name__}: {error}", _TRY_AGAIN)

    def _break(self, why: str, pause: float = 0.0) -> None:
        """Leave out everything until the next segment begins."""
        self._is_broken = True
        self._next_try = self._now() + pause
        for entry in self._taken:
            self._miss(entry)
        self._taken, self._waiting = [], 0
        tell = log.debug if self._was_told else log.warning
        self._was_told = True
        tell("recording_has_a_gap", path=str(self.path), reason=why)

    def _miss(self, entry: Entry | Pieces) -> None:
        if isinstance(entry, Pieces):
            for piece in entry.pieces:
                self._missed[entry.exchange] = piece[-1] != _LINE_END
        elif isinstance(entry, Over):
            self._missed.pop(entry.exchange, None)


def _sources_of(informer: SharedIndexInformer[Any]) -> list[Source]:
    """Where an informer's objects come from. Watches of a user's own, which are no requests, are left out."""
    return [
        Source(it.namespace, it.resource.path(it.namespace), it.resource.accept, (it.label_selector, it.field_selector))
        for it in informer.lister_watchers
        if isinstance(it, ListWatch) and isinstance(it.resource, Resource)
    ]


def _seconds(after: Any) -> float:
    """The time after which a sync asks to be called again, without jitter; 0 for none."""
    after = getattr(after, "seconds", after) if not isinstance(after, timedelta) else after.total_seconds()
    return float(after) if isinstance(after, int | float) else 0.0
