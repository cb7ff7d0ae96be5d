"""The newest state of objects that a controller reads from a cache and writes itself.

In: a cache, and each object that was written, as the server answered. Out: whichever of the two is newer. Promised: an
object that the cache no longer has is gone, whatever was written before. So a binding, which is four writes, does not
begin anew with each of its own events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from kinformer.cache import Indexer
from kinformer.meta import meta_namespace_key
from kinformer.meta.versions import is_older

__all__ = ("Latest",)

T = TypeVar("T")


class Latest(Generic[T]):
    def __init__(self, cached: Indexer[T]) -> None:
        self._cached = cached
        self._written: dict[str, T] = {}

    def get(self, key: str) -> T | None:
        """The newest state, None if the object is gone."""
        return self._newest(key, self._cached.get_by_key(key))

    def by_index(self, index: str, value: str) -> Iterator[T]:
        """The newest states of the objects that the cache has under a value of an index."""
        for cached in self._cached.by_index(index, value):
            newest = self._newest(meta_namespace_key(cached), cached)
            if newest is not None:
                yield newest

    def is_behind(self, key: str) -> bool:
        """Whether the cache does not show the last write yet. Its event will come."""
        cached = self._cached.get_by_key(key)
        return cached is not None and self._newest(key, cached) is not cached

    def wrote(self, obj: T) -> T:
        """Note an object as the server answered; returns it."""
        self._written[meta_namespace_key(obj)] = obj
        return obj

    def forget(self, key: str, seen: T) -> T:
        """Note that an object is gone; returns its last state, which may be one that was written and not seen."""
        written = self._written.pop(key, None)
        if written is not None and is_older(_version(seen), _version(written)) and _uid(written) == _uid(seen):
            return written
        return seen

    def _newest(self, key: str, cached: T | None) -> T | None:
        written = self._written.get(key)
        if written is None:
            return cached
        if cached is not None and _uid(written) == _uid(cached) and is_older(_version(cached), _version(written)):
            return written
        del self._written[key]
        return cached


def _version(obj: Any) -> str:
    return obj.metadata.resource_version or ""


def _uid(obj: Any) -> str:
    return obj.metadata.uid or ""
