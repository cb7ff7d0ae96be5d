"""Plan: computes what a member must do about the ranges, from what it has read and what it holds. No I/O.

The owner that a range *should* have comes from rendezvous hashing over the live members. The owner that it *has* is in
the table. Five steps lead from one to the other:

- drain: the range is this member's and should be another's. The member syncs no further keys of it, and waits for the
  running syncs.
- give: the range is drained. The member writes into the table that the range has no owner.
- claim: the range has no owner, and should be this member's.
- adopt: the range is this member's by the table, and it does not hold it. Either the response to its claim was lost, or
  somebody else has edited the table. In the second case another member may still write for as long as a Lease lasts.
- free: the owner of the range has expired. Once that owner's Lease is taken, the table says that its ranges have no
  owner, or, in the same write, that this member owns them.
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
    :param adopt: ranges that are this member's by the table, and that it has to begin to hold
    :param drain: ranges to sync no further keys of
    :param keep: draining ranges that are to stay now
    :param over: expired members: first their Leases must be taken, and then their ranges
    :param settled: whether it has exactly the ranges that it should have
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
    adoptable: Collection[int] = (),
) -> Plan:
    """
    Compute the plan of a member.

    :param me: the member's name
    :param live: the members that can be given ranges, including this one unless it is leaving
    :param over: the members that cannot hold their Leases any more
    :param held: the ranges that this member holds
    :param draining: those of them that are draining
    :param adoptable: the ranges that nobody else can write to if the table says that they are this member's
    """
    should = assignment(len(table.owners), live)
    wanted = frozenset(number for number, owner in enumerate(should) if owner == me)
    mine = table.of(me)
    held, draining = frozenset(held), frozenset(draining)
    return Plan(
        wanted=wanted,
        adopt=(mine - held) & frozenset(adoptable),
        drain=(mine & held) - wanted - draining,
        keep=mine & draining & wanted,
        over=frozenset(over) - {me},
        settled=mine == wanted == held and not draining,
    )
