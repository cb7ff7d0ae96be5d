"""Queues between a reflector and its consumer: what all of them have in common.

The reflector puts in what it hears (:class:`~kinformer.cache.ReflectorStore`), one call an event; the consumer takes
out, per call or in one go, and hands what it gets to a *process function*. All this happens in the event loop's
thread, and nothing of it waits, takes a lock or makes a task; only :meth:`Queue.wait` waits, when there is nothing to
take.

What is popped is gone from the queue before it is processed. A process function that raises ends the pop with what it
raised; the object is not put back. It may use the queue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

import anyio

from kinformer.cache.deltas import Delta, Deltas
from kinformer.cache.keys import DeletedFinalStateUnknown, KeyFunc, checked_key_func, key_func
from kinformer.cache.left_out import LeftOut
from kinformer.cache.store import KeyListerGetter, TransformFunc
from kinformer.logs import get_logger
from kinformer.meta import Accessor

__all__ = ("FIFOClosed", "PopProcessFunc", "ProcessBatchFunc", "Queue", "QueueWithBatch", "tombstones_of_missing")

T = TypeVar("T")
P = TypeVar("P")
T_contra = TypeVar("T_contra", contravariant=True)

log = get_logger(__name__)

#: Processes the deltas of one object, oldest first; the second argument says whether they are of the first list.
PopProcessFunc: TypeAlias = Callable[[Deltas, bool], object]

#: Processes deltas of different objects, one of each.
ProcessBatchFunc: TypeAlias = Callable[[Sequence[Delta], bool], object]


#: How many objects of a list or a resync are queued in one part.
SLICE = 1000


class FIFOClosed(Exception):
    """The queue was closed, and there is nothing left to take."""


class Queue(Protocol[T_contra]):
    """A :class:`~kinformer.cache.ReflectorStore` whose changes somebody processes: DeltaFIFO or RealFIFO."""

    def add(self, obj: T_contra) -> None:
        """The object is new."""

    def update(self, obj: T_contra) -> None:
        """The object has changed."""

    def delete(self, obj: T_contra | DeletedFinalStateUnknown[T_contra]) -> None:
        """The object is gone."""

    def replace(self, objects: Sequence[T_contra], resource_version: str = "") -> None:
        """These objects are all there are."""

    def resync(self) -> None:
        """Have every known object processed again that is not queued anyway."""

    def replacing(self, objects: Sequence[T_contra], resource_version: str = "") -> Iterator[None]:
        """
        :meth:`replace` in parts of about a millisecond, one for each turn of this iterator.

        Between two parts the event loop may do other things, and the queue may be drained; nothing else may be put in.
        """

    def resyncing(self) -> Iterator[None]:
        """:meth:`resync` in such parts."""

    def __len__(self) -> int:
        """How much there is to pop."""

    async def wait(self) -> None:
        """
        Return once there is something to pop.

        :raises FIFOClosed: if there is not, and the queue is closed
        """

    async def pop(self, process: PopProcessFunc) -> Deltas:
        """
        Process what comes first, once there is something.

        :raises FIFOClosed: if there is not, and the queue is closed
        """

    def drain(self, process: PopProcessFunc, limit: int | None = None) -> int:
        """Process what is queued now, at most `limit` pops of it; return how many."""

    @property
    def name(self) -> str:
        """What errors and logs call it."""

    @property
    def has_synced(self) -> bool:
        """Whether the first list has been popped, or something else came first."""

    async def wait_synced(self) -> None:
        """Return once it has."""

    def close(self) -> None:
        """Have no one wait any more. What is queued can still be popped."""


class QueueWithBatch(Queue[T_contra], Protocol[T_contra]):
    """A queue that can hand out changes of several objects at once."""

    def pop_batch_nowait(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc) -> int:
        """Process as many as go into one batch; return how many, 0 if there is nothing."""

    async def pop_batch(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc) -> int:
        """
        The same, once there is something.

        :raises FIFOClosed: if there is not, and the queue is closed
        """


def known_object(known: KeyListerGetter[T], key: str) -> T | None:
    """What is known under a key; None, with a line in the log, if it cannot be had."""
    try:
        obj = known.get_by_key(key)
    except Exception:
        log.exception("known_object_unreadable", key=key)
        return None
    if obj is None:
        log.info("known_object_missing", key=key)
    return obj


def tombstones_of_missing(known: KeyListerGetter[T], present: Container[str]) -> Iterator[DeletedFinalStateUnknown[T]]:
    """A tombstone for every object that is known and whose key is not present: the deletions that nobody reported."""
    missing = [key for key in known.list_keys() if key not in present]
    for key in missing:
        yield DeletedFinalStateUnknown(key, known_object(known, key))


class BaseFIFO(ABC, Generic[T, P]):
    """
    The part of a queue that is not about its order: keys, the first sync, waiting and closing.

    `P` is what it pops.
    """

    __slots__ = (
        "_closed",
        "_initial",
        "_key_of",
        "_known",
        "_left_out",
        "_populated",
        "_ready",
        "_synced",
        "_synced_event",
        "_transformer",
        "key_of",
        "name",
    )

    def __init__(
        self,
        name: str,
        key: Accessor[T] | KeyFunc[T] | None,
        known_objects: KeyListerGetter[T] | None,
        transformer: TransformFunc[T] | None,
    ):
        self.name = name
        self._key_of = key_func(key)
        #: What an object's key is, or a tombstone's. It raises ObjectKeyError if no key can be made.
        self.key_of = checked_key_func(key)
        self._known = known_objects
        self._transformer = transformer
        self._left_out = LeftOut(name)
        self._closed = False
        #: Whether anything was ever put in.
        self._populated = False
        #: How many pops are left until what came with the first list has been processed.
        self._initial = 0
        self._synced = False
        self._synced_event = anyio.Event()
        #: What those wait for who found the queue empty; None while there are none.
        self._ready: anyio.Event | None = None

    @property
    def key_func(self) -> KeyFunc[T]:
        """What makes keys. Who has one of its keys already need not have it made again."""
        return self._key_of

    @property
    def transformer(self) -> TransformFunc[T] | None:
        """What objects go through before they are queued; a reflector that stores objects elsewhere uses it, too."""
        return self._transformer

    @abstractmethod
    def replacing(self, objects: Sequence[T], resource_version: str = "") -> Iterator[None]:
        """
        :meth:`replace` in parts of about a millisecond, one for each turn of this iterator.

        Between two parts the event loop may do other things, and the queue may be drained; nothing else may be put in.
        """

    @abstractmethod
    def resyncing(self) -> Iterator[None]:
        """:meth:`resync` in such parts."""

    def replace(self, objects: Sequence[T], resource_version: str = "") -> None:
        """
        These objects are all there are.

        One that the transformer fails for is left out; if it is known, it stays as it is.

        :raises ObjectKeyError: if no key can be made for one of them
        """
        for _ in self.replacing(objects, resource_version):
            pass

    def resync(self) -> None:
        """Have every known object processed again that is not queued anyway."""
        for _ in self.resyncing():
            pass

    @property
    def has_synced(self) -> bool:
        return self._synced

    async def wait_synced(self) -> None:
        await self._synced_event.wait()

    def close(self) -> None:
        self._closed = True
        self._wake()

    @property
    def is_closed(self) -> bool:
        return self._closed

    async def wait(self) -> None:
        while not len(self):
            if self._closed:
                raise FIFOClosed(f"{self.name}: manipulating with closed queue")
            if self._ready is None:
                self._ready = anyio.Event()
            await self._ready.wait()

    async def pop(self, process: Callable[[P, bool], object]) -> P:
        await self.wait()
        return self.pop_nowait(process)

    def drain(self, process: Callable[[P, bool], object], limit: int | None = None) -> int:
        most = len(self) if limit is None else min(limit, len(self))
        pops = 0
        while pops < most and len(self):
            pops += 1
            self.pop_nowait(process)
        return pops

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def pop_nowait(self, process: Callable[[P, bool], object]) -> P:
        """
        Process what comes first.

        :raises LookupError: if there is nothing
        """

    def _last_state(self, key: str, error: Exception) -> DeletedFinalStateUnknown[T]:
        """What stands for a deletion whose object the transformer fails for; `error` is being handled."""
        self._left_out.tell("store", key, error)
        return DeletedFinalStateUnknown(key, known_object(self._known, key) if self._known is not None else None)

    def _wake(self) -> None:
        if self._ready is not None:
            self._ready.set()
            self._ready = None

    def _populate(self, initial: int) -> None:
        """Note, with the first thing that is put in, how many pops the first list makes."""
        self._populated = True
        self._initial = initial
        self._check_synced()

    def _check_synced(self) -> None:
        if self._initial == 0 and self._populated and not self._synced:
            self._synced = True
            self._synced_event.set()
