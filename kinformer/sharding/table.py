"""Table: who owns which range. It stands in the annotations of one Lease, and is changed by compare-and-swap.

One Lease for all ranges, and not one for each: a Lease for each would be 256 objects to renew or to look through, and
nobody could hand over several ranges at once. The table is written when a range changes hands and at no other time, so
its writers rarely meet. If they do, one has a conflict, reads again and decides again. Each member is alive by a Lease
of its own, which is what is written every few seconds.

::

    kinformer.dev/shards: "64"
    kinformer.dev/shard-owners: '{"web-1-3f2a9c": "0-3,17", "web-2-0b77de": "4-16,18-63"}'
    kinformer.dev/shard-changes: "12"

A group's first table is made by whoever comes first. If there are other members already, the table may have been
deleted under their feet. They go on with what they owned until they read that, or have not read the table for too long.
So it says ``kinformer.dev/shard-waits``, and nobody claims anything until it has seen that for as long as a member's
Lease lasts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

__all__ = ("ShardCountConflict", "Table", "TableError")

_COUNT: Final = "kinformer.dev/shards"
_OWNERS: Final = "kinformer.dev/shard-owners"
_CHANGES: Final = "kinformer.dev/shard-changes"
_WAITS: Final = "kinformer.dev/shard-waits"


class TableError(Exception):
    """What is in the Lease is no table."""


class ShardCountConflict(Exception):
    """
    The members of a group disagree on the number of ranges.

    :param table: the Lease
    """

    def __init__(self, table: str, theirs: int, ours: int) -> None:
        super().__init__(
            f"the group {table} has {theirs} shards, and --shards is {ours}: want the same for all its members; to "
            "change it, stop all of them and delete the Lease"
        )


@dataclass(frozen=True, slots=True)
class Table:
    """
    :param owners: by range, ``""`` for nobody
    :param changes: how often it was written. So a write that changes no owner is a change all the same, and what
        somebody else sent before, and is still on its way, finds another version
    :param waits: whether there may be owners that it does not know of
    """

    owners: tuple[str, ...]
    changes: int = 0
    waits: bool = False

    @classmethod
    def empty(cls, count: int, *, waits: bool = False) -> Table:
        """So many ranges that nobody owns."""
        return cls(("",) * count, waits=waits)

    @classmethod
    def read(cls, annotations: Mapping[str, Any]) -> Table:
        """
        :raises TableError: if there is none in these annotations
        """
        try:
            count, changes = int(annotations[_COUNT]), int(annotations.get(_CHANGES, 0))
            given: dict[str, str] = json.loads(annotations[_OWNERS])
            owners = [""] * count
            for owner, numbers in given.items():
                for number in _numbers(numbers):
                    if owners[number]:
                        raise TableError(f"range {number} has two owners, {owners[number]} and {owner}")
                    owners[number] = owner
        except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
            raise TableError(f"{type(error).__name__}: {error}") from error
        return cls(tuple(owners), changes, annotations.get(_WAITS) == "true")

    def annotations(self) -> dict[str, str]:
        """As they stand in the Lease."""
        by_owner = {owner: _text(self.of(owner)) for owner in sorted(self.members)}
        return {
            _COUNT: str(len(self.owners)),
            _OWNERS: json.dumps(by_owner),
            _CHANGES: str(self.changes),
            _WAITS: "true" if self.waits else "false",
        }

    @property
    def members(self) -> frozenset[str]:
        """Who owns a range."""
        return frozenset(filter(None, self.owners))

    def of(self, owner: str) -> frozenset[int]:
        """The ranges that somebody owns."""
        return frozenset(number for number, found in enumerate(self.owners) if found == owner)

    def with_owner(self, numbers: Collection[int], owner: str) -> Table:
        """The same, but that somebody owns these ranges."""
        return replace(self, owners=tuple(owner if n in numbers else was for n, was in enumerate(self.owners)))

    def touched(self) -> Table:
        """The same as the next write of it."""
        return replace(self, changes=self.changes + 1)


def _numbers(text: str) -> Iterator[int]:
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end:
            raise TableError(f"{part!r} is no range of numbers")
        yield from range(begin, end + 1)


def _text(numbers: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)
