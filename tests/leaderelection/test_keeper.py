from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from kinformer.client import ClientError
from kinformer.clock import FakeClock
from kinformer.leaderelection import (
    ElectionOptionError,
    ElectionOptions,
    ElectionRecord,
    LeaderElector,
    LeaderHealthzAdaptor,
    LeaseKeeper,
)
from tests.leaderelection.locks import MemoryLock, Shared
from tests.metrics import metric_value


def keeper_of(shared: Shared, clock: FakeClock, identity: str = "me", *, patient: bool = True) -> LeaseKeeper:
    return LeaseKeeper(MemoryLock(shared, identity), clock=clock, waits_out_edits=patient)


def calls(keeper: LeaseKeeper) -> list[str]:
    lock = keeper.lock
    assert isinstance(lock, MemoryLock)
    made, lock.calls = lock.calls, []
    return made


def failing(keeper: LeaseKeeper, *names: str) -> None:
    lock = keeper.lock
    assert isinstance(lock, MemoryLock)

    async def fail(name: str) -> None:
        if name in names:
            raise ClientError(f"{name} fails")

    lock.before = fail


def held_by(holder: str, transitions: int = 0, seconds: int = 15) -> ElectionRecord:
    return ElectionRecord(holder, seconds, leader_transitions=transitions)


async def test_a_lease_that_is_not_there_is_made() -> None:
    shared, clock = Shared(), FakeClock()
    keeper = keeper_of(shared, clock)

    assert await keeper.try_acquire_or_renew()

    assert calls(keeper) == ["get", "create"]
    assert shared.record == ElectionRecord("me", 15, clock.now(), clock.now(), 0)
    assert keeper.is_leader
    assert keeper.held_for == 15


async def test_a_lease_that_nobody_holds_is_taken_at_once() -> None:
    shared, clock = Shared(held_by("", transitions=4)), FakeClock()
    keeper = keeper_of(shared, clock)

    assert await keeper.try_acquire_or_renew()

    assert calls(keeper) == ["get", "update"]
    assert shared.record is not None
    assert shared.record.leader_transitions == 5


@pytest.mark.parametrize("off", [timedelta(days=-3), timedelta(0), timedelta(days=3)])
async def test_anothers_lease_is_waited_out_from_when_it_was_seen(off: timedelta) -> None:
    shared, clock = Shared(), FakeClock()
    theirs = clock.now() + off
    shared.write(ElectionRecord("you", 15, theirs, theirs, 1))
    keeper = keeper_of(shared, clock)

    assert not await keeper.try_acquire_or_renew()
    clock.turn(14.9)
    assert not await keeper.try_acquire_or_renew()
    clock.turn(0.1)
    assert await keeper.try_acquire_or_renew()

    assert shared.record == ElectionRecord("me", 15, clock.now(), clock.now(), 2)


async def test_each_change_that_is_seen_begins_the_waiting_anew() -> None:
    shared, clock = Shared(held_by("you")), FakeClock()
    keeper = keeper_of(shared, clock)
    for _ in range(5):
        shared.write(ElectionRecord("you", 15, None, clock.now()))
        assert not await keeper.try_acquire_or_renew()
        clock.turn(14)

    assert shared.holder == "you"


async def test_a_lease_is_waited_out_for_its_holders_duration() -> None:
    shared, clock = Shared(held_by("you", seconds=60)), FakeClock()
    keeper = keeper_of(shared, clock)
    assert not await keeper.try_acquire_or_renew()
    clock.turn(59)
    assert not await keeper.try_acquire_or_renew()
    clock.turn(1)
    assert await keeper.try_acquire_or_renew()


async def test_a_leader_renews_with_one_call_and_keeps_since_when_it_leads() -> None:
    shared, clock = Shared(held_by("", transitions=2)), FakeClock()
    keeper = keeper_of(shared, clock)
    await keeper.try_acquire_or_renew()
    since = clock.now()
    calls(keeper)
    clock.turn(2)

    assert await keeper.try_acquire_or_renew()

    assert calls(keeper) == ["update"]
    assert shared.record == ElectionRecord("me", 15, since, clock.now(), 3)


async def test_a_failed_renewal_is_read_tried_again_and_counted() -> None:
    shared, clock = Shared(), FakeClock()
    keeper = LeaseKeeper(MemoryLock(shared), clock=clock, name="counted")
    await keeper.try_acquire_or_renew()
    shared.write(shared.record)  # somebody has set a label
    calls(keeper)

    assert await keeper.try_acquire_or_renew()

    assert calls(keeper) == ["update", "get", "update"]
    assert metric_value("leader_election_slowpath_total", {"name": "counted"}) == 1


async def test_a_leader_whose_lease_has_run_out_reads_before_it_writes() -> None:
    shared, clock = Shared(), FakeClock()
    keeper = keeper_of(shared, clock)
    await keeper.try_acquire_or_renew()
    calls(keeper)
    clock.turn(15)

    assert await keeper.try_acquire_or_renew()
    assert calls(keeper) == ["get", "update"]


