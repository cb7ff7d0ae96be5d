"""Heap: objects by key, from which the least object comes out first. The user defines the order.

This is client-go's ``cache.Heap``, on which priority queues are built. It belongs to one event loop.
"""

from __future__ import annotations

import builtins
import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

from kinformer.cache.keys import KeyFunc, checked_key_func
from kinformer.cache.queue import FIFOClosed
from kinformer.meta import Accessor

__all__ = ("Heap",)

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Entry(Generic[T]):
    """An object in the heap. An entry whose object was replaced or deleted stays in the heap, and is skipped later."""

    key: str
    obj: T
    less: Callable[[T, T], bool]
    live: bool = True

    def __lt__(self, other: _Entry[T]) -> bool:
        return self.less(self.obj, other.obj)


class Heap(Generic[T]):
    """
    :param key: makes the keys: an accessor, a function, or None for ``namespace/name`` of any object
    :param less: whether the first of two objects comes out before the second
    """

    def __init__(self, key: Accessor[T] | KeyFunc[T] | None, less: Callable[[T, T], bool]):
        self._key_of = checked_key_func(key)
        self._less = less
        self._entries: dict[str, _Entry[T]] = {}
        self._heap: builtins.list[_Entry[T]] = []
        self._closed = False
        self._ready = anyio.Event()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def add(self, obj: T) -> None:
        """
        Put an object in. It replaces the object with the same key, if there is one.

        :raises FIFOClosed: if the heap is closed
        :raises ObjectKeyError: if no key can be made for it
        """
        key = self._key_of(obj)
        self._check_open()
        self._put(key, obj)

    def update(self, obj: T) -> None:
        """The same as :meth:`add`."""
        self.add(obj)

    def bulk_add(self, objects: Iterable[T]) -> None:
        """
        Put several objects in, before a waiting :meth:`pop` gets one.

        :raises FIFOClosed: if the heap is closed
        :raises ObjectKeyError: if no key can be made for one of them; those before it are in
        """
        self._check_open()
        for obj in objects:
            self._put(self._key_of(obj), obj)

    def add_if_not_present(self, obj: T) -> None:
        """
        Put an object in, unless there is already one with its key.

        :raises FIFOClosed: if the heap is closed
        :raises ObjectKeyError: if no key can be made for it
        """
        key = self._key_of(obj)
        self._check_open()
        if key not in self._entries:
            self._put(key, obj)

    def delete(self, obj: T) -> None:
        """
        Remove an object.

        :raises LookupError: if it is not there
        :raises ObjectKeyError: if no key can be made for it
        """
        key = self._key_of(obj)
        entry = self._entries.pop(key, None)
        if entry is None:
            raise LookupError(f"object {key} not found")
        entry.live = False
        self._tidy()

    async def pop(self) -> T:
        """
        Remove the least object and return it; wait until there is one.

        :raises FIFOClosed: if there is none, and the heap is closed
        """
        while not self._entries:
            self._check_open()
            await self._ready.wait()
        return self.pop_nowait()

    def pop_nowait(self) -> T:
        """
        Remove the least object and return it.

        :raises IndexError: if there is none
        """
        while True:
            entry = heapq.heappop(self._heap)
            if entry.live:
                del self._entries[entry.key]
                return entry.obj

    def get(self, obj: T) -> T | None:
        """
        The object with the same key, None if there is none.

        :raises ObjectKeyError: if no key can be made for it
        """
        return self.get_by_key(self._key_of(obj))

    def get_by_key(self, key: str) -> T | None:
        """The object with this key, None if there is none."""
        entry = self._entries.get(key)
        return None if entry is None else entry.obj

    def list(self) -> builtins.list[T]:
        """All objects, in no particular order."""
        return [entry.obj for entry in self._entries.values()]

    def list_keys(self) -> builtins.list[str]:
        """All keys, in no particular order."""
        return list(self._entries)

    def close(self) -> None:
        """Accept no more objects, and let no caller wait any longer. Objects that are in can still be popped."""
        self._closed = True
        self._wake()

    def _put(self, key: str, obj: T) -> None:
        if (old := self._entries.get(key)) is not None:
            old.live = False
        entry = _Entry(key, obj, self._less)
        self._entries[key] = entry
        heapq.heappush(self._heap, entry)
        self._tidy()
        self._wake()

    def _tidy(self) -> None:
        """Remove skipped entries once they are more than the others."""
        if len(self._heap) > 2 * len(self._entries) + 16:
            self._heap = [entry for entry in self._heap if entry.live]
            heapq.heapify(self._heap)

    def _wake(self) -> None:
        self._ready.set()
        self._ready = anyio.Event()

    def _check_open(self) -> None:
        if self._closed:
            raise FIFOClosed("heap is closed")
