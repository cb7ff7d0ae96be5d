"""The newest versions of objects that a controller reads from a cache and writes itself.

In: a cache, and each written object in the server's answer. Out: the newer of the two. Promised: an object that is no
longer in the cache counts as deleted, even if it was written before. So a binding, which is four writes, is not
repeated because of its own events.
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
    """The newest versions of the objects in a cache."""

    def __init__(self, cached: Indexer[T]) -> None:
        self._cached = cached
        self._written: dict[str, T] = {}

    def get(self, key: str) -> T | None:
        """Return the newest version; None if the object is gone."""
        return self._newest(key, self._cached.get_by_key(key))

    def by_index(self, index: str, value: str) -> Iterator[T]:
        """Return the newest versions of the objects that the cache has under a value of an index."""
        for cached in self._cached.by_index(index, value):
            newest = self._newest(meta_namespace_key(cached), cached)
            if newest is not None:
                yield newest

    def is_behind(self, key: str) -> bool:
        """Whether the cache does not show the last write yet. Its event will come, and the key is queued again."""
        cached = self._cached.get_by_key(key)
        return cached is not None and self._newest(key, cached) is not cached

    def wrote(self, obj: T) -> T:
        """Note a written object from the server's answer, and return it."""
        self._written[meta_namespace_key(obj)] = obj
        return obj

    def forget(self, key: str, seen: T) -> T:
        """
        Note that an object is gone. Returns its last version, which may be a written one that the cache never had.
        """
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
