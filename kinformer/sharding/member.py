"""ShardMember: one process that syncs the keys of its ranges, and hands ranges over as members come and go.

What is promised: of any key, there is one process at most that syncs it and may write. A process may let a key in only
while both of these hold, and each range has one owner by the first and is safe from its former owner by the second:

1. the table says that the range is its own (written by compare-and-swap), and
2. its guard is open: it renewed its own Lease and read the table, and began both less than the write duration ago.

A member goes through rounds. In each it reads the group's Leases in one request, makes a plan
(:mod:`kinformer.sharding.plan`) and carries it out with one write of the table at most:

- It gives up a range when the gate is shut and the last running sync has ended.
- It claims a range that nobody owns. Then its caches are filled with what is there *after* the claim was written. That
  is as new as the last write of the former owner. Then the gate opens.
- An owner whose Lease has not changed for its full duration is over. Its Lease is deleted first, if it is still as it
  was seen; so a renewal that is on its way fails. Only then are its ranges free.

A write of the table whose answer was lost may still arrive. A range that was to be given up with it is not opened again
before another write of the table has succeeded: after that, what is late finds another version.
"""

from __future__ import annotations

import random as _random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Protocol

import anyio

from kinformer.cache.tasks import plain_task_group
from kinformer.client import Client, ClientError, Conflict
from kinformer.client.errors import AlreadyExists
from kinformer.clock import Clock, RealClock
from kinformer.leaderelection import Guard, LeaderElector, LeadershipLost, LeaseKeeper, guarded_client
from kinformer.logs import get_logger
from kinformer.sharding.gate import RangeGate
from kinformer.sharding.hashing import Ranges
from kinformer.sharding.leases import GroupLeases, MemberLock, Seen
from kinformer.sharding.metrics import ShardMetrics
from kinformer.sharding.options import Sharding
from kinformer.sharding.plan import Plan, make_plan
from kinformer.sharding.sightings import Sightings
from kinformer.sharding.snapshot import MemberSnapshot, ShardsSnapshot
from kinformer.sharding.table import ShardCountConflict, Table, TableError

__all__ = ("MembershipLost", "RangeCaches", "ShardMember")

log = get_logger(__name__)


class MembershipLost(Exception):
    """
    This process was a member of a group, and is so no more: its ranges are others' by now, or soon will be.

    :param group: the group
    """

    def __init__(self, group: str, member: str, why: str) -> None:
        super().__init__(f"{member} is no member of {group} any more: {why}")
        self.group = group


class RangeCaches(Protocol):
    """The caches of a member, which hold the objects of its ranges."""

    def hold(self, numbers: frozenset[int]) -> None:
        """From now on, hold the objects of these ranges: get those that are not there, let go of all others."""

    async def wait_filled(self) -> None:
        """
        Let go of what is not to be held any more, and return once all is there that is to be: in a state that is not
        older than the last call of :meth:`hold`.
        """


class MemberGuard(Guard):
    """A guard that is closed also when the table was not read for too long: somebody may have deleted it."""

    __slots__ = ("table_until",)

    def __init__(self, lease: str, now: Callable[[], float]) -> None:
        super().__init__(lease, now)
        #: Until when it may be written by what the table said. No end before it was read: nothing is owned then.
        self.table_until = inf

    @property
    def is_open(self) -> bool:
        """Whether it may be written now."""
        return super().is_open and self._now() < self.table_until


