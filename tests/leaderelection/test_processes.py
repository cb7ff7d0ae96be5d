"""Two managers, one Lease, and everything that can happen to the one that leads. At no time do two write.

:func:`processes` checks that at the end of each test: nobody's writes come after those of another who came later.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from kinformer.leaderelection import JITTER_FACTOR, Guard, LeadershipLost
from tests.leaderelection.processes import LEASE, processes

#: Seconds within which another leads, from when it saw the last renewal: the lease, one retry at its longest, and the
#: second that a cache needs whose objects do not change.
TAKE_OVER = LEASE.lease_duration + LEASE.retry_period * (1 + JITTER_FACTOR) + 1.1
#: The follower sees a renewal one retry after it, at the latest.
SEEN_AFTER = LEASE.retry_period * (1 + JITTER_FACTOR)


async def test_one_of_two_works() -> None:
    async with processes("a", "b") as world:
        await world.turn(60)
        assert world.written.terms == ["a"]
        assert not world.processes["b"].leads


async def test_when_the_leader_is_killed_the_other_takes_over_within_the_lease_and_one_retry() -> None:
    async with processes("a", "b") as world:
        world.processes["a"].kill()
        took = await world.until(lambda: "b" in world.written.terms, within=TAKE_OVER + SEEN_AFTER)
        assert took > LEASE.lease_duration - LEASE.retry_period


async def test_a_leader_that_was_stopped_for_longer_than_its_lease_writes_nothing_when_it_wakes_up() -> None:
    async with processes("a", "b") as world:
        leader = world.processes["a"]
        leader.stop()
        await world.until(lambda: "b" in world.written.terms, within=TAKE_OVER + SEEN_AFTER)
        leader.go_on()
        await world.turn(30)
        assert world.written.terms == ["a", "b"]
        assert leader.ended
        assert isinstance(leader.error, LeadershipLost)


@pytest.mark.parametrize("seconds", [11, 13.9, 14.9, 16])
async def test_nor_does_one_that_wakes_up_about_when_its_lease_ends(seconds: float) -> None:
    async with processes("a", "b") as world:
        world.processes["a"].stop()
        await world.turn(seconds)
        world.processes["a"].go_on()
        await world.turn(60)


async def test_a_leader_that_was_stopped_for_a_moment_goes_on_leading() -> None:
    async with processes("a", "b") as world:
        world.processes["a"].stop()
        await world.turn(8)
        world.processes["a"].go_on()
        now = world.clock.monotonic()
        await world.turn(30)
        assert world.written.since(now) == {"a"}


async def test_a_leader_that_is_cut_off_ends_and_the_other_takes_over() -> None:
    async with processes("a", "b") as world:
        world.processes["a"].is_cut = True
        await world.until(lambda: "b" in world.written.terms, within=TAKE_OVER + SEEN_AFTER)
        assert isinstance(world.processes["a"].error, LeadershipLost)
        world.processes["a"].mend()
        await world.turn(30)


@pytest.mark.parametrize("answers", [False, True], ids=["calls", "answers"])
async def test_a_leader_whose_renewals_hang_ends_although_its_other_calls_go_well(answers: bool) -> None:
    async with processes("a", "b") as world:
        leader = world.processes["a"]
        leader.hang(answers=answers)
        took = await world.until(lambda: leader.ended, within=LEASE.lease_duration + LEASE.renew_deadline + 1)
        assert took > LEASE.renew_deadline - LEASE.retry_period
        await world.until(lambda: "b" in world.written.terms, within=TAKE_OVER + SEEN_AFTER)
        leader.mend()
        await world.turn(30)


@pytest.mark.parametrize("hours", [24, -24])
@pytest.mark.parametrize("whose", ["a", "b"])
async def test_setting_the_time_of_day_changes_nothing(whose: str, hours: int) -> None:
    async with processes("a", "b") as world:
        world.processes[whose].clock.ahead = timedelta(hours=hours)
        await world.turn(60)
        world.processes[whose].clock.ahead = timedelta(hours=-hours)
        await world.turn(60)
        assert world.written.terms == ["a"]
        world.processes["a"].kill()
        await world.until(lambda: "b" in world.written.terms, within=TAKE_OVER + SEEN_AFTER)


@pytest.mark.parametrize("rates", [(0.9, 1.0), (1.1, 1.0), (1.0, 0.9), (1.0, 1.1)], ids=str)
async def test_clocks_that_run_a_tenth_too_fast_or_too_slow_let_no_two_write(rates: tuple[float, float]) -> None:
    async with processes("a", "b") as world:
        for process, rate in zip(world.processes.values(), rates, strict=True):
            process.clock.rate = rate
        world.processes["a"].hang(answers=False)
        await world.turn(60)
        assert world.written.terms == ["a", "b"]


async def test_a_leader_whose_clock_leaps_forward_takes_its_lease_for_over() -> None:
    async with processes("a", "b") as world:
        world.processes["a"].clock.jump(20)
        await world.until(lambda: world.processes["a"].ended, within=LEASE.retry_period + 0.2)
        await world.until(lambda: "b" in world.written.terms, within=TAKE_OVER + SEEN_AFTER)


async def test_a_leader_that_is_terminated_gives_the_lease_up_and_the_other_works_after_one_retry() -> None:
    async with processes("a", "b") as world:
        world.processes["a"].terminate()
        await world.until(lambda: "b" in world.written.terms, within=SEEN_AFTER + 1.2)
        assert world.processes["a"].ended
        assert world.processes["a"].error is None


async def test_writes_that_arrive_late_arrive_before_another_leads() -> None:
    async with processes("a", "b") as world:
        world.server.faults.delay(2.0, times=1000, matching=lambda call: call.resource.plural == "configmaps")
        world.processes["a"].hang(answers=False)
        await world.turn(60)
        assert world.written.terms == ["a", "b"]


async def test_without_the_guard_a_leader_that_wakes_up_writes_beside_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Guard, "check", lambda self, what: None)

    async def wakes_up() -> None:
        async with processes("a", "b") as world:
            world.processes["a"].stop()
            await world.until(lambda: "b" in world.written.terms, within=TAKE_OVER + SEEN_AFTER)
            world.processes["a"].go_on()
            await world.turn(1)

    with pytest.raises(AssertionError, match="two wrote"):
        await wakes_up()
