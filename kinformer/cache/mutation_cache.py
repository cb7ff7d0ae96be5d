"""MutationCache: a cache that also has one's own latest writes, before their events have come back from the server.

A controller that has just updated an object may still find the old one in its informer's store. It can pass what the
write returned to this cache, which then gives the newer of the two states.

The cache does not guarantee to show the newest state. An entry is dropped after some time, or when there are too many.
With `include_adds`, an object that one has added may still be here although it is gone from the server. Call
:meth:`MutationCache.on_add_or_update` and :meth:`MutationCache.on_delete` from the informer's handlers: they drop
entries as soon as the store has caught up. Without them, an object that is updated and soon deleted does not disappear
at once.

It has a lock, so any thread may use it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from kinformer.cache.index import indexed_values
from kinformer.cache.keys import DeletedFinalStateUnknown, ObjectKeyError, meta_namespace_key_func
from kinformer.cache.store import Indexer, Store
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.meta import accessor_of

__all__ = ("MutationCache",)

T = TypeVar("T")

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    """
    A state of an object that the store may not have yet.

    :param obj: the state; None if the object is known to be deleted
    """

    obj: T | None
    uid: str
    version: int
    expires: float


class MutationCache(Generic[T]):
    """
    :param backing: the store that follows the server
    :param indexer: used by :meth:`by_index`; usually the same as `backing`
    :param ttl: seconds for which a write is remembered
    :param include_adds: whether to return objects that are not in the store at all
    :param max_size: the greatest number of writes that are remembered
    """

    def __init__(
        self,
        backing: Store[T],
        *,
        indexer: Indexer[T] | None = None,
        ttl: float = 300.0,
        include_adds: bool = False,
        max_size: int = 100,
        clock: Clock | None = None,
    ):
        self._backing = backing
        self._indexer = indexer
        self._ttl = ttl
        self._include_adds = include_adds
        self._max_size = max_size
        self._clock = clock or RealClock()
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._lock = Lock()

    def get_by_key(self, key: str) -> T | None:
        """The newest known state of an object; None if there is none, or the store does not have the object yet."""
        with self._lock:
            obj = self._backing.get_by_key(key)
            if obj is not None:
                return self._newer(key, obj)
            entry = self._entry(key) if self._include_adds else None
            return None if entry is None else entry.obj

    def by_index(self, index_name: str, indexed_value: str) -> list[T]:
        """
        The newest known states of the objects that have this value in that index.

        An object of the store is found by its state in the store. Only objects that are not in the store are found by
        their written state.

        :raises ValueError: if there is no indexer
        :raises IndexNotFound: if there is no such index
        """
        if self._indexer is None:
            raise ValueError("the mutation cache has no indexer: give it one by its parameter indexer")
        with self._lock:
            keys = self._indexer.index_keys(index_name, indexed_value)
            found = [self._newer(key, obj) for key in keys if (obj := self._indexer.get_by_key(key)) is not None]
            if self._include_adds:
                values_of = self._indexer.get_indexers()[index_name]
                for key in self._entries.keys() - set(keys):
                    entry = self._entry(key)
                    if entry is None or entry.obj is None:
                        continue
                    try:
                        values = indexed_values(values_of(entry.obj))
                    except Exception:
                        log.exception("mutation_not_indexed", index=index_name, key=key)
                        continue
                    if indexed_value in values:
                        found.append(entry.obj)
            return found

    def mutation(self, obj: T) -> None:
        """
        Remember the object that a write returned, unless something newer is known.

        :raises ValueError: if its resourceVersion is not a number
        """
        new = self._made(obj)
        if new is None:
            return
        key, entry = new
        with self._lock:
            known = self._entry(key)
            if known is not None and entry.version < known.version:
                return
            # The object is known to be deleted: this version of it, or the object with this uid in whatever version.
            if known is not None and known.obj is None and (entry.version == known.version or entry.uid == known.uid):
                return
            self._put(key, entry)

    def on_add_or_update(self, obj: T) -> None:
        """
        Drop a remembered write that is not newer than this object, which the store now has.

        :raises ValueError: if its resourceVersion is not a number
        """
        new = self._made(obj)
        if new is None:
            return
        key, entry = new
        with self._lock:
            known = self._entry(key)
            if known is not None and entry.version >= known.version:
                del self._entries[key]

    def on_delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Note that an object was deleted. A remembered write to it is dropped, and one that is passed in later is
        ignored.

        :raises ValueError: if its resourceVersion is not a number
        """
        last = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        new = None if last is None else self._made(last)
        if new is None:
            return
        key, entry = new
        with self._lock:
            known = self._entry(key)
            # Versions grow over all objects of a resource. So a deletion with a higher version came after the write.
            if known is not None and entry.version < known.version and entry.uid != known.uid:
                return
            self._put(key, _Entry(None, entry.uid, entry.version, entry.expires))

    def _made(self, obj: T) -> tuple[str, _Entry[T]] | None:
        try:
            key = meta_namespace_key_func(obj)
        except ObjectKeyError:
            log.exception("mutation_without_key")
            return None
        accessor = accessor_of(obj)
        version = int(accessor.resource_version(obj) or 0)
        return key, _Entry(obj, accessor.uid(obj), version, self._clock.monotonic() + self._ttl)

    def _newer(self, key: str, backing: T) -> T:
        entry = self._entry(key)
        if entry is None:
            return backing
        if int(accessor_of(backing).resource_version(backing) or 0) >= entry.version:
            del self._entries[key]
            return backing
        return backing if entry.obj is None else entry.obj

    def _entry(self, key: str) -> _Entry[T] | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._clock.monotonic() > entry.expires:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry

    def _put(self, key: str, entry: _Entry[T]) -> None:
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_size:
            self._entries.popitem(last=False)
