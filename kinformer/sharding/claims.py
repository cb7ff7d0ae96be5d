"""Claims: whether a range is a member's own, although answers to its writes were lost or the table was edited. No I/O.

- A write whose answer was lost may have reached the server, may still reach it, or never will. Ranges that such a write
  gave up are not held any more once the table says so. Ranges that it claimed are this member's once the table says so.
- Somebody may edit the table. A range that it gives to this member without a claim is left alone for the duration of a
  Lease: by then the former owner has read the table and ended, or its guard is closed.
- The table may be deleted, or become unreadable. Then each member claims the ranges again that it holds, and nobody
  claims another range for the duration of a Lease (:mod:`kinformer.sharding.table`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kinformer.client import Conflict
from kinformer.client.errors import AlreadyExists
from kinformer.sharding.leases import Seen
from kinformer.sharding.table import Table

__all__ = ("Claims",)


class Claims:
    """
    :param me: the member's name
    :ivar again: the ranges that this member holds, and that were lost with the table
    :ivar uncertain: whether a write of the table, of unknown result, may still arrive
    """

    def __init__(self, me: str) -> None:
        self._me = me
        self.again: frozenset[int] = frozenset()
        self.uncertain = False
        #: The ranges that a write of unknown result would give up.
        self._giving: frozenset[int] = frozenset()
        #: The ranges that such a write has claimed, and the version of the table that it was to replace.
        self._claimed: frozenset[int] = frozenset()
        self._claimed_on = ""
        #: The ranges that the table gives to this member without its claim, and since when this member knows it.
        self._unclaimed: dict[int, float] = {}
        #: The table that says that claims must wait, and since when this member knows it.
        self._waits_for = ("", "")
        self._waiting_since = 0.0

    def compare(self, seen: Seen, table: Table, held: frozenset[int]) -> frozenset[int] | None:
        """
        Compare the ranges that are held with the table.

        A range that is missing in it was given up by an earlier write, or was lost with a table that somebody has
        deleted or damaged, and is claimed :attr:`again`.

        :param held: the ranges that this member holds
        :return: the ranges that were given up; None if the table gives a held range to another member
        """
        missing = held - table.of(self._me)
        lost = missing - self._giving
        is_new = seen.table is None or bool(table.waits)
        if lost and not (is_new and lost <= table.of("")):
            return None
        self.again = lost
        self._giving = frozenset()
        return missing - lost

    def adoptable(self, seen: Seen, table: Table, held: frozenset[int], now: float, longest: float) -> frozenset[int]:
        """
        The ranges that nobody else can write to if the table says that they are this member's.

        :param longest: the seconds for which a former owner may still write
        """
        mine = table.of(self._me)
        if seen.version != self._claimed_on:
            self._claimed &= mine  # the write has arrived by now, or never will
        self._unclaimed = {number: self._unclaimed.get(number, now) for number in mine - held - self._claimed}
        return self._claimed | {number for number, since in self._unclaimed.items() if now - since >= longest}

    def may_claim(self, seen: Seen, table: Table, now: float, longest: float) -> bool:
        """
        Whether ranges without an owner may be claimed.

        :param longest: the seconds for which an owner that the table does not have may still write
        """
        if not table.waits:
            return True
        if seen.lease is None:
            return False
        wait = (seen.lease["metadata"]["uid"], table.waits)
        if self._waits_for != wait:
            self._waits_for, self._waiting_since = wait, now
        return now - self._waiting_since >= longest

    @contextmanager
    def writing(self, seen: Seen, give: frozenset[int], claim: frozenset[int]) -> Iterator[None]:
        """
        Note the result of the block, which writes the table.

        :param seen: the table that is to be replaced
        :param give: the ranges that this write gives up
        :param claim: the ranges that it claims
        """
        self._giving = give
        self._claimed, self._claimed_on = self._claimed | claim, seen.version
        try:
            yield
        except (Conflict, AlreadyExists):
            # Another member's write came first, or an earlier try of this one. In both cases nothing can arrive any
            # more.
            self.uncertain = False
            raise
        except BaseException:
            self.uncertain = True
            raise
        self.uncertain = False
        self._giving = frozenset()

    def held(self, numbers: frozenset[int]) -> None:
        """Note that these ranges are held now."""
        self._claimed -= numbers
