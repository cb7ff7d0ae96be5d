"""Rendezvous hashing: computes the owner of each range from the range and the names of the members alone.

For each range every member has a score, and the member with the highest score is the owner. A member that joins takes
ranges from the others, and no range moves between them. If a member leaves, its own ranges are shared out, and no other
range moves. So no more ranges move than necessary, and two members that see the same members agree without talking to
each other.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from hashlib import blake2b

__all__ = ("assignment", "owner_of")


def owner_of(number: int, members: Collection[str]) -> str:
    """The member that should own a range; ``""`` if there is none."""
    return max(members, key=lambda member: (_score(number, member), member), default="")


def assignment(count: int, members: Collection[str]) -> tuple[str, ...]:
    """The member that should own each range, for `count` ranges."""
    return _assignment(count, frozenset(members))


# Called every few seconds, nearly always with the same members. A thousand hashes take a millisecond.
@lru_cache(32)
def _assignment(count: int, members: frozenset[str]) -> tuple[str, ...]:
    return tuple(owner_of(number, members) for number in range(count))


def _score(number: int, member: str) -> bytes:
    # Not FNV-1a, because its scores of one member for neighbouring ranges would be similar.
    return blake2b(f"{number}/{member}".encode(), digest_size=8).digest()
