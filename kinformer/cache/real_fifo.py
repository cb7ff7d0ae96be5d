"""RealFIFO: a queue of every event, in the order in which the events came.

:class:`~kinformer.cache.DeltaFIFO` gathers changes by object. This queue gives out one delta at a time instead. So
handlers see changes of different objects in the server's order, and two changes are never made into one. Deltas of
different objects may be taken as a batch (:meth:`~RealFIFO.pop_batch_nowait`).

A list is queued in two steps: first a deletion, with a tombstone, of each object that is queued or known and not in the
list; then the list's objects. A resync queues each known object that is not queued already. With `atomic_events`, a
list is one delta and a resync is one delta, and known objects are not looked up. The consumer compares them when it
processes the delta (:func:`~kinformer.cache.tombstones_of_missing`). Nothing is dropped, not even a second deletion,
or the deletion of an unknown object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeVar

from kinformer.cache.deltas import BookmarkInfo, Delta, DeltaType, ReplacedAllInfo
from kinformer.cache.keys import DeletedFinalStateUnknown, KeyFunc
from kinformer.cache.queue import SLICE, BaseFIFO, PopProcessFunc, ProcessBatchFunc, known_object, tombstones_of_missing
from kinformer.cache.store import KeyListerGetter, TransformFunc
from kinformer.meta import Accessor

__all__ = ("RealFIFO",)

T = TypeVar("T")

_ADDED = DeltaType.ADDED
_UPDATED = DeltaType.UPDATED
_DELETED = DeltaType.DELETED

_UNBATCHED = frozenset({DeltaType.REPLACED_ALL, DeltaType.SYNC_ALL, DeltaType.BOOKMARK})

_DEFAULT_BATCH_SIZE = 1000


class RealFIFO(BaseFIFO[T, Sequence[Delta]]):
    """
    :param key: makes the keys: an accessor, a function, or None for ``namespace/name`` of any object
    :param known_objects: the objects that the consumer has; required, unless events are atomic
    :param transformer: called with each object before it is queued; the object that it returns is queued
    :param atomic_events: whether a list is one delta and a resync is one delta
    :param emit_delta_type_bookmark: whether bookmarks are queued, too; only with atomic events
    :param batch_size: the greatest number of deltas in a batch
    :param name: the queue's name in errors and logs
    :raises ValueError: if these parameters do not fit together
    """

    __slots__ = ("_batch_size", "_bookmarks", "_items")

    def __init__(
        self,
        key: Accessor[T] | KeyFunc[T] | None = None,
        known_objects: KeyListerGetter[T] | None = None,
        *,
        transformer: TransformFunc[T] | None = None,
        atomic_events: bool = False,
        emit_delta_type_bookmark: bool = False,
        batch_size: int = _DEFAULT_BATCH_SIZE,
        name: str = "RealFIFO",
    ):
        if atomic_events and known_objects is not None:
            raise ValueError(f"{name}: known objects are not used with atomic events: leave out one of the two")
        if not atomic_events and known_objects is None:
            raise ValueError(f"{name}: known objects must be given, unless events are atomic")
        if not atomic_events and emit_delta_type_bookmark:
            raise ValueError(f"{name}: bookmarks would come out of order: they need atomic events")
        super().__init__(name, key, known_objects, transformer)
        self._bookmarks = emit_delta_type_bookmark
        self._batch_size = batch_size
        self._items: deque[Delta] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def add(self, obj: T) -> None:
        """
        Queue an object that is new.

        :raises ObjectKeyError: if no key can be made for it
        """
        self._enqueue(_ADDED, obj)

    def update(self, obj: T) -> None:
        """
        Queue an object that has changed.

        :raises ObjectKeyError: if no key can be made for it
        """
        self._enqueue(_UPDATED, obj)

    def update_keyed(self, key: str, obj: T) -> None:
        """:meth:`update`, for a caller that has the object's key already. The key is the one of :attr:`key_func`."""
        # Nearly every event comes here, so _enqueue is written out.
        if not self._populated:
            self._populate(0)
        if self._transformer is not None:
            obj = self._transformer(obj)
        self._items.append(Delta(_UPDATED, obj, key))
        if self._ready is not None:
            self._wake()

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Queue an object's deletion.

        :raises ObjectKeyError: if no key can be made for it
        """
        if isinstance(obj, DeletedFinalStateUnknown):
            if not self._populated:
                self._populate(0)
            self._append(Delta(_DELETED, obj, obj.key))
        else:
            self._enqueue(_DELETED, obj)

    def replacing(self, objects: Sequence[T], resource_version: str = "") -> Iterator[None]:
        if self._known is None:
            if self._transformer is not None:
                objects = list(self._transformed(objects, self._transformer))
            self._append(Delta(DeltaType.REPLACED_ALL, ReplacedAllInfo(resource_version, objects)))
        else:
            yield from self._reconciling(self._known, objects)
        if not self._populated:
            self._populate(len(self._items))

    def resyncing(self) -> Iterator[None]:
        known = self._known
        if known is None:
            self._append(Delta(DeltaType.SYNC_ALL, None))
            return
        queued = {delta.key for delta in self._items}
        for number, key in enumerate(known.list_keys(), 1):
            if key not in queued and (obj := known_object(known, key)) is not None:
                self._append(Delta(DeltaType.SYNC, obj, key))
            if not number % SLICE:
                yield

    def bookmark(self, resource_version: str) -> None:
        """Queue a bookmark: nothing has changed up to this version. Ignored without `emit_delta_type_bookmark`."""
        if self._bookmarks:
            self._append(Delta(DeltaType.BOOKMARK, BookmarkInfo(resource_version)))

    def pop_nowait(self, process: PopProcessFunc) -> Sequence[Delta]:
        """
        Process the oldest delta.

        :return: that delta, as the only item of a sequence
        :raises IndexError: if nothing is queued
        """
        deltas = (self._items.popleft(),)
        try:
            process(deltas, not self._synced)
        finally:
            # After processing: a caller that waits for the first sync must find the delta processed, not only taken.
            if self._initial:
                self._initial -= 1
                self._check_synced()
        return deltas

    def pop_batch_nowait(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc) -> int:
        """
        Process as many deltas as fit into one batch, beginning with the oldest.

        A batch has at most one delta of each object. Its deltas are either all of the first list, or none is. A batch
        of one delta goes to `process_single`, and so does a delta about all objects. Both functions must do the same.

        :return: the number of deltas; 0 if nothing is queued
        """
        items = self._items
        if not items:
            return 0
        most = min(self._batch_size, self._initial or self._batch_size, len(items))
        batch: list[Delta] = []
        keys: set[str] = set()
        while len(batch) < most:
            delta = items[0]
            if delta.type in _UNBATCHED:
                if not batch:
                    batch.append(items.popleft())
                break
            if delta.key in keys:
                break
            keys.add(delta.key)
            batch.append(items.popleft())
        try:
            if len(batch) == 1:
                process_single(batch, not self._synced)
            else:
                process_batch(batch, not self._synced)
        finally:
            if self._initial:
                self._initial -= len(batch)
                self._check_synced()
        return len(batch)

    async def pop_batch(self, process_batch: ProcessBatchFunc, process_single: PopProcessFunc) -> int:
        """
        Like :meth:`pop_batch_nowait`, but wait until something is queued.

        :raises FIFOClosed: if the queue is empty and closed
        """
        await self.wait()
        return self.pop_batch_nowait(process_batch, process_single)

    def _reconciling(self, known: KeyListerGetter[T], objects: Sequence[T]) -> Iterator[None]:
        keys = [self.key_of(obj) for obj in objects]
        present = set(keys)
        newest_queued = {delta.key: delta for delta in self._items}
        for key, newest in newest_queued.items():
            if key not in present and newest.type is not _DELETED:
                self._append(Delta(_DELETED, DeletedFinalStateUnknown(key, newest.object), key))
        present.update(newest_queued)
        for number, tombstone in enumerate(tombstones_of_missing(known, present), 1):
            self._append(Delta(_DELETED, tombstone, tombstone.key))
            if not number % SLICE:
                yield
        for number, (key, obj) in enumerate(zip(keys, objects, strict=True), 1):
            try:
                if self._transformer is not None:
                    obj = self._transformer(obj)
                self._append(Delta(DeltaType.REPLACED, obj, key))
            except Exception as error:
                self._left_out.tell("store", key, error)
            if not number % SLICE:
                yield

    def _transformed(self, objects: Sequence[T], transformer: TransformFunc[T]) -> Iterator[T]:
        for obj in objects:
            try:
                yield transformer(obj)
            except Exception as error:
                self._left_out.tell("store", self.key_of(obj), error)

    def _enqueue(self, type_: DeltaType, obj: T) -> None:
        if not self._populated:
            self._populate(0)
        try:
            key = self._key_of(obj)
        except Exception:
            key = self.key_of(obj)
        if self._transformer is not None:
            try:
                obj = self._transformer(obj)
            except Exception as error:
                if type_ is not _DELETED:
                    raise
                self._append(Delta(type_, self._last_state(key, error), key))
                return
        self._items.append(Delta(type_, obj, key))
        if self._ready is not None:
            self._wake()

    def _append(self, delta: Delta) -> None:
        self._items.append(delta)
        self._wake()
