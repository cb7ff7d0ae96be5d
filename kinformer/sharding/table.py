"""Table: the owner of each range. It is stored in the annotations of one Lease, and changed by compare-and-swap.

There is one Lease for all ranges. A Lease for each range would mean up to 256 objects to renew or to read, and several
ranges could not be handed over at once. The table is written only when a range changes its owner, so its writers rarely
meet. If they do, one of them gets a conflict, reads again and decides again. Each member shows by a Lease of its own
that it is alive. Only that Lease is written every few seconds.

::

    kinformer.dev/shards: "64"
    kinformer.dev/shard-owners: '{"web-1-3f2a9c": "0-3,17", "web-2-0b77de": "4-16,18-63"}'
    kinformer.dev/shard-changes: "12"

The first member makes the group's first table. If there are other members already, the table may have been deleted
while they use it. They go on with the ranges that they owned until they read that, or until they have not read the
table for too long. So the new table says ``kinformer.dev/shard-waits``. Then no member claims anything until it has
seen that for as long as a member's Lease lasts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kinformer.sharding.hashing import MOST_RANGES

__all__ = ("ShardCountConflict", "Table", "TableError")

_COUNT: Final = "kinformer.dev/shards"
_OWNERS: Final = "kinformer.dev/shard-owners"
_CHANGES: Final = "kinformer.dev/shard-changes"
_WAITS: Final = "kinformer.dev/shard-waits"


class TableError(Exception):
    """The annotations of the Lease are not a valid table."""


class ShardCountConflict(Exception):
    """
    The members of a group disagree on the number of ranges.

    :param table: the Lease of the table
    """

    def __init__(self, table: str, theirs: int, ours: int) -> None:
        super().__init__(
            f"the group {table} has {theirs} shards, and --shards is {ours}: want the same for all its members; to "
            "change it, stop all of them and delete the Lease"
        )


@dataclass(frozen=True, slots=True)
class Table:
    """
    :param owners: the owner of each range, ``""`` for none
    :param changes: the number of writes of the table. So even a write that changes no owner changes the Lease, and an
        earlier write that is still on its way finds another version and fails
    :param waits: whether there may be owners that the table does not have
    """

    owners: tuple[str, ...]
    changes: int = 0
    waits: bool = False

    @classmethod
    def empty(cls, count: int, *, waits: bool = False) -> Table:
        """Make a table of `count` ranges without owners."""
        return cls(("",) * count, waits=waits)

    @classmethod
    def read(cls, annotations: Mapping[str, Any]) -> Table:
        """
        Read a table from the annotations of its Lease.

        :raises TableError: if they are not a valid table
        """
        try:
            count, changes = int(annotations[_COUNT]), int(annotations.get(_CHANGES, 0))
            given: dict[str, str] = json.loads(annotations[_OWNERS])
            if not 0 < count <= MOST_RANGES:
                raise TableError(f"it has {count} ranges: want 1 to {MOST_RANGES}")
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
        """The annotations for the Lease."""
        by_owner = {owner: _text(self.of(owner)) for owner in sorted(self.members)}
        return {
            _COUNT: str(len(self.owners)),
            _OWNERS: json.dumps(by_owner),
            _CHANGES: str(self.changes),
            _WAITS: "true" if self.waits else "false",
        }

    @property
    def members(self) -> frozenset[str]:
        """The members that own ranges."""
        return frozenset(filter(None, self.owners))

    def of(self, owner: str) -> frozenset[int]:
        """The ranges of an owner."""
        return frozenset(number for number, found in enumerate(self.owners) if found == owner)

    def with_owner(self, numbers: Collection[int], owner: str) -> Table:
        """A table in which these ranges have this owner."""
        return replace(self, owners=tuple(owner if n in numbers else was for n, was in enumerate(self.owners)))

    def touched(self) -> Table:
        """The table for the next write, with the number of changes raised by one."""
        return replace(self, changes=self.changes + 1)


def _numbers(text: str) -> Iterator[int]:
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end:
            raise TableError(f"{part!r} is not a range of numbers")
        yield from range(begin, end + 1)


def _text(numbers: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)