async def test_a_leader_that_finds_another_in_its_place_leads_no_more() -> None:
    shared, clock = Shared(), FakeClock()
    keeper = keeper_of(shared, clock)
    await keeper.try_acquire_or_renew()
    shared.write(held_by("you", 1))

    assert not await keeper.try_acquire_or_renew()
    assert not keeper.is_leader
    assert keeper.held_for < 0
    assert keeper.leader == "you"


@pytest.mark.parametrize("name", ["get", "create", "update"])
async def test_a_call_that_fails_is_a_try_that_failed(name: str) -> None:
    shared, clock = Shared(None if name == "create" else held_by("")), FakeClock()
    keeper = keeper_of(shared, clock)
    failing(keeper, name)

    assert not await keeper.try_acquire_or_renew()
    assert not keeper.is_leader


async def test_a_write_holds_from_its_sending_however_late_the_answer() -> None:
    shared, clock = Shared(), FakeClock()
    lock = MemoryLock(shared)
    keeper = LeaseKeeper(lock, clock=clock)
    await keeper.try_acquire_or_renew()

    async def slow(name: str) -> None:
        clock.turn(9)

    lock.before = slow
    assert await keeper.try_acquire_or_renew()

    assert keeper.held_for == 15 - 9


async def test_a_deleted_lease_is_left_alone_while_its_holder_may_write() -> None:
    clock = FakeClock()
    shared = Shared(ElectionRecord("you", 15, clock.now(), clock.now()))
    patient = keeper_of(shared, clock)
    assert not await patient.try_acquire_or_renew()
    clock.turn(2)  # "you" may have renewed it right before
    shared.write(None)

    assert not await patient.try_acquire_or_renew()
    clock.turn(14.9)
    assert not await patient.try_acquire_or_renew()
    # The holder makes it again, and it is deleted again.
    shared.write(ElectionRecord("you", 15, clock.now(), clock.now()))
    assert not await patient.try_acquire_or_renew()
    shared.write(None)
    assert not await patient.try_acquire_or_renew()
    clock.turn(14.9)
    assert not await patient.try_acquire_or_renew()
    clock.turn(0.1)
    assert await patient.try_acquire_or_renew()


@pytest.mark.parametrize(
    ("how", "waits"),
    [
        ({"holder_identity": ""}, 15),
        ({"holder_identity": "", "lease_duration_seconds": 0, "acquire_time": None, "renew_time": None}, 15),
        ({"lease_duration_seconds": 1}, 15),
        ({"holder_identity": "", "lease_duration_seconds": 1}, 15),
        # What client-go and this keeper write when they give a lease up.
        ({"holder_identity": "", "lease_duration_seconds": 1, "acquire_time": FakeClock().now()}, 0),
    ],
)
async def test_a_hand_edited_lease_is_waited_out_and_a_release_is_not(how: dict[str, Any], waits: float) -> None:
    clock = FakeClock()
    record = ElectionRecord("you", 15, clock.now() - timedelta(hours=1), clock.now())
    shared = Shared(record)
    keeper, hasty = keeper_of(shared, clock), keeper_of(shared, clock, "hasty", patient=False)
    assert not await keeper.try_acquire_or_renew()
    clock.turn(2)
    shared.write(replace(record, **how))

    if waits:
        assert not await keeper.try_acquire_or_renew()
        clock.turn(waits - 0.1)
        assert not await keeper.try_acquire_or_renew()
        clock.turn(0.1)
    assert await keeper.try_acquire_or_renew()
    shared.write(replace(record, **how))
    await hasty.try_acquire_or_renew()
    clock.turn(1)
    assert await hasty.try_acquire_or_renew()


async def test_a_holder_whose_lease_was_cleared_takes_it_back_at_once() -> None:
    shared, clock = Shared(), FakeClock()
    keeper = keeper_of(shared, clock)
    await keeper.try_acquire_or_renew()
    assert shared.record is not None
    shared.write(replace(shared.record, holder_identity=""))

    assert await keeper.try_acquire_or_renew()
    assert shared.holder == "me"


async def test_a_process_that_missed_the_holder_waits_for_a_cleared_lease() -> None:
    clock = FakeClock()
    keeper = keeper_of(Shared(ElectionRecord("", 15, clock.now() - timedelta(hours=1), clock.now())), clock)

    assert not await keeper.try_acquire_or_renew()
    clock.turn(14.9)
    assert not await keeper.try_acquire_or_renew()
    clock.turn(0.1)
    assert await keeper.try_acquire_or_renew()


async def test_a_second_edit_does_not_shorten_the_wait_but_a_release_does() -> None:
    clock = FakeClock()
    record = ElectionRecord("you", 15, clock.now() - timedelta(hours=1), clock.now())
    shared = Shared(record)
    keeper = keeper_of(shared, clock)
    for written in (
        record,
        replace(record, holder_identity=""),
        replace(record, holder_identity="else", lease_duration_seconds=1),
    ):
        shared.write(written)
        assert not await keeper.try_acquire_or_renew()
    clock.turn(14.9)
    assert not await keeper.try_acquire_or_renew()

    shared.write(ElectionRecord("", 1, clock.now(), clock.now()))
    assert await keeper.try_acquire_or_renew()


