"""A mapping that forgets what was not asked for in the longest time, so that what it remembers stays bounded.

The correlator keeps three of them: an object that stopped having events must not be remembered for ever.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ("LRU",)

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """
    At most `size` entries; the one that was neither read nor written for longest goes first.

    :raises ValueError: if it could hold nothing
    """

    __slots__ = ("_entries", "_size")

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"an LRU of {size} entries holds nothing: want at least 1")
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """What is remembered for `key`, None when nothing is; it counts as used now."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Remember `value`, in the place of what was there."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