class ShardMember:
    """
    One member, which runs once.

    :param client: for the table; the member's Lease is renewed with that of `sharding`, or else with this one
    :param caches: what holds the objects; asked for nothing before :meth:`run`
    :ivar guard: open while this process may write
    :ivar gate: which keys may be synced here now
    """

    def __init__(
        self,
        sharding: Sharding,
        client: Client,
        caches: RangeCaches,
        *,
        ranges: Ranges | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] = _random.random,
        name: str = "",
    ) -> None:
        self._clock = clock or RealClock()
        self._random = random
        self._options = options = sharding.options
        self._caches = caches
        #: What this member is called, as its Lease is.
        self.name = name or sharding.new_member()
        self.ranges = ranges or Ranges(sharding.shards)
        renewing = sharding.client or client
        self._lock = MemberLock(
            renewing, sharding.namespace, sharding.group, self.name, on_gone=lambda: self._lose("its Lease was taken")
        )
        keeper = LeaseKeeper(self._lock, options, name=sharding.group, clock=self._clock)
        self.elector = LeaderElector(keeper, clock=self._clock, random=random)
        self._now = keeper.now
        self.guard = self.elector.guard = MemberGuard(self._lock.describe(), keeper.now)
        self._leases = GroupLeases(guarded_client(client, self.guard), sharding.namespace, sharding.group)
        self._own_lease = GroupLeases(renewing, sharding.namespace, sharding.group)
        self.group = self._leases.describe()
        self.gate = RangeGate(self.ranges, lambda: self.guard.is_open, self._wake)
        self._sightings = Sightings(options.lease_seconds)
        self._table: Table | None = None
        #: Whether a write of the table may still arrive of which nobody knows whether it will.
        self._uncertain = False
        #: The ranges that were to be given up with it.
        self._giving: frozenset[int] = frozenset()
        #: The table that says that it waits, and since when that is known here.
        self._waits_for = ""
        self._waiting_since = 0.0
        self._leaving = False
        self._failing = False
        self._lost = ""
        self._scope: anyio.CancelScope | None = None
        self._wakes = anyio.Event()
        self._fills = anyio.Event()
        self._first_round = anyio.Event()
        self._empty = anyio.Event()
        self._log = log.bind(group=self.group, member=self.name)
        self._metrics = ShardMetrics(sharding.group)

    # --- what is known

    @property
    def has_joined(self) -> bool:
        """Whether it is a member, and has claimed what there was to claim."""
        return self._first_round.is_set()

    async def wait_joined(self) -> None:
        """Return once :attr:`has_joined` is true."""
        await self._first_round.wait()

    def snapshot(self) -> ShardsSnapshot:
        """Members and ranges, as this member saw them last."""
        now = self._now()
        table = self._table or Table.empty(len(self.ranges))
        live = self._sightings.live(now)
        members = (
            MemberSnapshot(
                name=name,
                live=name in live,
                leaving=(lease := self._sightings.lease(name)) is not None and lease.leaving,
                ranges=tuple(sorted(table.of(name))),
                seconds_since_renewal=self._sightings.seconds_since_change(name, now),
            )
            for name in sorted(self._sightings.names)
        )
        return ShardsSnapshot(
            group=self.group,
            member=self.name,
            shards=len(self.ranges),
            may_write=self.guard.is_open,
            members=tuple(members),
            states={number: state.value for number, state in self.gate.states.items()},
            unowned=tuple(sorted(table.of(""))),
            running=self.gate.running,
        )

    # --- life

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """
        Join the group, do the work for as long as this is a member, and leave in good order when this is cancelled.

        :param work: is cancelled when membership is lost. Keys are synced only as :attr:`gate` lets them in
        :raises MembershipLost: once the work has ended, if it was lost
        :raises ShardCountConflict: if the group has another number of ranges
        """
        try:
            with anyio.CancelScope() as self._scope:
                await self.elector.run(partial(self._belong, work))
        except LeadershipLost as lost:
            raise MembershipLost(self.group, self.name, str(lost)) from lost
        finally:
            self.guard.close()
            self._metrics.tell(members=0, owned=0)
            if not self.gate.held:
                # Nothing is owned any more: nobody has to wait for this Lease to run out.
                await self._shielded(self._options.renew_deadline, partial(self._own_lease.remove, self.name))
        if self._lost:
            raise MembershipLost(self.group, self.name, self._lost)

    async def leave(self) -> None:
        """
        Give up all ranges, each as soon as its running syncs have ended. Return when none is left.

        A range of which a sync is cancelled meanwhile is left: it goes after :meth:`run` has ended its work.
        """
        self._leaving = True
        self._lock.leave()
        self.gate.drain(self.gate.held)
        self._wake()
        if self.gate.held:
            await self._empty.wait()

    async def _belong(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await self._take_part(work)
        finally:
            if self.guard.is_open and not self._lost:
                await self._shielded(self._options.renew_deadline, self._give_all_up)

    async def _take_part(self, work: Callable[[], Awaitable[object]]) -> None:
        async with plain_task_group() as tasks:
            tasks.start_soon(self._go_through_rounds, name=f"rounds of {self.name}")
            tasks.start_soon(self._fill, name=f"caches of {self.name}")
            try:
                await work()
            finally:
                tasks.cancel_scope.cancel()

    async def _give_all_up(self) -> None:
        """Leave, once the work has ended: nothing runs any more."""
        self._leaving = True
        self.gate.drain(self.gate.held)
        if self.gate.has_cut:
            # A sync was cancelled, perhaps with a write on its way: it has as long to arrive as after a lost Lease.
            await self._clock.sleep(self._options.lease_seconds - self._options.write_duration)
            self.gate.forget_cuts()
        while self.gate.held and self.guard.is_open:
            await self._try_round()
            if self.gate.held:
                await self._clock.sleep(self._options.retry_period / 4)

    async def _shielded(self, seconds: float, call: Callable[[], Awaitable[object]]) -> None:
        """Do this whoever cancels us, for so long at most."""
        with anyio.CancelScope(shield=True) as scope:
            timer = self._clock.call_later(seconds, scope.cancel)
            try:
                await call()
            except ClientError as error:
                self._log.warning("shard_member_not_left", error=str(error))
            finally:
                timer.cancel()

    def _lose(self, why: str) -> None:
        self.guard.close()
        self._lost = self._lost or why
        self._log.error("membership_lost", why=why)
        if self._scope is not None:
            self._scope.cancel()

    def _wake(self) -> None:
        self._wakes.set()

    # --- rounds

    async def _go_through_rounds(self) -> None:
        while True:
            self._wakes = anyio.Event()
            settled = await self._try_round()
            self.gate.let_waiting_in()
            period = self._options.retry_period * (0.9 + 0.2 * self._random())
            await self._pause(period if settled else period / 4)

    async def _pause(self, seconds: float) -> None:
        with anyio.CancelScope() as scope:
            timer = self._clock.call_later(seconds, scope.cancel)
            try:
                await self._wakes.wait()
            finally:
                timer.cancel()

    async def _try_round(self) -> bool:
        """One round; whether there is nothing left to be done. What went wrong is logged."""
        with anyio.CancelScope() as scope:
            timer = self._clock.call_later(self._options.renew_deadline, scope.cancel)
            try:
                return await self._round()
            except (Conflict, AlreadyExists):
                self._log.debug("shard_table_conflict")
            except (ClientError, TableError) as error:
                # Once, and not at each try while the server is gone.
                (self._log.debug if self._failing else self._log.error)("shard_round_failed", error=str(error))
                self._failing = True
            finally:
                timer.cancel()
        if self._now() >= self.guard.table_until:
            self._lose("the table could not be read")
        return False

    async def _round(self) -> bool:
        began = self._now()
        seen = await self._leases.read()
        now = self._now()
        table = self._checked(seen)
        if not self._agrees(table):
            self._lose("others took its ranges")
            return True
        self.guard.table_until = began + self._options.write_duration
        # Where there is no table any more, whoever was seen may own something.
        owners = table.members if seen.table is not None else self._sightings.names
        self._sightings.look(seen.members, owners, now)
        live = self._sightings.live(now)
        live = live - {self.name} if self._leaving else live | {self.name}
        over = {name for name in self._sightings.names if self._sightings.is_over(name, now)}
        plan = make_plan(self.name, table, live, over, self.gate.held, self.gate.draining)
        self.gate.drain(plan.drain)
        fenced = await self._fence(plan.over)
        await self._carry_out(seen, table, plan, fenced)
        self._metrics.tell(members=len(live), owned=len(self.gate.held))
        self._failing = False
        self._first_round.set()
        return plan.settled and not table.waits

    def _checked(self, seen: Seen) -> Table:
        if seen.table is None:
            others = {member.name for member in seen.members} | self._sightings.names
            return Table.empty(len(self.ranges), waits=bool(others - {self.name}))
        if len(seen.table.owners) != len(self.ranges):
            raise ShardCountConflict(self.group, len(seen.table.owners), len(self.ranges))
        return seen.table

    def _agrees(self, table: Table) -> bool:
        """Whether the table has all that this member takes for its own, but for what it may have given up itself."""
        missing = self.gate.held - table.of(self.name)
        if missing - self._giving:
            return False
        self._giving = frozenset()
        self._gave_up(missing)
        return True

    def _may_claim(self, seen: Seen, table: Table) -> bool:
        if self._leaving:
            return False
        if not table.waits:
            return True
        if seen.lease is None:
            return False
        uid, now = seen.lease["metadata"]["uid"], self._now()
        if self._waits_for != uid:
            self._waits_for, self._waiting_since = uid, now
        return now - self._waiting_since >= self._options.lease_seconds

    async def _fence(self, over: frozenset[str]) -> frozenset[str]:
        """Those of them that can renew their Leases no more."""
        fenced = []
        for name in over:
            lease = self._sightings.lease(name)
            # Without a Lease there is nothing to be renewed, and no member makes its Lease anew.
            if lease is None or await self._leases.take(name, lease.version):
                self._log.warning("shard_member_over", over=name)
                self._sightings.took(name)
                fenced.append(name)
        return frozenset(fenced)

    async def _carry_out(self, seen: Seen, table: Table, plan: Plan, fenced: frozenset[str]) -> None:
        give = self.gate.drained - plan.keep
        after = table.with_owner(give, "")
        for name in fenced:
            after = after.with_owner(after.of(name), "")
        claim = frozenset[int]()
        if self._may_claim(seen, table):
            claim = (plan.wanted & after.of("")) - give
            after = replace(after.with_owner(claim, self.name), waits=False)
        # What may still arrive finds another version once this is written.
        to_be_sure = self._uncertain and plan.keep
        if after != table or seen.lease is None or to_be_sure:
            self._giving = give
            await self._write(seen, after.touched())
            self._giving = frozenset()
        self._table = after
        self.gate.keep(plan.keep)
        self._gained(claim | plan.adopt)
        self._gave_up(give)

    async def _write(self, seen: Seen, table: Table) -> None:
        certain = False
        try:
            await self._leases.write(seen, table)
            certain = True
            self._uncertain = False
        except (Conflict, AlreadyExists):
            # Somebody else's came first, or a first try of this one did. Either way none of it is to arrive any more.
            certain = True
            self._uncertain = False
            raise
        finally:
            if not certain:
                self._uncertain = True

    def _gained(self, numbers: frozenset[int]) -> None:
        if not numbers:
            return
        self._log.info("shards_claimed", shards=len(numbers))
        self._metrics.claimed.inc(len(numbers))
        self.gate.claim(numbers)
        self._caches.hold(self.gate.held)
        self._fills.set()

    def _gave_up(self, numbers: frozenset[int]) -> None:
        if not numbers:
            return
        self._log.info("shards_given_up", shards=len(numbers))
        self._metrics.given_up.inc(len(numbers))
        self.gate.gave_up(numbers)
        self._caches.hold(self.gate.held)
        self._fills.set()
        if self._leaving and not self.gate.held:
            self._empty.set()

    # --- caches

    async def _fill(self) -> None:
        while True:
            await self._fills.wait()
            self._fills = anyio.Event()
            claims = self.gate.unfilled
            await self._caches.wait_filled()
            self.gate.filled(claims)
