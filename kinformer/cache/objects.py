"""Objects: the contents of a store as a read-only mapping, for code that has a dict of objects by key today.

It is a view, so it always shows what the store has now. Any thread may read it. `values`, `items`, ``==`` and a loop
work on a copy of one moment, so they do not fail when an object is removed meanwhile.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TypeVar

from kinformer.cache.thread_safe_store import ThreadSafeStore

__all__ = ("Objects",)

T = TypeVar("T")


class Objects(Mapping[str, T]):
    """The objects of a store by their keys (``namespace/name``)."""

    __slots__ = ("_storage",)

    def __init__(self, storage: ThreadSafeStore[T]):
        self._storage = storage

    def __repr__(self) -> str:
        return f"<{len(self)} objects>"

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[str]:
        return iter(self._storage.list_keys())

    def __getitem__(self, key: str) -> T:
        found = self._storage.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def values(self) -> ValuesView[T]:
        """All objects, as they are now."""
        return self.copy().values()

    def items(self) -> ItemsView[str, T]:
        """All keys and their objects, as they are now."""
        return self.copy().items()

    def copy(self) -> dict[str, T]:
        """A dict of the same objects. Later changes of the store do not change it."""
        return self._storage.copy()