@pytest.mark.parametrize(("own", "waits"), [(15, 60), (90, 90)])
async def test_a_cleared_lease_of_68_years_is_waited_out_for_a_minute(own: int, waits: int) -> None:
    clock = FakeClock()
    record = ElectionRecord("you", 2**31 - 1, clock.now(), clock.now())
    shared = Shared(record)
    keeper = LeaseKeeper(MemoryLock(shared, "me"), ElectionOptions(own), clock=clock)
    assert not await keeper.try_acquire_or_renew()
    shared.write(replace(record, holder_identity=""))

    assert not await keeper.try_acquire_or_renew()
    clock.turn(waits - 0.1)
    assert not await keeper.try_acquire_or_renew()
    clock.turn(0.1)
    assert await keeper.try_acquire_or_renew()


# --- giving it up


async def test_a_release_leaves_the_lease_without_holder_for_whoever_comes_next() -> None:
    shared, clock = Shared(), FakeClock()
    one, two = keeper_of(shared, clock, "one"), keeper_of(shared, clock, "two")
    await one.try_acquire_or_renew()
    calls(one)

    assert await one.try_release()

    assert calls(one) == ["get", "update"]
    assert shared.record == ElectionRecord("", 1, clock.now(), clock.now(), 0)
    assert not one.is_leader
    assert await two.try_acquire_or_renew()


async def test_a_release_does_not_empty_a_lease_that_another_has_taken_since() -> None:
    shared, clock = Shared(), FakeClock()
    one, two = keeper_of(shared, clock, "one"), keeper_of(shared, clock, "two")
    await one.try_acquire_or_renew()
    await two.try_acquire_or_renew()
    clock.turn(15)
    assert await two.try_acquire_or_renew()
    assert one.is_leader  # as far as it remembers

    assert await one.try_release()

    assert shared.holder == "two"
    assert not one.is_leader


async def test_a_release_that_meets_a_conflict_looks_again() -> None:
    shared, clock = Shared(), FakeClock()
    lock = MemoryLock(shared)
    keeper = LeaseKeeper(lock, clock=clock)
    await keeper.try_acquire_or_renew()
    lock.calls.clear()

    async def meanwhile(name: str) -> None:
        if name == "update" and lock.calls.count("update") == 1:
            shared.write(shared.record)

    lock.before = meanwhile

    assert await keeper.try_release()
    assert lock.calls == ["get", "update", "get", "update"]
    assert shared.holder == ""


@pytest.mark.parametrize("name", ["get", "update"])
async def test_a_release_that_fails_says_so(name: str) -> None:
    shared, clock = Shared(), FakeClock()
    keeper = keeper_of(shared, clock)
    await keeper.try_acquire_or_renew()
    failing(keeper, name)

    assert not await keeper.try_release()
    assert keeper.is_leader


async def test_there_is_nothing_to_release_where_there_is_no_lease() -> None:
    shared, clock = Shared(), FakeClock()
    keeper = keeper_of(shared, clock)
    await keeper.try_acquire_or_renew()
    shared.write(None)

    assert not await keeper.try_release()


# --- whether all is well


async def test_a_leader_is_unhealthy_some_time_after_its_lease_ran_out() -> None:
    shared, clock = Shared(), FakeClock()
    health = LeaderHealthzAdaptor(5)
    assert health.is_healthy()
    keeper, follower = keeper_of(shared, clock), keeper_of(shared, clock, "follower")
    health.set_leader_election(LeaderElector(keeper, clock=clock))
    assert health.is_healthy()
    await keeper.try_acquire_or_renew()
    await follower.try_acquire_or_renew()

    clock.turn(20)
    assert health.is_healthy()
    clock.turn(1)
    assert not health.is_healthy()
    follower.check(5)

    await keeper.try_acquire_or_renew()
    assert health.is_healthy()


def test_a_candidate_needs_an_identity() -> None:
    with pytest.raises(ValueError, match="test/lease has no identity"):
        LeaseKeeper(MemoryLock(Shared(), ""))


@pytest.mark.parametrize(
    ("times", "why"),
    [
        ((10, 10, 2), "not longer than the renew deadline"),
        ((10.5, 10, 2), "not longer than the renew deadline"),
        ((15, 2.4, 2), "not longer than 1.2 times the retry period"),
        ((0.9, 0.5, 0.1), "at least 1 s"),
        ((15, 10, 0), "more than 0"),
        ((15, -1, 2), "not longer than 1.2 times the retry period"),
    ],
)
def test_times_that_do_not_fit_together_are_refused(times: tuple[float, float, float], why: str) -> None:
    with pytest.raises(ElectionOptionError, match=why):
        ElectionOptions(*times)


async def test_a_cancelled_try_does_not_count_as_a_renewal() -> None:
    shared, clock = Shared(), FakeClock()
    lock = MemoryLock(shared)
    keeper = LeaseKeeper(lock, clock=clock)
    await keeper.try_acquire_or_renew()

    async def hang(name: str) -> None:
        await anyio.sleep_forever()

    lock.before = hang
    clock.turn(5)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await keeper.try_acquire_or_renew()

    assert keeper.held_for == 10
