"""Ranges: which part of the keys an object or a key belongs to. The same for every process, today and after an update.

The hash is FNV-1a with 64 bits, as in server-side sharding (KEP-5866): of the namespace, or of the uid or name where
there is no namespace. So everything of a namespace is in one range, and pods follow the ReplicaSet that owns them.

KEP-5866 cuts the numbers of the hash into contiguous intervals. FNV-1a's upper bits hardly depend on the last letters
of a text: the 1,000 names from ``team-000`` on fall into 10 of 64 intervals, ``ns-0`` to ``ns-99`` into 2. So a range
here is the remainder of a division, which takes the lower bits: those names fall into 64 and 54 of 64 ranges.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kinformer.meta.shards import fnv1a_64

__all__ = ("MOST_RANGES", "LEAST_RANGES", "Ranges", "fnv1a_64", "text_of_key")

#: How many ranges there may be: enough to share them out evenly, few enough to stand in one Lease.
LEAST_RANGES: Final = 64
MOST_RANGES: Final = 256


def text_of_key(key: str) -> str:
    """What is hashed of a controller's key: the namespace of ``namespace/name``, and a key without namespace whole."""
    return key.partition("/")[0]


class Ranges:
    """
    :param count: how many there are; they are numbered from 0
    """

    __slots__ = ("_count", "of")

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"there are {count} ranges: want at least 1")
        self._count = count
        # Asked for each event of a watch, with few different texts.
        self.of = lru_cache(65_536)(self._of)

    def __len__(self) -> int:
        return self._count

    def _of(self, text: str) -> int:
        return fnv1a_64(text) % self._count
