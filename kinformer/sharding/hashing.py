"""Ranges: computes the range of an object or a key. It is the same in every process and in every version.

The hash is FNV-1a with 64 bits, as in server-side sharding (KEP-5866). It is computed from the namespace, or from the
uid or name if there is no namespace. So all objects of a namespace are in one range, and pods are in that of the
ReplicaSet that owns them. Where objects are divided by their owner, it is computed from the owner's uid.

KEP-5866 divides the hash values into contiguous intervals. But the upper bits of FNV-1a hardly depend on the last
letters of a text: the 1,000 names from ``team-000`` on fall into 10 of 64 intervals, and ``ns-0`` to ``ns-99`` into 2.
So a range here is the remainder of a division, which uses the lower bits. Those names then fall into 64 and 54 of 64
ranges.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kinformer.meta.shards import fnv1a_64

__all__ = ("MOST_RANGES", "LEAST_RANGES", "Ranges", "fnv1a_64", "text_of_key")

#: The number of ranges: enough to share them out evenly, and few enough to be stored in one Lease and read each round.
LEAST_RANGES: Final = 64
MOST_RANGES: Final = 1024


def text_of_key(key: str) -> str:
    """The part of a controller's key that is hashed: the namespace of ``namespace/name``, or all of any other key."""
    return key.partition("/")[0]


class Ranges:
    """
    :param count: the number of ranges; they are numbered from 0
    :param by_owner: whether objects are divided by their owner, and not by their namespace
    """

    __slots__ = ("_count", "by_owner", "of")

    def __init__(self, count: int, *, by_owner: bool = False) -> None:
        if count < 1:
            raise ValueError(f"there are {count} ranges: want at least 1")
        self._count = count
        self.by_owner = by_owner
        # Called for each event of a watch, with few different texts.
        self.of = lru_cache(65_536)(self._of)

    def __len__(self) -> int:
        return self._count

    def _of(self, text: str) -> int:
        return fnv1a_64(text) % self._count
