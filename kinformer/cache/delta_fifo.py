"""DeltaFIFO: a queue that gathers, for each object, everything that happened to it since it was last processed.

Objects leave the queue in the order of their first change. An object's changes gather in its deltas until they are
popped, all at once. So a consumer that falls behind works through objects, not through events, and still sees each
change. The rules are client-go's:

- Two deletions in a row become one. An object with its last state is kept rather than a tombstone.
- A deletion is dropped if the object is neither queued nor known: a list has already reported it.
- A list queues each of its objects. It also queues a deletion, with a tombstone, for each object that is queued or
  known and not in the list. The tombstone holds the newest state that was seen: the queued one, else the known one.
- A resync queues each known object that has nothing queued. What is queued already is newer, or is a deletion.
- The transformer is called once for each object. It is not called for tombstones, nor for objects of a resync, which
  it has already transformed.

*Known objects* are those that the consumer has from earlier pops; usually they are an informer's indexer. Without known
objects, an object that was popped and then deleted between two lists is never reported as deleted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from kinformer.cache.deltas import Delta, DeltaType
from kinformer.cache.keys import DeletedFinalStateUnknown, KeyFunc, ObjectKeyError
from kinformer.cache.queue import SLICE, BaseFIFO, PopProcessFunc, known_object, tombstones_of_missing
from kinformer.cache.store import KeyListerGetter, TransformFunc
from kinformer.logs import get_logger
from kinformer.meta import Accessor

__all__ = ("DeltaFIFO",)

T = TypeVar("T")

log = get_logger(__name__)

_ADDED = DeltaType.ADDED
_UPDATED = DeltaType.UPDATED
_DELETED = DeltaType.DELETED


class DeltaFIFO(BaseFIFO[T, Sequence[Delta]]):
    """
    :param key: makes the keys: an accessor, a function, or None for ``namespace/name`` of any object
    :param known_objects: the objects that the consumer has; None if deletions between two lists may be missed
    :param emit_delta_type_replaced: whether objects of a list are queued as Replaced; if not, they are queued as Sync
    :param transformer: called with each object before it is queued; the object that it returns is queued
    :param name: the queue's name in errors and logs
    """

    __slots__ = ("_items", "_order", "_replaced")

    def __init__(
        self,
        key: Accessor[T] | KeyFunc[T] | None = None,
        known_objects: KeyListerGetter[T] | None = None,
        *,
        emit_delta_type_replaced: bool = False,
        transformer: TransformFunc[T] | None = None,
        name: str = "DeltaFIFO",
    ):
        super().__init__(name, key, known_objects, transformer)
        self._replaced = DeltaType.REPLACED if emit_delta_type_replaced else DeltaType.SYNC
        #: Each key of `_items` is in `_order` once, and each key of `_order` is in `_items`.
        self._items: dict[str, list[Delta]] = {}
        self._order: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def list_keys(self) -> list[str]:
        """The keys of all queued objects, in the order in which they will be popped."""
        return list(self._order)

    def add(self, obj: T) -> None:
        """
        Queue an object that is new.

        :raises ObjectKeyError: if no key can be made for it
        """
        if not self._populated:
            self._populate(0)
        self._enqueue(_ADDED, obj)

    def update(self, obj: T) -> None:
        """
        Queue an object that has changed.

        :raises ObjectKeyError: if no key can be made for it
        """
        if not self._populated:
            self._populate(0)
        self._enqueue(_UPDATED, obj)

    def update_keyed(self, key: str, obj: T) -> None:
        """:meth:`update`, for a caller that has the object's key already. The key is the one of :attr:`key_func`."""
        # Nearly every event comes here, so _enqueue is written out.
        if not self._populated:
            self._populate(0)
        if self._transformer is not None:
            obj = self._transformer(obj)
        delta = Delta(_UPDATED, obj, key)
        items = self._items
        if key in items:
            items[key].append(delta)
            return
        items[key] = [delta]
        self._order.append(key)
        if self._ready is not None:
            self._wake()

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Queue an object's deletion. It is ignored if the object is neither queued nor known.

        :raises ObjectKeyError: if no key can be made for it
        """
        key = self.key_of(obj)
        if not self._populated:
            self._populate(0)
        if key not in self._items and (self._known is None or not self._knows(key)):
            return
        if self._transformer is not None and not isinstance(obj, DeletedFinalStateUnknown):
            try:
                obj = self._transformer(obj)
            except Exception as error:
                obj = self._last_state(key, error)
        self._append(Delta(_DELETED, obj, key))

    def replacing(self, objects: Sequence[T], resource_version: str = "") -> Iterator[None]:
        replaced = self._replaced
        keys: set[str] = set()
        for number, obj in enumerate(objects, 1):
            try:
                key = self._enqueue(replaced, obj)
            except ObjectKeyError:
                raise
            except Exception as error:  # the transformer's
                # The server has the object, so its deletion must not be reported.
                key = self.key_of(obj)
                self._left_out.tell("store", key, error)
            keys.add(key)
            if not number % SLICE:
                yield
        items = self._items
        for key, deltas in items.items():
            if key not in keys:
                newest = deltas[-1].object
                if isinstance(newest, DeletedFinalStateUnknown):
                    newest = newest.obj
                self._append(Delta(_DELETED, DeletedFinalStateUnknown(key, newest), key))
        if self._known is not None:
            keys.update(items)
            for number, tombstone in enumerate(tombstones_of_missing(self._known, keys), 1):
                self._append(Delta(_DELETED, tombstone, tombstone.key))
                if not number % SLICE:
                    yield
        if not self._populated:
            self._populate(len(self._order))

    def resyncing(self) -> Iterator[None]:
        known = self._known
        if known is None:
            return
        items = self._items
        for number, key in enumerate(known.list_keys(), 1):
            if key not in items and (obj := known_object(known, key)) is not None:
                self._append(Delta(DeltaType.SYNC, obj, key))
            if not number % SLICE:
                yield

    def pop_nowait(self, process: PopProcessFunc) -> Sequence[Delta]:
        """
        Process the object with the oldest first change.

        :return: its deltas
        :raises IndexError: if nothing is queued
        """
        key = self._order.popleft()
        deltas = self._items.pop(key)
        in_initial_list = not self._synced
        if self._initial:
            self._initial -= 1
            self._check_synced()
        process(deltas, in_initial_list)
        return deltas

    def drain(self, process: PopProcessFunc, limit: int | None = None) -> int:
        # pop_nowait written out, which saves a call for each object.
        order, items = self._order, self._items
        most = len(order) if limit is None else min(limit, len(order))
        pops = 0
        if self._synced and not self._initial:  # always so after the first list
            pop, take = items.pop, order.popleft
            while pops < most and order:
                pops += 1
                process(pop(take()), False)
            return pops
        while pops < most and order:
            pops += 1
            deltas = items.pop(order.popleft())
            in_initial_list = not self._synced
            if self._initial:
                self._initial -= 1
                self._check_synced()
            process(deltas, in_initial_list)
        return pops

    def _enqueue(self, type_: DeltaType, obj: T) -> str:
        # Every object of a list comes here, so _append and key_of are written out.
        try:
            key = self._key_of(obj)
        except Exception:
            key = self.key_of(obj)
        if self._transformer is not None:
            obj = self._transformer(obj)
        delta = Delta(type_, obj, key)
        items = self._items
        deltas = items.get(key)
        if deltas is None:
            items[key] = [delta]
            self._order.append(key)
            if self._ready is not None:
                self._wake()
        else:
            deltas.append(delta)
        return key

    def _append(self, delta: Delta) -> None:
        key = delta.key
        deltas = self._items.get(key)
        if deltas is None:
            self._items[key] = [delta]
            self._order.append(key)
            self._wake()
        elif delta.type is _DELETED and deltas[-1].type is _DELETED:
            if isinstance(deltas[-1].object, DeletedFinalStateUnknown):
                deltas[-1] = delta
        else:
            deltas.append(delta)

    def _knows(self, key: str) -> bool:
        known: KeyListerGetter[Any] | None = self._known
        try:
            return known is not None and known.get_by_key(key) is not None
        except Exception:
            # The object may be known. A deletion that is reported twice is better than one that is never reported.
            log.exception("known_object_unreadable", key=key)
            return True
