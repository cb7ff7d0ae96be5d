"""Controller: a reflector, its queue, and the function that each change goes through.

This is client-go's low-level controller (``cache.New``). Informers are built on it. The reflector queues a batch of
changes, and the same task then pops and processes them. The event loop gets its turn every few milliseconds, however
many changes there are.

:func:`delta_processor` makes the step between queue and store that all informers share. :func:`new_informer` makes a
store with one handler, for users who need no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from anyio.lowlevel import checkpoint

from kinformer.cache.delta_fifo import DeltaFIFO
from kinformer.cache.deltas import BookmarkInfo, Deltas, DeltaType, ReplacedAllInfo
from kinformer.cache.handlers import ResourceEventHandler
from kinformer.cache.index import Indexers
from kinformer.cache.keys import DeletedFinalStateUnknown
from kinformer.cache.listwatch import ListerWatcher
from kinformer.cache.metrics import ProcessingLatency
from kinformer.cache.queue import PopProcessFunc, Queue
from kinformer.cache.reflector import Reflector
from kinformer.cache.store import Indexer, TransformFunc
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import accessor_for

__all__ = ("Controller", "delta_processor", "new_informer")

T = TypeVar("T")

log = get_logger(__name__)

_ADDED = DeltaType.ADDED
_UPDATED = DeltaType.UPDATED
_DELETED = DeltaType.DELETED
_REPLACED = DeltaType.REPLACED
_SYNC = DeltaType.SYNC

#: Seconds of processing after which the event loop has its turn.
_TURN = 0.005
#: Number of pops between two readings of the clock.
_SLICE = 64


class Controller(Generic[T]):
    """
    Has a reflector fill a queue, and processes what is queued.

    :param reflector: from now on it belongs to this controller, which is called after each of its batches
    :param queue: the reflector's store; closed at the end
    :param process: called with the deltas of each pop. What it raises is logged, and the next pop goes on.
    :param reached: called whenever the queue is empty, with the version that the reflector has reached. This may be the
        version of a list or a bookmark, which no object need have.
    :param after_slice: called after every few pops, before other tasks run
    :param latency: records how many seconds each slice of pops took to process
    """

    def __init__(
        self,
        reflector: Reflector[T],
        queue: Queue[T],
        process: PopProcessFunc,
        *,
        reached: Callable[[str], object] | None = None,
        after_slice: Callable[[], None] | None = None,
        latency: ProcessingLatency | None = None,
    ):
        self.reflector = reflector
        reflector.on_batch = self._drain
        self._queue = queue
        self._process = process
        self._reached = reached or _nothing
        self._after_slice = after_slice or _nothing
        self._observe: Callable[[float], object] = _nothing if latency is None else latency.observe
        self._now = reflector.clock.monotonic
        self._draining = False
        self._turn_began = 0.0
        #: Whether the event loop has had a turn since the last batch.
        self._turned = True

    @property
    def last_sync_resource_version(self) -> str:
        """The version that the reflector has reached; the store may be a little behind."""
        return self.reflector.last_sync_resource_version

    @property
    def pending(self) -> int:
        """Number of queued items (with a DeltaFIFO: of objects) that are not in the store yet."""
        return len(self._queue)

    @property
    def is_settled(self) -> bool:
        """Whether the store is at one version: that of :attr:`last_sync_resource_version`."""
        return not len(self._queue) and not self.reflector.is_replacing

    def begin_at(self, resource_version: str) -> None:
        """Follow from a version that the store is at already, without a list. Call it before :meth:`run`."""
        self.reflector.begin_at(resource_version)
        self._queue.begin_synced()
        self._reached(resource_version)

    @property
    def has_synced(self) -> bool:
        """Whether everything of the first list has been processed."""
        return self._queue.has_synced

    async def wait_synced(self) -> None:
        """Return once :attr:`has_synced` is true."""
        await self._queue.wait_synced()

    async def run(self) -> None:
        """
        List, watch and process until cancelled.

        :raises InconsistentList: see :meth:`Reflector.run`
        """
        try:
            await self.reflector.run()
        finally:
            self._queue.close()

    async def forget(self, keys: Iterable[str]) -> None:
        """Process the objects with these keys as if they had been deleted."""
        for key in keys:
            # Handlers get the last state in the cache when it is processed: newer states may be in the queue.
            self._queue.delete(DeletedFinalStateUnknown(key, None))
        await self._drain()

    async def _drain(self) -> None:
        """Process what is queued, and let other tasks run in between."""
        if self._draining:  # a resync came while a batch was being processed: that call processes it as well
            return
        self._draining = True
        queue, process, now = self._queue, self._process, self._now
        if self._turned:
            self._turned = False
            self._turn_began = now()
            asyncio.get_running_loop().call_soon(self._note_turn)
        try:
            while True:
                began = now()
                try:
                    queue.drain(process, _SLICE)
                except Exception:
                    log.exception("delta_not_processed", controller=self.reflector.name)
                if not len(queue):
                    # Before handlers run, so that a handler that asks for the store's version gets the latest one.
                    self._reached(self.reflector.last_sync_resource_version)
                self._after_slice()
                ended = now()
                self._observe(ended - began)
                # Measured from the last time other tasks ran, not from this batch's start. Otherwise a flood of small
                # batches, none of which has to wait for the socket, would keep the event loop.
                if ended - self._turn_began >= _TURN:
                    await checkpoint()
                    self._turn_began = now()
                if not len(queue):
                    return
        finally:
            self._draining = False

    def _note_turn(self) -> None:
        self._turned = True


def delta_processor(
    indexer: Indexer[Any],
    on_add: Callable[[Any, bool], object],
    on_update: Callable[[Any, Any], object],
    on_delete: Callable[[Any], object],
    *,
    in_order: bool = True,
) -> PopProcessFunc:
    """
    Make the function that brings a store to the state after some deltas, and calls a function for each change.

    An object that the store has is updated, and one that it does not have is added, whatever the delta's type says. A
    delta that fails is logged. Those after it are processed all the same, because they are about a later state.

    The store's version becomes that of the first delta that a watch brought, not of a later one in the same pop: a
    queue that gathers by object may still hold earlier changes of other objects. Objects of a list and of a resync come
    in any order, so they do not change the store's version.

    :param in_order: False if others fill the store as well. Then no delta changes the store's version
    """
    put, delete = indexer.storage.put, indexer.storage.delete
    moving_on = indexer.storage.update if in_order else put

    def process(deltas: Deltas, is_in_initial_list: bool) -> None:
        update = moving_on
        for delta in deltas:
            type_ = delta.type
            obj = delta.object
            try:
                if type_ is _UPDATED or type_ is _ADDED or type_ is _REPLACED or type_ is _SYNC:
                    if type_ is _REPLACED or type_ is _SYNC:
                        update = put
                    old = update(delta.key, obj)
                    if old is None:
                        on_add(obj, is_in_initial_list)
                    else:
                        on_update(old, obj)
                elif type_ is _DELETED:
                    # A second deletion is an error of the server. Handlers get the first one only.
                    last = delete(delta.key, obj if update is not put else None)
                    if last is not None:
                        unseen = isinstance(obj, DeletedFinalStateUnknown) and obj.obj is None
                        on_delete(DeletedFinalStateUnknown(obj.key, last) if unseen else obj)
                elif type_ is DeltaType.REPLACED_ALL:
                    _process_replaced_all(obj, is_in_initial_list, indexer, on_add, on_update, on_delete)
                elif type_ is DeltaType.SYNC_ALL:
                    for known in indexer.list():
                        on_update(known, known)
                else:  # BOOKMARK
                    bookmark: BookmarkInfo = obj
                    indexer.bookmark(bookmark.resource_version)
            except Exception:
                log.exception("delta_not_processed", type=delta.type, key=delta.key)
            update = put

    return process


def _process_replaced_all(
    info: ReplacedAllInfo[Any],
    is_in_initial_list: bool,
    indexer: Indexer[Any],
    on_add: Callable[[Any, bool], object],
    on_update: Callable[[Any, Any], object],
    on_delete: Callable[[Any], object],
) -> None:
    key_of = indexer.key_of
    before = {key_of(obj): obj for obj in indexer.list()}
    after = {key_of(obj): obj for obj in info.objects}
    indexer.storage.replace(after, info.resource_version)
    for key, obj in before.items():
        if key not in after:
            on_delete(DeletedFinalStateUnknown(key, obj))
    for key, obj in after.items():
        if key in before:
            on_update(before[key], obj)
        else:
            on_add(obj, is_in_initial_list)


def new_informer(
    lister_watcher: ListerWatcher[T],
    type_: type[T],
    handler: ResourceEventHandler[T],
    *,
    resync_period: float = 0.0,
    indexers: Indexers[T] | None = None,
    transform: TransformFunc[T] | None = None,
    clock: Clock | None = None,
) -> tuple[Indexer[T], Controller[T]]:
    """
    Make a store, and the controller that fills it and calls one handler: client-go's NewInformer and its relatives.

    The handler's methods must be plain functions. They are called in the controller's own task, so one that takes long
    holds up the watch. :class:`~kinformer.cache.SharedIndexInformer` has neither limit.
    """
    accessor = accessor_for(type_)
    indexer = Indexer(accessor, indexers)
    queue = DeltaFIFO(accessor, indexer, emit_delta_type_replaced=True, transformer=transform)
    process = delta_processor(indexer, handler.on_add, handler.on_update, handler.on_delete)
    reflector = Reflector(lister_watcher, type_, queue, resync_period=resync_period, known=indexer.storage, clock=clock)
    return indexer, Controller(reflector, queue, process, reached=indexer.storage.bookmark)


def _nothing(*_: object) -> None:
    """The callback that stands in where none was given."""
