"""LRU: a mapping of limited size, which drops the entry that was not used for the longest time.

It is for what is remembered of objects without being told when they go: Events, absent owners, answers.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ("LRU",)

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """
    A mapping with at most `size` entries. The one that was neither read nor written for the longest time is dropped.

    :raises ValueError: if `size` is less than 1
    """

    __slots__ = ("_entries", "_size")

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"an LRU of {size} entries holds nothing: want at least 1")
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value for `key`, None if there is none. The entry counts as used now."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Store `value` for `key`, in place of an earlier value."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
