"""Two managers, one Lease, and everything that can happen to the one that leads. At no time do two write.

The managers are simulated processes, and what they write is a ledger: it goes back if two write, or if one begins with
what another one has written still to come. :meth:`Candidates.end` looks at it once more: nobody's writes come after
those of another who came later.
"""

from __future__ import annotations

from typing import Literal

import pytest

from kinformer.leaderelection import Guard
from kinformer.simulation import Checks, Faults, Plan, Trial, World, explore, run_world, simulate
from tests.leaderelection.worlds import LEASE, OPTIONS, SEEN_AFTER, TAKE_OVER, Candidates

# How far has been counted is not the same in each run.
CHECKS = Checks(may_differ=("configmaps/*:data",))
#: Nothing goes wrong but what a test says.
alone = simulate(seeds=0, checks=CHECKS, options=OPTIONS)


def ends(world: World, name: str) -> list[str]:
    """How a process has ended by itself."""
    return [record.detail for record in world.history if (record.actor, record.what) == (name, "ended")]


@alone
async def test_one_of_two_works(world: World) -> None:
    candidates = Candidates(world)
    _, b = await candidates.two()
    await world.sleep(60)
    assert candidates.ledger.terms == ["a"]
    assert not b.leads
    await candidates.end()


@alone
async def test_a_killed_leader_is_replaced_within_the_lease_and_one_retry(world: World) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.kill()
    assert await candidates.taken_over() > LEASE.lease_duration - LEASE.retry_period
    await candidates.end()


@alone
async def test_a_leader_stopped_beyond_its_lease_writes_nothing_after_waking(
    world: World,
) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.pause(30)
    await candidates.taken_over()
    await world.sleep(60)
    assert candidates.ledger.terms == ["a", "b"]
    assert "LeadershipLost" in ends(world, "a")[0]
    await candidates.end()


@pytest.mark.parametrize("seconds", [11, 13.9, 14.9, 16])
@alone
async def test_nor_does_one_that_wakes_up_about_when_its_lease_ends(world: World, seconds: float) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.pause(seconds)
    await world.sleep(60)
    await candidates.end()


@alone
async def test_a_leader_that_was_stopped_for_a_moment_goes_on_leading(world: World) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.pause(8)
    await world.sleep(8)
    now = world.loop.now
    await world.sleep(30)
    assert candidates.ledger.since(now) == {"a"}
    await candidates.end()


@alone
async def test_a_leader_that_is_cut_off_ends_and_the_other_takes_over(world: World) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.isolate(60)
    await candidates.taken_over()
    assert "LeadershipLost" in ends(world, "a")[0]
    await candidates.end()


@pytest.mark.parametrize("what", ["calls", "answers"])
@alone
async def test_a_leader_whose_renewals_hang_ends_although_its_other_calls_go_well(
    world: World, what: Literal["calls", "answers"]
) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.lose_lease(60, what)
    took = await candidates.until(
        lambda: ends(world, "a"), within=LEASE.lease_duration + LEASE.renew_deadline + SEEN_AFTER
    )
    assert took > LEASE.renew_deadline - LEASE.retry_period
    await candidates.taken_over()
    await candidates.end()


@pytest.mark.parametrize("hours", [24, -24])
@pytest.mark.parametrize("whose", ["a", "b"])
@alone
async def test_setting_the_time_of_day_changes_nothing(world: World, whose: str, hours: int) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    world.processes[whose].clock.skew = hours * 3600
    await world.sleep(60)
    world.processes[whose].clock.skew = -hours * 3600
    await world.sleep(60)
    assert candidates.ledger.terms == ["a"]
    a.kill()
    await candidates.taken_over()
    await candidates.end()


@pytest.mark.parametrize("rates", [(0.9, 1.0), (1.1, 1.0), (1.0, 0.9), (1.0, 1.1)], ids=str)
@alone
async def test_no_two_write_with_clocks_a_tenth_too_fast_or_slow(world: World, rates: tuple[float, float]) -> None:
    candidates = Candidates(world)
    a, b = await candidates.two()
    a.clock.rate, b.clock.rate = rates
    a.lose_lease(60)
    await world.sleep(60)
    assert candidates.ledger.terms == ["a", "b"]
    await candidates.end()


@alone
async def test_a_leader_whose_clock_leaps_forward_takes_its_lease_for_over(world: World) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.clock.leap(20)
    await candidates.until(lambda: ends(world, "a"), within=LEASE.retry_period + 0.3)
    await candidates.taken_over()
    await candidates.end()


@alone
async def test_a_terminated_leader_releases_and_the_other_works_after_one_retry(
    world: World,
) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    a.terminate()
    await candidates.taken_over(within=SEEN_AFTER + 3)
    assert ends(world, "a") == [""]
    await candidates.end()


@alone
async def test_writes_that_arrive_late_arrive_before_another_leads(world: World) -> None:
    candidates = Candidates(world)
    a, _ = await candidates.two()
    world.server.faults.delay(2.0, times=1000, matching=lambda call: call.resource == "configmaps")
    a.lose_lease(60)
    await world.sleep(60)
    assert candidates.ledger.terms == ["a", "b"]
    await candidates.end()


# --- what finds it if it is not so


async def one_sleeps(world: World) -> None:
    """A leader that stands still in the midst of a sync, and goes on when another one leads."""
    candidates = Candidates(world)
    a, _ = await candidates.two()
    await candidates.until(lambda: a.life is not None and a.life.syncing, within=5)
    a.pause(TAKE_OVER + SEEN_AFTER)
    await world.sleep(60)
    for process in world.processes.values():
        process.terminate(for_good=True)


def found(seeds: int) -> set[str]:
    """The oracles that speak up in the first run in which one does."""
    report = explore(Trial(one_sleeps, CHECKS, OPTIONS), range(seeds), faults=Faults.only(), shrinking=0)
    return {violation.oracle for failure in report.failures for violation in failure.violations}


def test_the_guard_refuses_what_a_leader_that_wakes_up_has_decided_before() -> None:
    result = run_world(one_sleeps, Plan(1), options=OPTIONS)

    assert not result.violations
    assert any(record.what == "barred" for record in result.history)


def test_without_the_guard_a_leader_that_wakes_up_writes_beside_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "check", lambda self, what: None)

    # Only if it is quicker to write than to see that its Lease has run out: in one run of fifteen.
    assert {"leader", "invariants"} <= found(seeds=100)


def test_a_guard_left_open_is_found_by_two_syncs_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "is_open", True)

    assert "syncs" in found(seeds=1)
