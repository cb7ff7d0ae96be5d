"""MutationCache: a cache with one's own latest writes in it, before the server's events have brought them back.

A controller that has just updated an object and reads it from its informer's store finds the old one for a while.
This cache is told of what a write returned, and gives whichever is newer. It is not for who needs to know: an entry is
pushed out by others, or is too old, after some time, and what one added oneself (with `include_adds`) may be gone from
the server while it is still here. Calling :meth:`MutationCache.on_add_or_update` and :meth:`MutationCache.on_delete`
from the informer's handlers lets go of entries as soon as the store has caught up, and is the only way in which an
object that was updated and deleted in quick succession disappears at once.

It has a lock; any thread may use it.
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
    What is known of an object beyond the store.

    :param obj: its newer state; None if it is known to be deleted
    """

    obj: T | None
    uid: str
    version: int
    expires: float


class MutationCache(Generic[T]):
    """
    :param backing: the store that follows the server
    :param indexer: where :meth:`by_index` looks; usually the same
    :param ttl: seconds for which a write is remembered
    :param include_adds: whether an object is given that is not in the store at all
    :param max_size: how many writes are remembered at most
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
        """The newest state that is known of an object, None if it is not known or not yet in the store."""
        with self._lock:
            obj = self._backing.get_by_key(key)
            if obj is not None:
                return self._newer(key, obj)
            entry = self._entry(key) if self._include_adds else None
            return None if entry is None else entry.obj

    def by_index(self, index_name: str, indexed_value: str) -> list[T]:
        """
        The newest states of the objects that have this value in that index; by their states in the store.

        :raises ValueError: if there is no indexer
        :raises IndexNotFound: if there is no such index
        """
        if self._indexer is None:
            raise ValueError("no indexer has been provided to the mutation cache")
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
        Remember what a write returned, unless something newer is known.

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
            # It is known to be deleted: in this very state, or whatever its state.
            if known is not None and known.obj is None and (entry.version == known.version or entry.uid == known.uid):
                return
            self._put(key, entry)

    def on_add_or_update(self, obj: T) -> None:
        """
        The store has this object: forget a write that is not newer.

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
        The store no longer has this object: forget a write to it, and one that is still to be told.

        :raises ValueError: if its resourceVersion is not a number
        """
        last = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        new = None if last is None else self._made(last)
        if new is None:
            return
        key, entry = new
        with self._lock:
            known = self._entry(key)
            # Versions go up over all objects of a resource, so a deletion that is newer than a write came after it.
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
