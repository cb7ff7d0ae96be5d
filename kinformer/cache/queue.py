"""Queues between a reflector and its consumer: the interface and the base class of all of them.

The reflector fills the queue (:class:`~kinformer.cache.ReflectorStore`), with one call for each event. The consumer
takes items out, one at a time or many in one call. Each goes to a *process function*. All of this happens in the event
loop's thread, and none of it waits, takes a lock or makes a task. Only :meth:`Queue.wait` waits, when the queue is
empty.

An item is removed from the queue before it is processed. If the process function raises, the pop raises the same
exception and the item is not put back. A process function may use the queue.
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

#: Processes the deltas of one object, oldest first. The second argument says whether they are of the first list.
PopProcessFunc: TypeAlias = Callable[[Deltas, bool], object]

#: Processes deltas of different objects, one of each. The second argument says whether they are of the first list.
ProcessBatchFunc: TypeAlias = Callable[[Sequence[Delta], bool], object]


#: Number of objects of a list or a resync that are queued in one part.
SLICE = 1000


class FIFOClosed(Exception):
    """The queue was closed, and it is empty."""


class Queue(Protocol[T_contra]):
    """A :class:`~kinformer.cache.ReflectorStore` whose changes a consumer pops: DeltaFIFO or RealFIFO."""

    def add(self, obj: T_contra) -> None:
        """Queue an object that is new."""

    def update(self, obj: T_contra) -> None:
        """Queue an object that has changed."""

    def delete(self, obj: T_contra | DeletedFinalStateUnknown[T_contra]) -> None:
        """Queue an object's deletion."""

    def replace(self, objects: Sequence[T_contra], resource_version: str = "") -> None:
        """Queue a list: these are all the objects that exist."""

    def resync(self) -> None:
        """Queue every known object again, unless it is queued already."""

    def replacing(self, objects: Sequence[T_contra], resource_version: str = "") -> Iterator[None]:
        """
        :meth:`replace` in parts of about a millisecond, one for each turn of this iterator.

        Between two parts the event loop may do other things, and the queue may be drained; nothing else may be put in.
        """

    def resyncing(self) -> Iterator[None]:
        """:meth:`resync` in such parts."""

    def __len__(self) -> int:
        """Number of items that can be popped."""

    async def wait(self) -> None:
        """
        Return once there is something to pop.

        :raises FIFOClosed: if the queue is empty and closed
        """

    async def pop(self, process: PopProcessFunc) -> Deltas:
        """
        Process the first item; wait until there is one.

        :raises FIFOClosed: if the queue is empty and closed
        """

    def drain(self, process: PopProcessFunc, limit: int | None = None) -> int:
        """Process what is queued now, with at most `limit` pops. Return the number of pops."""

    @property
    def name(self) -> str:
        """The queue's name in errors and logs."""

    @property
    def has_synced(self) -> bool:
        """Whether everything of the first list was popped. Also true if something else was queued first."""

    async def wait_synced(self) -> None:
        """Return once :attr:`has_synced` is true."""

    def begin_synced(self) -> None:
        """Count as synced, before anything is put in: the consumer has the first list from elsewhere."""

    def close(self) -> None:
        """Let no caller wait any longer. Queued items can still be popped."""


class QueueWithBatch(Queue[T_contra], Protocol[T_contra]):
    """A queue that can process changes of several objects in one call."""

    def pop_batch_nowait(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc) -> int:
        """Process as many deltas as fit into one batch. Return their number, 0 if nothing is queued."""

    async def pop_batch(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc) -> int:
        """
        Like :meth:`pop_batch_nowait`, but wait until something is queued.

        :raises FIFOClosed: if the queue is empty and closed
        """


def known_object(known: KeyListerGetter[T], key: str) -> T | None:
    """The known object with a key; None, with a line in the log, if it is missing or cannot be read."""
    try:
        obj = known.get_by_key(key)
    except Exception:
        log.exception("known_object_unreadable", key=key)
        return None
    if obj is None:
        log.info("known_object_missing", key=key)
    return obj


def tombstones_of_missing(known: KeyListerGetter[T], present: Container[str]) -> Iterator[DeletedFinalStateUnknown[T]]:
    """A tombstone for every known object whose key is not in `present`: deletions that no event reported."""
    missing = [key for key in known.list_keys() if key not in present]
    for key in missing:
        yield DeletedFinalStateUnknown(key, known_object(known, key))


class BaseFIFO(ABC, Generic[T, P]):
    """
    The part of a queue that does not depend on its order: keys, the first sync, waiting and closing.

    `P` is the type of a popped item.
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
        #: Makes the key of an object or a tombstone. It raises ObjectKeyError if no key can be made.
        self.key_of = checked_key_func(key)
        self._known = known_objects
        self._transformer = transformer
        self._left_out = LeftOut(name)
        self._closed = False
        #: Whether anything was ever put in.
        self._populated = False
        #: Number of pops until everything of the first list has been processed.
        self._initial = 0
        self._synced = False
        self._synced_event = anyio.Event()
        #: Set to wake callers that found the queue empty; None while there are none.
        self._ready: anyio.Event | None = None

    @property
    def key_func(self) -> KeyFunc[T]:
        """The function that makes keys. A caller that already has such a key can pass it in."""
        return self._key_of

    @property
    def transformer(self) -> TransformFunc[T] | None:
        """Called with each object before it is queued. A reflector that keeps objects elsewhere calls it, too."""
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

        An object that the transformer fails for is left out. If it is known, it stays as it is.

        :raises ObjectKeyError: if no key can be made for one of them; a DeltaFIFO has queued those before it then
        """
        for _ in self.replacing(objects, resource_version):
            pass

    def resync(self) -> None:
        """Queue every known object again, unless it is queued already."""
        for _ in self.resyncing():
            pass

    @property
    def has_synced(self) -> bool:
        return self._synced

    async def wait_synced(self) -> None:
        await self._synced_event.wait()

    def begin_synced(self) -> None:
        self._populate(0)

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
        Process the first item.

        :raises LookupError: if the queue is empty
        """

    def _last_state(self, key: str, error: Exception) -> DeletedFinalStateUnknown[T]:
        """The tombstone of a deletion for whose object the transformer failed. `error` is being handled."""
        self._left_out.tell("store", key, error)
        return DeletedFinalStateUnknown(key, known_object(self._known, key) if self._known is not None else None)

    def _wake(self) -> None:
        if self._ready is not None:
            self._ready.set()
            self._ready = None

    def _populate(self, initial: int) -> None:
        """Note, when something is queued for the first time, how many pops the first list makes."""
        self._populated = True
        self._initial = initial
        self._check_synced()

    def _check_synced(self) -> None:
        if self._initial == 0 and self._populated and not self._synced:
            self._synced = True
            self._synced_event.set()
