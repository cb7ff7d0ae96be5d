"""Managers that share the keys out, in simulated worlds by seeds, and the same with parts of the protocol taken out.

Here it is the whole manager that runs: informers, queues, workers, and an API server. Single members are tried in
`test_member.py`, one situation at a time.
"""

from __future__ import annotations

import pytest

from kinformer.cache.division import KeyShard, OwnUid
from kinformer.sharding import RangeGate, Table
from kinformer.sharding.leases import Seen
from kinformer.sharding.membership import MemberGuard
from kinformer.sharding.narrowing import RangesListWatch
from kinformer.sharding.rounds import Rounds
from kinformer.sharding.sightings import Sightings
from kinformer.simulation import Faults, Trial, World, explore, simulate
from tests.sharding.worlds import (
    FAULTS,
    MOVING,
    OPTIONS,
    come_and_go,
    come_and_go_by_owner,
    owner_is_cut_off,
    pods_move,
    table_is_deleted,
)
from tests.simulation.ledger import CHECKS


@simulate(seeds=2, faults=FAULTS, checks=CHECKS, options=OPTIONS)
async def test_no_key_is_in_two_running_syncs_and_all_are_served(world: World) -> None:
    await come_and_go(world)


@simulate(seeds=2, faults=FAULTS, checks=CHECKS, options=OPTIONS)
async def test_the_same_holds_where_one_namespace_is_divided(world: World) -> None:
    await come_and_go_by_owner(world)


@simulate(seeds=2, faults=FAULTS, checks=MOVING, options=OPTIONS)
async def test_each_owner_has_its_pods_while_these_move_between_members(world: World) -> None:
    await pods_move(world)


@simulate(seeds=1, faults=Faults.only(), checks=CHECKS, options=OPTIONS)
async def test_a_group_with_a_deleted_table_and_owner_is_not_new(world: World) -> None:
    await table_is_deleted(world)


# --- what is found if a part is taken out

BY_NAMESPACE = Trial(come_and_go, CHECKS, OPTIONS)
BY_OWNER = Trial(come_and_go_by_owner, CHECKS, OPTIONS)


def found(seeds: range, trial: Trial = BY_NAMESPACE) -> set[str]:
    """The oracles that speak up in the first run in which one does."""
    report = explore(trial, seeds, faults=FAULTS, shrinking=0)
    return {violation.oracle for failure in report.failures for violation in failure.violations}


def test_a_member_without_a_guard_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemberGuard, "is_open", True)

    assert "syncs" in found(range(5, 15))


def test_it_is_found_if_running_syncs_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RangeGate, "drained", RangeGate.draining)

    assert not {"syncs", "leader"}.isdisjoint(found(range(7, 41)))


def test_keys_that_are_not_divided_by_their_owner_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnUid, "__call__", lambda self, key: KeyShard(key))

    assert "final-state" in found(range(10), BY_OWNER)


def test_pods_that_do_not_leave_with_their_owner_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RangesListWatch, "_forgets", lambda self, obj: False)

    assert "stores" in found(range(1, 11), Trial(pods_move, MOVING, OPTIONS))


def test_the_bug_of_ignoring_a_dead_members_lease_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Trial(owner_is_cut_off, CHECKS, OPTIONS).undisturbed.is_clean
    is_over = Sightings.is_over
    monkeypatch.setattr(Sightings, "is_over", lambda self, name, now: is_over(self, name, now + 3))
    report = explore(Trial(owner_is_cut_off, CHECKS, OPTIONS), range(10), faults=Faults.only(), shrinking=0)

    assert "steps" in {violation.oracle for violation in report.failures[0].violations}


def test_the_bug_of_taking_a_deleted_table_for_new_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Rounds._checked

    def forgets_whom_it_has_seen(self: Rounds, seen: Seen) -> Table:
        if seen.table is not None:
            return checked(self, seen)
        others = {member.name for member in seen.members} - {self._membership.name}
        return Table.empty(len(self.table.owners), waits="0" if others else "")

    monkeypatch.setattr(Rounds, "_checked", forgets_whom_it_has_seen)
    report = explore(Trial(table_is_deleted, CHECKS, OPTIONS), range(20), faults=Faults.only(), shrinking=0)

    assert {violation.oracle for violation in report.failures[0].violations} >= {"leader", "syncs"}
