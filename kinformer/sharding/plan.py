"""Plan: what a member is to do about the ranges, from what it has read and what it holds. Pure.

Who *should* own a range is rendezvous hashing over those who live. Who *does* is the table. Between the two are four
steps:

- drain: the range is this member's and should be another's. It hands out no more keys of it, and waits for the running
  syncs;
- give: it is drained. The table says from then on that nobody owns it;
- claim: nobody owns it, and it should be this member's;
- free: its owner is over. Once that owner's Lease is taken, the table says that nobody owns its ranges, or, in the same
  write, that this member does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kinformer.sharding.rendezvous import assignment
from kinformer.sharding.table import Table

__all__ = ("Plan", "make_plan")


@dataclass(frozen=True, slots=True)
class Plan:
    """
    :param wanted: the ranges that should be this member's
    :param adopt: those that the table says are its own, which it does not know of: a claim whose answer was lost
    :param drain: those to hand out no more keys of
    :param keep: those that were to be drained, and are to stay now
    :param over: members that are over: their Leases are to be taken first, and then their ranges
    :param settled: whether it has what it should have, and nobody else has
    """

    wanted: frozenset[int]
    adopt: frozenset[int]
    drain: frozenset[int]
    keep: frozenset[int]
    over: frozenset[str]
    settled: bool


def make_plan(
    me: str,
    table: Table,
    live: Collection[str],
    over: Collection[str],
    held: Collection[int],
    draining: Collection[int],
) -> Plan:
    """
    :param live: those to whom ranges can be given; this member among them, if it does not leave
    :param over: those who cannot hold their Leases any more
    :param held: the ranges that this member takes for its own
    :param draining: those of them that it hands out no keys of
    """
    should = assignment(len(table.owners), live)
    wanted = frozenset(number for number, owner in enumerate(should) if owner == me)
    mine = table.of(me)
    held, draining = frozenset(held), frozenset(draining)
    return Plan(
        wanted=wanted,
        adopt=mine - held,
        drain=(mine & held) - wanted - draining,
        keep=mine & draining & wanted,
        over=frozenset(over) - {me},
        settled=mine == wanted == held and not draining,
    )
