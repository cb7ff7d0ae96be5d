"""ShardMember: one process that syncs the keys of its ranges, and hands ranges over as members come and go.

It guarantees that at most one process syncs a given key and may write. A process may sync a key only while both of
these hold. By the first, each range has one owner. By the second, it is safe from writes of its former owner:

1. the table says that the range is its own (written by compare-and-swap), and
2. its guard is open: it renewed its own Lease and read the table, and began both less than the write duration ago.

A member works in rounds. In each it reads the group's Leases in one request, makes a plan
(:mod:`kinformer.sharding.plan`), and carries it out with at most one write of the table:

- It gives up a range when the gate is closed for it and the last running sync has ended.
- It claims a range without an owner. Then its caches are filled with a state that is read *after* the claim was
  written, so it includes the last write of the former owner. Then the gate opens.
- An owner whose Lease has not changed for its full duration has expired. Its Lease is deleted first, if it has not
  changed since it was seen, so that a renewal on its way fails. Only then are its ranges free.

Somebody may edit the table. A range that it gives to a member which did not claim it is left alone for the duration of
a Lease: by then the former owner has read the table and ended, or its guard is closed. If the table was deleted or
cannot be read, a member writes a new one, and each claims the ranges again that it holds. Nobody claims another range
for the duration of a Lease (:mod:`kinformer.sharding.table`).

A write of the table whose response was lost may still arrive. A range that it would have given up is not opened again
before another write of the table has succeeded. After that, the late write finds another version and fails.
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
from kinformer.sharding.table import ShardCountConflict, Table

__all__ = ("MembershipLost", "RangeCaches", "ShardMember")

log = get_logger(__name__)


class MembershipLost(Exception):
    """
    This process is not a member of its group any more. Its ranges belong to others by now, or soon will.

    :param group: the group
    """

    def __init__(self, group: str, member: str, why: str) -> None:
        super().__init__(f"{member} is no member of {group} any more: {why}")
        self.group = group


class RangeCaches(Protocol):
    """The caches of a member, which hold the objects of its ranges."""

    def hold(self, numbers: frozenset[int]) -> None:
        """Hold the objects of these ranges from now on: get those that are missing, and drop all others."""

    async def wait_filled(self) -> None:
        """
        Drop objects that are not to be held any more, and wait for all others.

        Return once they are all there, in a state that is not older than the last call of :meth:`hold`.
        """


class MemberGuard(Guard):
    """A guard that also closes if the table was not read for too long, because it may have been deleted."""

    __slots__ = ("table_until",)

    def __init__(self, lease: str, now: Callable[[], float]) -> None:
        super().__init__(lease, now)
        #: The time until which the table allows writes. Infinite before it was read, because nothing is owned then.
        self.table_until = inf

    @property
    def is_open(self) -> bool:
        """Whether writes are allowed now."""
        return super().is_open and self._now() < self.table_until


# More than 15 fields: each step of the protocol reads what the others have noted, and is one locked turn.
class ShardMember:
    """
    One member of a group. It can run once.

    :param client: the client for the table. The member's Lease is renewed with that of `sharding`, or else with this
        one
    :param caches: the caches that hold the objects; not used before :meth:`run`
    :ivar guard: open while this process may write
    :ivar gate: decides which keys may be synced in this process
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
        #: The name of this member and of its Lease.
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
        #: Whether a write of the table, of unknown result, may still arrive.
        self._uncertain = False
        #: The ranges that this write would give up.
        self._giving: frozenset[int] = frozenset()
        #: The ranges that a write of unknown result has claimed, and the version of the table that it was to replace.
        self._claimed: frozenset[int] = frozenset()
        self._claimed_on = ""
        #: The ranges that the table gives to this member without its claim, and since when this member knows it.
        self._unclaimed: dict[int, float] = {}
        #: The table that says that claims must wait, and since when this member knows it.
        self._waits_for = ("", "")
        self._waiting_since = 0.0
        #: The ranges that this member holds, and that were lost with the table.
        self._claims_again: frozenset[int] = frozenset()
        #: Why the table cannot be read.
        self._broken = ""
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
        """Whether this process is a member, and has claimed the ranges that were free."""
        return self._first_round.is_set()

    @property
    def trouble(self) -> str:
        """Why this process cannot take part in its group at the moment; empty if it can."""
        return f"the table of {self.group} cannot be read: {self._broken}" if self._broken else ""

    async def wait_joined(self) -> None:
        """Return once :attr:`has_joined` is true."""
        await self._first_round.wait()

    def snapshot(self) -> ShardsSnapshot:
        """The members and ranges, as this member saw them last."""
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

    # --- running

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """
        Join the group and do the work while this is a member. When this is cancelled, leave in good order.

        :param work: cancelled when membership is lost. Keys are synced only as :attr:`gate` allows
        :raises MembershipLost: if membership was lost; raised once the work has ended
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
                # Nothing is owned any more, so no member has to wait until this Lease expires.
                await self._shielded(self._options.renew_deadline, partial(self._own_lease.remove, self.name))
        if self._lost:
            raise MembershipLost(self.group, self.name, self._lost)

    async def leave(self) -> None:
        """
        Give up each range as soon as its running syncs have ended. Return when all are given up.

        A range in which a sync was cancelled meanwhile is kept. It is given up after :meth:`run` has ended its work.
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
        """Leave after the work has ended, so that no sync runs any more."""
        self._leaving = True
        self.gate.drain(self.gate.held)
        if self.gate.has_cut:
            # A cancelled sync may have a write on its way. It gets as much time to arrive as after a lost Lease.
            await self._clock.sleep(self._options.lease_seconds - self._options.write_duration)
            self.gate.forget_cuts()
        while self.gate.held and self.guard.is_open:
            await self._try_round()
            if self.gate.held:
                await self._clock.sleep(self._options.retry_period / 4)

    async def _shielded(self, seconds: float, call: Callable[[], Awaitable[object]]) -> None:
        """Await a call even if this is cancelled, for at most this time."""
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
        """Do one round. Return whether nothing is left to do. Errors are logged."""
        with anyio.CancelScope() as scope:
            timer = self._clock.call_later(self._options.renew_deadline, scope.cancel)
            try:
                return await self._round()
            except (Conflict, AlreadyExists):
                self._log.debug("shard_table_conflict")
            except ClientError as error:
                # Logged as an error once, not at each try while the server is gone.
                (self._log.debug if self._failing else self._log.error)("shard_round_failed", error=str(error))
                self._failing = True
            finally:
                timer.cancel()
        return self._is_late()

    def _is_late(self) -> bool:
        """
        Whether the table allows no more writes. Then this member ends.

        The table may be in order again by now. But others may have claimed its ranges in between, and may still write.
        """
        late = self._now() >= self.guard.table_until
        if late:
            self._lose("the table could not be read in time")
        return late

    async def _round(self) -> bool:
        began = self._now()
        seen = await self._leases.read()
        now = self._now()
        self._note_broken(seen.broken)
        table = self._checked(seen)
        if self._is_late():
            return True
        if not self._agrees(seen, table):
            self._lose("others took its ranges")
            return True
        if not self._claims_again:
            self.guard.table_until = began + self._options.write_duration
        # If there is no table any more, every member that was seen may own ranges.
        owners = table.members if seen.table is not None else self._sightings.names
        self._sightings.look(seen.members, owners, now)
        live = self._sightings.live(now)
        live = live - {self.name} if self._leaving else live | {self.name}
        over = {name for name in self._sightings.names if self._sightings.is_over(name, now)}
        adoptable = self._adoptable(seen, table, now)
        plan = make_plan(self.name, table, live, over, self.gate.held, self.gate.draining, adoptable)
        self.gate.drain(plan.drain)
        fenced = await self._fence(plan.over)
        await self._carry_out(seen, table, plan, fenced)
        # Ranges that were lost with the table are this member's only now. Until then others may claim them.
        self.guard.table_until = began + self._options.write_duration
        self._metrics.tell(members=len(live), owned=len(self.gate.held))
        self._failing = False
        self._broken = ""
        self._first_round.set()
        return plan.settled and not table.waits

    def _checked(self, seen: Seen) -> Table:
        if seen.table is None:
            others = {member.name for member in seen.members} | self._sightings.names
            waits = seen.version or ("0" if others - {self.name} else "")
            return Table.empty(len(self.ranges), waits=waits)
        if len(seen.table.owners) != len(self.ranges):
            raise ShardCountConflict(self.group, len(seen.table.owners), len(self.ranges))
        return seen.table

    def _note_broken(self, why: str) -> None:
        if why and why != self._broken:
            self._log.error("shard_table_broken", why=why)
        self._broken = why

    def _adoptable(self, seen: Seen, table: Table, now: float) -> frozenset[int]:
        """The ranges that nobody else can write to if the table says that they are this member's."""
        mine = table.of(self.name)
        if seen.version != self._claimed_on:
            self._claimed &= mine  # the write has arrived by now, or never will
        self._unclaimed = {number: self._unclaimed.get(number, now) for number in mine - self.gate.held - self._claimed}
        waited = {number for number, since in self._unclaimed.items() if now - since >= self._sightings.longest}
        return self._claimed | waited

    def _agrees(self, seen: Seen, table: Table) -> bool:
        """
        Whether this member can go on: the table gives none of its ranges to another member.

        A range that it may have given up itself is given up now. Another one that has no owner was lost with a table
        that somebody has deleted or damaged. This member claims it again (:attr:`_claims_again`).
        """
        missing = self.gate.held - table.of(self.name)
        lost = missing - self._giving
        is_new = seen.table is None or bool(table.waits)
        if lost and not (is_new and lost <= table.of("")):
            return False
        self._claims_again = lost
        self._giving = frozenset()
        self._gave_up(missing - lost)
        return True

    def _may_claim(self, seen: Seen, table: Table) -> bool:
        if self._leaving:
            return False
        if not table.waits:
            return True
        if seen.lease is None:
            return False
        wait, now = (seen.lease["metadata"]["uid"], table.waits), self._now()
        if self._waits_for != wait:
            self._waits_for, self._waiting_since = wait, now
        return now - self._waiting_since >= self._sightings.longest

    async def _fence(self, over: frozenset[str]) -> frozenset[str]:
        """Take the Leases of expired members. Return those that cannot renew them any more."""
        fenced = []
        for name in over:
            lease = self._sightings.lease(name)
            # Without a Lease there is nothing to renew, and no member creates its Lease again.
            if lease is None or await self._leases.take(name, lease.version):
                self._log.warning("shard_member_over", over=name)
                self._sightings.took(name)
                fenced.append(name)
        return frozenset(fenced)

    async def _carry_out(self, seen: Seen, table: Table, plan: Plan, fenced: frozenset[str]) -> None:
        give = self.gate.drained - plan.keep
        after = table.with_owner(self._claims_again, self.name).with_owner(give, "")
        for name in fenced:
            after = after.with_owner(after.of(name), "")
        claim = frozenset[int]()
        if self._may_claim(seen, table):
            claim = (plan.wanted & after.of("")) - give
            after = replace(after.with_owner(claim, self.name), waits="")
        # After this write, an earlier one that may still arrive finds another version and fails.
        to_be_sure = self._uncertain and plan.keep
        if after != table or seen.lease is None or not seen.has_label or to_be_sure:
            self._giving = give
            self._claimed, self._claimed_on = self._claimed | claim, seen.version
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
            # Another member's write came first, or an earlier try of this one. In both cases nothing can arrive any
            # more.
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
        self._claimed -= numbers
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
