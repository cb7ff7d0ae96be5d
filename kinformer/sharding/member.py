"""ShardMember: one process that syncs the keys of its ranges, and hands ranges over as members come and go.

It guarantees that at most one process syncs a given key and may write. A process may sync a key only while both of
these hold. By the first, each range has one owner. By the second, it is safe from writes of its former owner:

1. the table says that the range is its own (written by compare-and-swap), and
2. its guard is open: it renewed its own Lease and read the table, and began both less than the write duration ago
   (:mod:`kinformer.sharding.membership`).

A member works in rounds (:mod:`kinformer.sharding.rounds`). What it does about lost answers and an edited or deleted
table is in :mod:`kinformer.sharding.claims`.
"""

from __future__ import annotations

import random as _random
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from kinformer.client import Client, ClientError
from kinformer.clock import Clock, RealClock, move_on_after
from kinformer.leaderelection import guarded_client
from kinformer.logs import get_logger
from kinformer.sharding.gate import RangeGate
from kinformer.sharding.hashing import Ranges
from kinformer.sharding.holding import Holding, RangeCaches
from kinformer.sharding.leases import GroupLeases
from kinformer.sharding.load import LoadMeter
from kinformer.sharding.membership import Membership
from kinformer.sharding.metrics import ShardMetrics
from kinformer.sharding.options import Sharding
from kinformer.sharding.rounds import Rounds
from kinformer.sharding.snapshot import MemberSnapshot, ShardsSnapshot
from kinformer.tasks import plain_task_group

__all__ = ("ShardMember",)

log = get_logger(__name__)


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
        self._options = sharding.options
        #: The name of this member and of its Lease.
        self.name = name or sharding.new_member()
        self.ranges = ranges or Ranges(sharding.shards, by_owner=sharding.by == "owner")
        own = sharding.client or client
        self._membership = Membership(sharding, own, self.name, self._clock, random, lambda: self._load.read())
        self.group = self._membership.group
        self.guard = self._membership.guard
        self.gate = RangeGate(self.ranges, lambda: self.guard.is_open, self._wake)
        self._load = LoadMeter(lambda: caches.objects, lambda: self.gate.syncs, self._membership.now)
        self._metrics = ShardMetrics(sharding.group)
        self._holding = Holding(self.gate, caches, self._metrics, self.name)
        leases = GroupLeases(guarded_client(client, self.guard), sharding.namespace, sharding.group)
        self._rounds = Rounds(self._membership, leases, self._holding, self._options, self._clock, self._metrics)
        self._wakes = anyio.Event()

    # --- what is known

    @property
    def has_joined(self) -> bool:
        """Whether this process is a member, and has claimed the ranges that were free."""
        return self._rounds.first.is_set()

    @property
    def trouble(self) -> str:
        """Why this process cannot take part in its group at the moment; empty if it can."""
        broken = self._rounds.broken
        return f"the table of {self.group} cannot be read: {broken}" if broken else ""

    async def wait_joined(self) -> None:
        """Return once :attr:`has_joined` is true."""
        await self._rounds.first.wait()

    def snapshot(self) -> ShardsSnapshot:
        """The members and ranges, as this member saw them last."""
        now = self._membership.now()
        table, sightings = self._rounds.table, self._rounds.sightings
        live = sightings.live(now)
        members = (
            MemberSnapshot(
                name=name,
                live=name in live,
                leaving=(lease := sightings.lease(name)) is not None and lease.leaving,
                ranges=tuple(sorted(table.of(name))),
                seconds_since_renewal=sightings.seconds_since_change(name, now),
                load=self._load.read() if name == self.name else lease.load if lease is not None else None,
            )
            for name in sorted(sightings.names)
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
        :raises ShardingConflict: if the group has another number of ranges, or divides keys in another way
        """
        try:
            await self._membership.run(partial(self._belong, work))
        finally:
            self._metrics.tell(members=0, owned=0, loads=())
            if not self.gate.held:
                # Nothing is owned any more, so no member has to wait until this Lease expires.
                await self._shielded(self._options.renew_deadline, self._membership.remove_lease)

    async def leave(self) -> None:
        """
        Give up each range as soon as its running syncs have ended. Return when all are given up.

        A range in which a sync was cancelled meanwhile is kept. It is given up after :meth:`run` has ended its work.
        """
        self._begin_to_leave()
        self._membership.leave()
        self._wake()
        await self._holding.wait_empty()

    def _begin_to_leave(self) -> None:
        self._rounds.is_leaving = True
        self.gate.drain(self.gate.held)

    async def _belong(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await self._take_part(work)
        finally:
            if self.guard.is_open and not self._membership.lost:
                await self._shielded(self._options.renew_deadline, self._give_all_up)

    async def _take_part(self, work: Callable[[], Awaitable[object]]) -> None:
        async with plain_task_group() as tasks:
            tasks.start_soon(self._go_through_rounds, name=f"rounds of {self.name}")
            tasks.start_soon(self._holding.fill, name=f"caches of {self.name}")
            try:
                await work()
            finally:
                tasks.cancel_scope.cancel()

    async def _give_all_up(self) -> None:
        """Leave after the work has ended, so that no sync runs any more."""
        self._begin_to_leave()
        if self.gate.has_cut:
            # A cancelled sync may have a write on its way. It gets as much time to arrive as after a lost Lease.
            await self._clock.sleep(self._options.lease_seconds - self._options.write_duration)
            self.gate.forget_cuts()
        while self.gate.held and self.guard.is_open:
            await self._rounds.try_one()
            if self.gate.held:
                await self._clock.sleep(self._options.retry_period / 4)

    async def _shielded(self, seconds: float, call: Callable[[], Awaitable[object]]) -> None:
        """Await a call even if this is cancelled, for at most this time."""
        with anyio.CancelScope(shield=True), move_on_after(self._clock, seconds):
            try:
                await call()
            except ClientError as error:
                log.warning("shard_member_not_left", group=self.group, member=self.name, error=str(error))

    def _wake(self) -> None:
        self._wakes.set()

    async def _go_through_rounds(self) -> None:
        while True:
            self._wakes = anyio.Event()
            settled = await self._rounds.try_one()
            self.gate.let_waiting_in()
            period = self._options.retry_period * (0.9 + 0.2 * self._random())
            await self._pause(period if settled else period / 4)

    async def _pause(self, seconds: float) -> None:
        with move_on_after(self._clock, seconds):
            await self._wakes.wait()
