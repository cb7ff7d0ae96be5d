"""Table: the owner of each range. It is stored in the annotations of one Lease, and changed by compare-and-swap.

There is one Lease for all ranges. A Lease for each range would mean up to 1,024 objects to renew or to read, and
several ranges could not be handed over at once. The table is written only when a range changes its owner, so its
writers rarely meet. If they do, one of them gets a conflict, reads again and decides again. Each member shows by a
Lease of its own that it is alive. Only that Lease is written every few seconds.

::

    kinformer.dev/shards: "64"
    kinformer.dev/shard-by: "namespace"
    kinformer.dev/shard-owners: '{"web-1-3f2a9c": "0-3,17", "web-2-0b77de": "4-16,18-63"}'
    kinformer.dev/shard-changes: "12"

The first member makes the group's first table. If there are other members already, the table may have been deleted
while they use it. They go on with the ranges that they owned until they read that, or until they have not read the
table for too long. So the new table says ``kinformer.dev/shard-waits``, as does one that replaces a table that cannot
be read. Then each member claims the ranges again that it holds. No member claims another range until it has seen that
for as long as a member's Lease lasts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from kinformer.sharding.hashing import MOST_RANGES

__all__ = ("ShardingConflict", "Table", "TableError")

_COUNT: Final = "kinformer.dev/shards"
_BY: Final = "kinformer.dev/shard-by"
_OWNERS: Final = "kinformer.dev/shard-owners"
_CHANGES: Final = "kinformer.dev/shard-changes"
_WAITS: Final = "kinformer.dev/shard-waits"

_owners: Final = msgspec.json.Decoder(dict[str, str])

#: The most characters of a text that are shown in an error. An annotation may have 256 KiB.
_SHOWN: Final = 60

#: The number of changes begins again at 0 after this many.
_MOST_CHANGES: Final = 2**53


class TableError(Exception):
    """The annotations of the Lease are not a valid table."""


class ShardingConflict(Exception):
    """
    The members of a group disagree on how keys are divided.

    :param table: the Lease of the table
    :param flag: the flag that says so
    """

    def __init__(self, table: str, flag: str, theirs: object, ours: object) -> None:
        super().__init__(
            f"the group {table} has {flag} {theirs}, and this process {ours}: want the same for all its members; to "
            "change it, stop all of them and delete the Lease"
        )


@dataclass(frozen=True, slots=True)
class Table:
    """
    :param owners: the owner of each range, ``""`` for none
    :param changes: the number of writes of the table. So even a write that changes no owner changes the Lease, and an
        earlier write that is still on its way finds another version and fails
    :param by: what decides the range of an object in a namespace: ``namespace`` or ``owner``
    :param waits: not empty if there may be owners that the table does not have. It is the resourceVersion of the Lease
        that this table replaced, or ``0`` if there was none, so that each wait has a text of its own
    """

    owners: tuple[str, ...]
    changes: int = 0
    waits: str = ""
    by: str = "namespace"

    @classmethod
    def empty(cls, count: int, by: str = "namespace", *, waits: str = "") -> Table:
        """Make a table of `count` ranges without owners."""
        return cls(("",) * count, waits=waits, by=by)

    @classmethod
    def read(cls, annotations: Mapping[str, Any]) -> Table:
        """
        Read a table from the annotations of its Lease.

        :raises TableError: if they are not a valid table
        """
        try:
            count, changes = int(annotations[_COUNT]), int(annotations.get(_CHANGES, 0))
            given = _owners.decode(annotations[_OWNERS])
            if (by := annotations.get(_BY, "namespace")) not in ("namespace", "owner"):
                raise TableError(f"the annotation {_BY} is {str(by)[:_SHOWN]!r}")
            if not 0 <= changes < _MOST_CHANGES:
                raise TableError(f"the annotation {_CHANGES} is out of range")
            if not 0 < count <= MOST_RANGES:
                raise TableError(f"it has {count} ranges: want 1 to {MOST_RANGES}")
            owners = [""] * count
            for owner, numbers in given.items():
                for number in _numbers(numbers):
                    if not number < count:
                        raise TableError(f"{owner[:_SHOWN]} owns range {number}, and there are {count}")
                    if owners[number]:
                        raise TableError(
                            f"range {number} has two owners, {owners[number][:_SHOWN]} and {owner[:_SHOWN]}"
                        )
                    owners[number] = owner
        except KeyError as error:
            raise TableError(f"the annotation {error.args[0]} is missing") from error
        except msgspec.MsgspecError as error:
            raise TableError(f"the annotation {_OWNERS} is not an object of texts: {error}") from error
        except ValueError as error:
            raise TableError(str(error)[: 2 * _SHOWN]) from error
        return cls(tuple(owners), changes, annotations.get(_WAITS, ""), by)

    def annotations(self) -> dict[str, str]:
        """The annotations for the Lease."""
        by_owner = {owner: _text(self.of(owner)) for owner in sorted(self.members)}
        return {
            _COUNT: str(len(self.owners)),
            _BY: self.by,
            _OWNERS: msgspec.json.encode(by_owner).decode(),
            _CHANGES: str(self.changes),
            _WAITS: self.waits,
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
        return replace(self, changes=(self.changes + 1) % _MOST_CHANGES)


def _numbers(text: str) -> Iterator[int]:
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if not 0 <= begin <= end:
            raise TableError(f"{part[:_SHOWN]!r} is not a range of numbers")
        yield from range(begin, end + 1)


def _text(numbers: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)
