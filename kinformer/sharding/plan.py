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

A member's own ranges come from rendezvous hashing: for each range every member has a score, and the member with the
highest score is the owner. A member that joins takes ranges from the others, and no range moves between them. If a
member leaves, its own ranges are shared out, and no other range moves. So no more ranges move than necessary, and two
members that see the same members agree without talking to each other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from kinformer.sharding.table import Table

__all__ = ("Plan", "assignment", "make_plan", "owner_of")


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
