"""Steps that the models of leader election and of sharding forbid are found in simulated worlds where they are planted.

In both worlds, the first of two processes stands still for eight seconds, and its Lease lasts longer.
"""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.leaderelection.keeper import LeaseKeeper
from kinformer.sharding.sightings import Sightings
from kinformer.simulation import Plan, World, WorldOptions, run_world
from tests.simulation.ledger import Ledger, make_ledger


def forbidden_steps(**group: Any) -> list[str]:
    """What the models say of two processes."""

    async def scenario(world: World) -> None:
        await Ledger(world).open(2)
        processes = world.managers(2, make_ledger, **group)
        await world.sleep(40)
        processes[0].pause(8)
        await world.sleep(40)
        for process in processes:
            process.terminate(for_good=True)

    result = run_world(scenario, Plan(1), options=WorldOptions(loops=(), patience=60))
    assert result.error is None, result.error
    return [violation.text for violation in result.violations if violation.oracle == "steps"]


def test_a_candidate_that_takes_a_lease_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forbidden_steps(leader_election=True) == []

    monkeypatch.setattr(LeaseKeeper, "_is_valid", lambda keeper, now: keeper.is_leader)

    assert "takes the Lease of manager-" in forbidden_steps(leader_election=True)[0]


def test_a_member_that_is_taken_for_dead_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forbidden_steps(sharding=True) == []

    monkeypatch.setattr(
        Sightings, "_is_live", lambda self, name, seen, now: seen.lease is not None and now < seen.changed_at + 2
    )
    monkeypatch.setattr(Sightings, "is_over", lambda self, name, now: name not in self.live(now))

    assert "deletes the Lease of manager-1, which has" in forbidden_steps(sharding=True)[0]
