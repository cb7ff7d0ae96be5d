"""Rendezvous hashing: who should own a range, by the range and the names of those who are there, and nothing else.

For each range every member has a score, and the highest one wins. Who joins takes ranges from the others and moves none
between them; who leaves has its own ranges shared out and moves no other. So never more ranges move than have to, and
two members that see the same members agree without talking to each other.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from hashlib import blake2b

__all__ = ("assignment", "owner_of")


def owner_of(number: int, members: Collection[str]) -> str:
    """Who should own a range; ``""`` if there is nobody."""
    return max(members, key=lambda member: (_score(number, member), member), default="")


def assignment(count: int, members: Collection[str]) -> tuple[str, ...]:
    """Who should own each of so many ranges."""
    return _assignment(count, frozenset(members))


# Asked for every few seconds, nearly always with the same members; a thousand hashes take a millisecond.
@lru_cache(32)
def _assignment(count: int, members: frozenset[str]) -> tuple[str, ...]:
    return tuple(owner_of(number, members) for number in range(count))


def _score(number: int, member: str) -> bytes:
    # Not FNV-1a: the scores of one member for neighbouring ranges would resemble each other.
    return blake2b(f"{number}/{member}".encode(), digest_size=8).digest()
