"""Single members against a server in memory: what each promise rests on, one situation at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from prometheus_client import REGISTRY

from kinformer.client.errors import ConnectionLost
from kinformer.clock import FakeClock
from kinformer.leaderelection import ElectionOptions, ElectionRecord
from kinformer.sharding import (
    GroupLeases,
    Load,
    MembershipLost,
    Ranges,
    RangeState,
    Sharding,
    ShardingConflict,
    ShardMember,
    ShardOptionError,
    assignment,
)
from kinformer.sharding.leases import LeaseGone, MemberLock
from tests.sharding.server import LeaseServer, Line, OwnClock

GROUP = "kinformer-manager-shards"


class InstantCaches:
    """Caches that are filled at once, unless they are held up."""

    def __init__(self) -> None:
        self.held: list[frozenset[int]] = []
        self.objects = 0
        self.may_fill = anyio.Event()
        self.may_fill.set()

    def hold(self, numbers: frozenset[int]) -> None:
        self.held.append(numbers)

    async def wait_filled(self) -> None:
        await self.may_fill.wait()


class Group:
    """Members that share a server and a clock."""

    def __init__(self, tasks: Any) -> None:
        self.clock = FakeClock()
        self.server = LeaseServer()
        self._tasks = tasks
        self.lines: dict[str, Line] = {}
        self.clocks: dict[str, OwnClock] = {}
        self.scopes: dict[str, anyio.CancelScope] = {}
        self.caches: dict[str, InstantCaches] = {}
        self.ended: dict[str, BaseException | None] = {}

    def start(
        self,
        name: str,
        *,
        count: int = 8,
        work: Callable[[], Awaitable[object]] = anyio.sleep_forever,
    ) -> ShardMember:
        own = self.clocks[name] = OwnClock(self.clock)
        line = self.lines[name] = Line(self.server, own)
        caches = self.caches[name] = InstantCaches()
        member = ShardMember(
            Sharding(), line.client, caches, ranges=Ranges(count), clock=own, random=lambda: 0.5, name=name
        )
        self.scopes[name] = anyio.CancelScope()

        async def run() -> None:
            self.ended[name] = None
            try:
                with self.scopes[name]:
                    await member.run(work)
            except Exception as error:
                self.ended[name] = error

        self._tasks.start_soon(run)
        return member

    def owners(self) -> dict[str, str]:
        annotations = self.server.leases[GROUP]["metadata"]["annotations"]
        found: dict[str, str] = annotations
        return found


@asynccontextmanager
async def a_group() -> AsyncIterator[Group]:
    async with anyio.create_task_group() as tasks:
        group = Group(tasks)
        try:
            yield group
        finally:
            # Members leave in good order, which takes time of this clock: a failed test must turn it, too.
            for name, scope in group.scopes.items():
                group.clocks[name].go_on()
                scope.cancel()
            await group.clock.advance(30)
            tasks.cancel_scope.cancel()


def opened(member: ShardMember) -> frozenset[int]:
    return member.gate.in_state(RangeState.OPEN)


def should_own(name: str, *names: str) -> frozenset[int]:
    return frozenset(number for number, owner in enumerate(assignment(8, names)) if owner == name)


async def test_the_first_member_owns_every_range() -> None:
    async with a_group() as group:
        member = group.start("a")
        await group.clock.advance(1)
        assert opened(member) == frozenset(range(8))
        assert group.owners()["kinformer.dev/shard-owners"] == '{"a":"0-7"}'


async def test_who_joins_gets_its_ranges_from_the_others_within_a_few_rounds() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(5)
        assert opened(a) == should_own("a", "a", "b")
        assert opened(b) == should_own("b", "a", "b")
        assert group.caches["a"].held[-1] == opened(a)


async def test_a_range_is_given_up_only_when_its_running_syncs_have_ended() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        text = next(f"ns-{it}" for it in range(99) if a.ranges.of(f"ns-{it}") in should_own("b", "a", "b"))
        with a.gate.entered(text, text, lambda: None) as may:
            assert may
            b = group.start("b")
            await group.clock.advance(60)
            assert opened(b) == should_own("b", "a", "b") - {a.ranges.of(text)}
        await group.clock.advance(2)
        assert opened(b) == should_own("b", "a", "b")


async def test_no_key_is_let_in_before_the_caches_are_filled() -> None:
    async with a_group() as group:
        member = group.start("a")
        group.caches["a"].may_fill = anyio.Event()
        await group.clock.advance(5)
        assert member.gate.in_state(RangeState.FILLING) == frozenset(range(8))
        group.caches["a"].may_fill.set()
        await group.clock.advance(0)
        assert opened(member) == frozenset(range(8))


async def test_a_leaving_member_releases_everything_without_a_wait_for_its_lease() -> None:
    async with a_group() as group:
        group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(5)
        group.scopes["a"].cancel()
        await group.clock.advance(3)
        assert opened(b) == frozenset(range(8))
        assert "a" not in group.server.leases
        assert group.ended["a"] is None


async def test_a_leaving_members_ranges_go_singly_while_others_are_served() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(5)
        text = next(f"ns-{it}" for it in range(99) if a.ranges.of(f"ns-{it}") in opened(a))
        with a.gate.entered(text, text, lambda: None):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(a.leave)
                await group.clock.advance(5)
                assert a.gate.held == {a.ranges.of(text)}
                assert len(opened(b)) == 7
                tasks.cancel_scope.cancel()
        await group.clock.advance(3)
        assert len(opened(b)) == 8


async def test_a_dead_member_is_waited_out_for_its_full_lease() -> None:
    async with a_group() as group:
        group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(5)
        group.lines["a"].is_cut = True
        group.clocks["a"].stop()
        mine = opened(b)
        await group.clock.advance(12)
        assert opened(b) == mine
        await group.clock.advance(8)
        assert opened(b) == frozenset(range(8))
        assert "a" not in group.server.leases


async def test_one_who_was_taken_for_dead_finds_its_renewal_refused_and_ends() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        group.start("b")
        await group.clock.advance(5)
        group.clocks["a"].stop()
        await group.clock.advance(20)
        assert not a.guard.is_open
        group.clocks["a"].go_on()
        await group.clock.advance(1)
        assert isinstance(group.ended["a"], MembershipLost)
        assert "a" not in group.server.leases


async def test_a_renewal_just_before_the_taking_keeps_its_sender_alive() -> None:
    async with a_group() as group:
        group.start("a")
        await group.clock.advance(1)
        seen = await GroupLeases(group.lines["a"].client, "kube-system", GROUP).read()
        version = next(member.version for member in seen.members if member.name == "a")
        await group.clock.advance(3)
        leases = GroupLeases(group.lines["a"].client, "kube-system", GROUP)

        assert not await leases.take("a", version)
        assert "a" in group.server.leases


async def test_a_member_with_a_deleted_lease_ends_and_is_waited_out() -> None:
    async with a_group() as group:
        group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(5)
        del group.server.leases["a"]
        await group.clock.advance(4)
        assert isinstance(group.ended["a"], MembershipLost)
        await group.clock.advance(8)
        assert len(opened(b)) < 8
        await group.clock.advance(8)
        assert len(opened(b)) == 8


async def test_a_later_lease_of_the_same_name_is_not_mistaken() -> None:
    clock = FakeClock()
    server = LeaseServer()
    line = Line(server, OwnClock(clock))
    gone: list[str] = []
    lock = MemberLock(line.client, "kube-system", GROUP, "a", on_gone=lambda: gone.append("a"))
    record = ElectionRecord("a", 15, clock.now(), clock.now())
    await lock.create(record)
    late = dict(server.leases.pop("a"))

    with pytest.raises(LeaseGone):
        await lock.create(record)
    server.leases["a"] = {**late, "metadata": {**late["metadata"], "uid": "another"}}
    with pytest.raises(LeaseGone):
        await lock.get()
    assert gone == ["a", "a"]


async def test_of_two_writers_of_the_table_one_conflicts_and_decides_again() -> None:
    async with a_group() as group:
        a = group.start("a")
        b = group.start("b")
        await group.clock.advance(30)
        assert opened(a) == should_own("a", "a", "b")
        assert opened(b) == should_own("b", "a", "b")


async def test_a_range_whose_release_may_still_arrive_is_not_reopened() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        write = a._rounds._leases.write
        sent: list[Any] = []

        async def lost(seen: Any, table: Any) -> None:
            sent.append((seen, table))
            group.server.leases.pop("b", None)  # so that the range is to stay after all
            raise ConnectionLost("memory", "reset")

        a._rounds._leases.write = lost  # type: ignore[method-assign]
        await group.clock.advance(3)
        a._rounds._leases.write = write  # type: ignore[method-assign]  # a stand-in
        assert sent
        changes = group.owners()["kinformer.dev/shard-changes"]
        await group.clock.advance(20)

        assert opened(a) == frozenset(range(8))
        assert group.owners()["kinformer.dev/shard-changes"] > changes
        assert not opened(b)
        with pytest.raises(Exception, match="Conflict"):
            await write(*sent[0])


def lose_the_next_answer(member: ShardMember, meanwhile: Callable[[], object] = lambda: None) -> None:
    """The next table is written, and the member does not hear of it."""
    leases = member._rounds._leases
    write = leases.write

    async def answer_lost(seen: Any, table: Any) -> None:
        leases.write = write  # type: ignore[method-assign]  # a stand-in
        await write(seen, table)
        meanwhile()
        raise ConnectionLost("memory", "reset")

    leases.write = answer_lost  # type: ignore[method-assign]  # a stand-in


async def test_a_claim_with_a_lost_answer_is_found_in_the_table() -> None:
    async with a_group() as group:
        a = group.start("a")
        lose_the_next_answer(a)
        await group.clock.advance(3)
        assert opened(a) == frozenset(range(8))


async def test_giving_up_whose_answer_was_lost_is_no_loss_of_membership() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        lose_the_next_answer(a)
        b = group.start("b")
        await group.clock.advance(6)
        assert group.ended["a"] is None
        assert opened(a) == should_own("a", "a", "b")
        assert opened(b) == should_own("b", "a", "b")


async def test_a_deleted_table_and_lease_are_waited_out_by_their_witnesses() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(0.1)
        assert opened(a) == frozenset(range(8))
        group.lines["a"].is_cut = True  # it does not hear of what follows
        del group.server.leases["a"]
        del group.server.leases[GROUP]
        await group.clock.advance(1)
        assert a.guard.is_open
        assert GROUP in group.server.leases
        await group.clock.advance(13)
        assert not opened(b)
        assert not a.guard.is_open
        await group.clock.advance(8)
        assert opened(b) == frozenset(range(8))


def edit(group: Group, **annotations: str) -> None:
    """Somebody edits the table."""
    table = group.server.leases[GROUP]
    given = {f"kinformer.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    there = table["metadata"]["annotations"]
    group.server._store(
        {**table, "metadata": {**table["metadata"], "annotations": {**there, **given}}}, table["metadata"]["uid"]
    )


async def test_a_range_given_by_an_edited_table_waits_a_lease() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(5)
        mine = opened(b)
        group.lines["a"].is_slow = True  # it does not hear of the edit for 9 s
        edit(group, shard_owners='{"b":"0-7"}')
        for _ in range(15):
            await group.clock.advance(1)
            assert not a.guard.is_open or opened(b) == mine
        assert isinstance(group.ended["a"], MembershipLost)
        await group.clock.advance(13)  # until the Lease of a has run out
        assert opened(b) == frozenset(range(8))


async def test_a_claim_that_never_arrived_is_forgotten_for_another_owner() -> None:
    async with a_group() as group:
        group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        write = b._rounds._leases.write

        async def lost(seen: Any, table: Any) -> None:
            b._rounds._leases.write = write  # type: ignore[method-assign]  # a stand-in
            edit(group, shard_owners='{"c":"0-7"}')
            raise ConnectionLost("memory", "reset")

        b._rounds._leases.write = lost  # type: ignore[method-assign]
        await group.clock.advance(6)
        assert b._rounds._leases.write is write
        edit(group, shard_owners='{"b":"0-7"}')
        for _ in range(30):
            await group.clock.advance(0.1)
            assert not opened(b)


async def test_a_released_range_that_is_edited_back_waits_a_lease() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        write, kept = a._rounds._leases.write, should_own("a", "a", "b")

        async def edited_right_after(seen: Any, table: Any) -> None:
            await write(seen, table)
            a._rounds._leases.write = write  # type: ignore[method-assign]  # a stand-in
            edit(group, shard_owners='{"a":"0-7"}')

        a._rounds._leases.write = edited_right_after  # type: ignore[method-assign]
        group.start("b")
        while a._rounds._leases.write is not write:
            await group.clock.advance(0.1)
        for _ in range(50):
            await group.clock.advance(0.1)
            assert opened(a) <= kept


async def test_a_table_whose_label_is_gone_is_found_and_gets_it_again() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        del group.server.leases[GROUP]["metadata"]["labels"]
        await group.clock.advance(3)
        assert opened(a) == frozenset(range(8))
        assert group.server.leases[GROUP]["metadata"]["labels"] == {"kinformer.dev/shard-group": GROUP}


@pytest.mark.parametrize("how", ["deleted", "damaged"])
async def test_members_whose_table_is_lost_claim_again_what_they_hold(how: str) -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(5)
        before = group.owners()["kinformer.dev/shard-owners"]
        if how == "deleted":
            del group.server.leases[GROUP]
        else:
            edit(group, shard_owners="[" * 99_999)
        await group.clock.advance(3)
        assert group.owners()["kinformer.dev/shard-owners"] == before
        assert (opened(a), opened(b)) == (should_own("a", "a", "b"), should_own("b", "a", "b"))
        assert not a.trouble
        # Somebody who was cut off may hold ranges, too: nothing else is claimed for the time of a Lease.
        group.scopes["a"].cancel()
        await group.clock.advance(11)
        assert opened(b) == should_own("b", "a", "b")
        await group.clock.advance(6)
        assert opened(b) == frozenset(range(8))


async def test_possibly_released_ranges_of_a_lost_table_are_not_reclaimed() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        lose_the_next_answer(a, lambda: edit(group, shard_owners="{}x"))
        group.start("b")
        await group.clock.advance(3)
        assert group.ended["a"] is None
        assert opened(a) == should_own("a", "a", "b")


def both_write(one: ShardMember, other: ShardMember) -> frozenset[int]:
    """The ranges in which two members may sync and write."""
    return opened(one) & opened(other) if one.guard.is_open and other.guard.is_open else frozenset()


async def test_who_cannot_claim_again_after_a_lost_table_stops_before_others_claim() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        b = group.start("b")
        await group.clock.advance(0.1)

        async def lost(seen: Any, table: Any) -> None:
            raise ConnectionLost("memory", "reset")

        a._rounds._leases.write = lost  # type: ignore[method-assign]  # it reads the table and renews its Lease all the same
        del group.server.leases[GROUP]
        for _ in range(200):
            await group.clock.advance(0.1)
            assert not both_write(a, b)
        assert isinstance(group.ended["a"], MembershipLost)
        assert opened(b) >= should_own("b", "a", "b")


async def test_a_guard_closed_by_a_lost_table_stays_closed_after_its_return() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)

        async def lost(seen: Any, table: Any) -> None:
            raise ConnectionLost("memory", "reset")

        a._rounds._leases.write = lost  # type: ignore[method-assign]
        edit(group, shard_owners="{}x")
        await group.clock.advance(8)
        group.lines["a"].is_slow = True  # the next list comes when the guard is closed
        await group.clock.advance(5)
        assert not a.guard.is_open
        edit(group, shard_owners='{"a":"0-7"}')
        for _ in range(20):
            await group.clock.advance(1)
            assert not a.guard.is_open
        assert isinstance(group.ended["a"], MembershipLost)


async def test_a_range_given_away_by_a_waiting_table_is_not_taken_back() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        group.start("b")
        await group.clock.advance(5)
        edit(group, shard_owners='{"b":"0-7"}', shard_waits="1")
        await group.clock.advance(3)
        assert not a.guard.is_open
        assert isinstance(group.ended["a"], MembershipLost)
        assert group.owners()["kinformer.dev/shard-owners"] == '{"b":"0-7"}'


async def test_an_abandoned_lease_of_68_years_blocks_no_range() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        metadata = {"name": "ghost", "labels": {"kinformer.dev/shard-group": GROUP}}
        spec = {"holderIdentity": "ghost", "leaseDurationSeconds": 2**31 - 1}
        group.server._store({"metadata": metadata, "spec": spec}, "ghost")
        await group.clock.advance(14)
        assert opened(a) < frozenset(range(8))
        await group.clock.advance(20)
        assert opened(a) == frozenset(range(8))

        edit(group, shard_owners='{"a":"0-3","ghost":"4-7"}')
        await group.clock.advance(3)
        assert isinstance(group.ended["a"], MembershipLost)
        b = group.start("b")
        await group.clock.advance(66)
        assert opened(b) == frozenset(range(8))


async def test_one_who_comes_with_another_number_of_shards_is_told_so() -> None:
    async with a_group() as group:
        group.start("a")
        await group.clock.advance(1)
        group.start("b", count=9)
        await group.clock.advance(3)
        assert isinstance(group.ended["b"], ShardingConflict)
        assert "has --shards 8, and this process 9" in str(group.ended["b"])
        assert "b" not in group.server.leases


async def test_a_cut_syncs_last_write_has_time_before_its_range_is_released() -> None:
    async with a_group() as group:

        async def work() -> None:
            await anyio.lowlevel.checkpoint()
            while not a.gate.in_state(RangeState.OPEN):
                await group.clocks["a"].sleep(0.1)
            with a.gate.entered("default", "default/a", lambda: None):
                await anyio.sleep_forever()

        a = group.start("a", work=work)
        await group.clock.advance(5)
        group.scopes["a"].cancel()
        options = ElectionOptions()
        await group.clock.advance(options.lease_seconds - options.write_duration - 0.1)
        assert len(a.gate.held) == 8
        await group.clock.advance(0.2)
        assert not a.gate.held


async def test_what_is_known_of_the_group_is_there_to_be_looked_at() -> None:
    async with a_group() as group:
        a = group.start("a")
        await group.clock.advance(1)
        group.start("b")
        await group.clock.advance(5)
        snapshot = a.snapshot()
        assert snapshot.member == "a"
        assert snapshot.shards == 8
        assert snapshot.may_write
        assert [member.name for member in snapshot.members] == ["a", "b"]
        assert all(member.live for member in snapshot.members)
        assert sorted(number for member in snapshot.members for number in member.ranges) == list(range(8))
        assert set(snapshot.states.values()) == {"open"}


async def test_every_member_knows_how_unevenly_objects_and_syncs_lie() -> None:
    async with a_group() as group:
        a, b = group.start("a"), group.start("b")
        await group.clock.advance(20)
        group.caches["a"].objects, group.caches["b"].objects = 30, 10
        text = next(f"ns-{it}" for it in range(99) if b.ranges.of(f"ns-{it}") in opened(b))
        with b.gate.entered(text, text, lambda: None) as may:
            assert may
        await group.clock.advance(5)

        for member in (a, b):
            snapshot = member.snapshot()
            assert [it.load for it in snapshot.members] == [Load(30, 0), Load(10, 1)]
            assert (snapshot.object_skew, snapshot.sync_skew) == (1.5, 2.0)
        labels = {"group": GROUP, "of": "objects"}
        assert REGISTRY.get_sample_value("kinformer_shard_skew", labels) == 1.5


async def test_a_member_whose_load_somebody_edited_says_none() -> None:
    async with a_group() as group:
        a, _ = group.start("a"), group.start("b")
        await group.clock.advance(5)
        lease = group.server.leases["b"]
        group.lines["b"].is_cut = True
        edited = {**lease["metadata"], "annotations": {"kinformer.dev/shard-load": '{"objects":"many"}'}}
        group.server._store({**lease, "metadata": edited}, lease["metadata"]["uid"])
        await group.clock.advance(3)

        assert [member.load for member in a.snapshot().members] == [Load(), None]


def test_there_are_64_to_1024_shards() -> None:
    with pytest.raises(ShardOptionError, match="the number of shards is 8: want 64 to 1024"):
        Sharding(shards=8)
    with pytest.raises(ShardOptionError, match="is to last 61 s: want at most 60 s"):
        Sharding(options=ElectionOptions(61, 10, 2))


def test_a_member_is_named_after_its_pod_and_anew_after_restart() -> None:
    sharding = Sharding(identity="Web_1.example")
    names = {sharding.new_member() for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("kinformer-manager-shards-web-1-example-") for name in names)
