"""Rounds: what a member does every few seconds: it reads the group's Leases, makes a plan, and carries it out.

A round reads all Leases in one request, makes a plan (:mod:`kinformer.sharding.plan`), and carries it out with at most
one write of the table:

- It gives up a range when the gate is closed for it and the last running sync has ended.
- It claims a range without an owner. Then its caches are filled, and the gate opens
  (:mod:`kinformer.sharding.holding`).
- An owner whose Lease has not changed for its full duration has expired. Its Lease is deleted first, if it has not
  changed since it was seen, so that a renewal on its way fails. Only then are its ranges free.

A write of the table whose response was lost may still arrive. A range that it would have given up is not opened again
before another write of the table has succeeded. After that, the late write finds another version and fails.
"""

from __future__ import annotations

from dataclasses import replace

import anyio

from kinformer.client import ClientError, Conflict
from kinformer.client.errors import AlreadyExists
from kinformer.clock import Clock, move_on_after
from kinformer.leaderelection import ElectionOptions
from kinformer.logs import get_logger
from kinformer.sharding.claims import Claims
from kinformer.sharding.holding import Holding
from kinformer.sharding.leases import GroupLeases, Seen
from kinformer.sharding.membership import Membership
from kinformer.sharding.metrics import ShardMetrics
from kinformer.sharding.plan import Plan, make_plan
from kinformer.sharding.sightings import Sightings
from kinformer.sharding.table import ShardingConflict, Table

__all__ = ("Rounds",)

log = get_logger(__name__)


class Rounds:
    """
    :param leases: the Leases of the group; their client writes only while the guard of the membership is open
    :ivar table: the table as it was seen or written last
    :ivar sightings: the members that were seen
    :ivar broken: why the table cannot be read; empty if it can
    :ivar is_leaving: whether this member claims nothing any more
    :ivar first: set when the first round is over
    """

    def __init__(
        self,
        membership: Membership,
        leases: GroupLeases,
        holding: Holding,
        options: ElectionOptions,
        clock: Clock,
        metrics: ShardMetrics,
    ) -> None:
        self._membership = membership
        self._leases = leases
        self._holding = holding
        self._options = options
        self._clock = clock
        self._metrics = metrics
        self._claims = Claims(membership.name)
        self._log = log.bind(group=membership.group, member=membership.name)
        self._failing = False
        self.sightings = Sightings(options.lease_seconds)
        ranges = holding.gate.ranges
        self.table = Table.empty(len(ranges), "owner" if ranges.by_owner else "namespace")
        self.broken = ""
        self.is_leaving = False
        self.first = anyio.Event()

    async def try_one(self) -> bool:
        """Do one round. Return whether nothing is left to do. Errors are logged."""
        with move_on_after(self._clock, self._options.renew_deadline):
            try:
                return await self._round()
            except (Conflict, AlreadyExists):
                self._log.debug("shard_table_conflict")
            except ClientError as error:
                # Logged as an error once, not at each try while the server is gone.
                (self._log.debug if self._failing else self._log.error)("shard_round_failed", error=str(error))
                self._failing = True
        return self._is_late()

    def _is_late(self) -> bool:
        """
        Whether the table allows no more writes. Then this member ends.

        The table may be in order again by now. But others may have claimed its ranges in between, and may still write.
        """
        late = self._membership.now() >= self._membership.guard.table_until
        if late:
            self._membership.lose("the table could not be read in time")
        return late

    async def _round(self) -> bool:
        membership, gate, me = self._membership, self._holding.gate, self._membership.name
        began = membership.now()
        seen = await self._leases.read()
        now = membership.now()
        self._note_broken(seen.broken)
        table = self._checked(seen)
        if self._is_late():
            return True
        given_up = self._claims.compare(seen, table, gate.held)
        if given_up is None:
            membership.lose("others took its ranges")
            return True
        self._holding.gave_up(given_up)
        if not self._claims.again:
            membership.guard.table_until = began + self._options.write_duration
        # If there is no table any more, every member that was seen may own ranges.
        owners = table.members if seen.table is not None else self.sightings.names
        self.sightings.look(seen.members, owners, now)
        live = self.sightings.live(now)
        live = live - {me} if self.is_leaving else live | {me}
        over = {name for name in self.sightings.names if self.sightings.is_over(name, now)}
        adoptable = self._claims.adoptable(seen, table, gate.held, now, self.sightings.longest)
        plan = make_plan(me, table, live, over, gate.held, gate.draining, adoptable)
        gate.drain(plan.drain)
        fenced = await self._fence(plan.over)
        await self._carry_out(seen, table, plan, fenced)
        # Ranges that were lost with the table are this member's only now. Until then others may claim them.
        membership.guard.table_until = began + self._options.write_duration
        self._metrics.tell(members=len(live), owned=len(gate.held), loads=self.sightings.loads(now))
        self._failing = False
        self.broken = ""
        self.first.set()
        return plan.settled and not table.waits

    def _checked(self, seen: Seen) -> Table:
        count, by, group = len(self.table.owners), self.table.by, self._membership.group
        if seen.table is None:
            others = {member.name for member in seen.members} | self.sightings.names
            waits = seen.version or ("0" if others - {self._membership.name} else "")
            return Table.empty(count, by, waits=waits)
        if len(seen.table.owners) != count:
            raise ShardingConflict(group, "--shards", len(seen.table.owners), count)
        if seen.table.by != by:
            raise ShardingConflict(group, "--shard-by", seen.table.by, by)
        return seen.table

    def _note_broken(self, why: str) -> None:
        if why and why != self.broken:
            self._log.error("shard_table_broken", why=why)
        self.broken = why

    async def _fence(self, over: frozenset[str]) -> frozenset[str]:
        """Take the Leases of expired members. Return those that cannot renew them any more."""
        fenced = []
        for name in over:
            lease = self.sightings.lease(name)
            # Without a Lease there is nothing to renew, and no member creates its Lease again.
            if lease is None or await self._leases.take(name, lease.version):
                self._log.warning("shard_member_over", over=name)
                self.sightings.took(name)
                fenced.append(name)
        return frozenset(fenced)

    async def _carry_out(self, seen: Seen, table: Table, plan: Plan, fenced: frozenset[str]) -> None:
        me, gate, claims = self._membership.name, self._holding.gate, self._claims
        give = gate.drained - plan.keep
        after = table.with_owner(claims.again, me).with_owner(give, "")
        for name in fenced:
            after = after.with_owner(after.of(name), "")
        claim = frozenset[int]()
        may_claim = claims.may_claim(seen, table, self._membership.now(), self.sightings.longest)
        if may_claim and not self.is_leaving:
            claim = (plan.wanted & after.of("")) - give
            after = replace(after.with_owner(claim, me), waits="")
        # After this write, an earlier one that may still arrive finds another version and fails.
        to_be_sure = claims.uncertain and plan.keep
        if after != table or seen.lease is None or not seen.has_label or to_be_sure:
            with claims.writing(seen, give, claim):
                await self._leases.write(seen, after.touched())
        self.table = after
        gate.keep(plan.keep)
        gained = claim | plan.adopt
        claims.held(gained)
        self._holding.gained(gained)
        self._holding.gave_up(give)
