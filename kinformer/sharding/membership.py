"""Membership: the Lease of one member, by which the others see that it is alive, and the guard that the Lease opens.

The Lease is created once. While it is renewed, and the table is read, the guard is open and this process may write. A
member that lost its Lease, or could not read the table in time, never becomes a member again under the same name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf

import anyio

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.leaderelection import Guard, LeaderElector, LeadershipLost, LeaseKeeper
from kinformer.logs import get_logger
from kinformer.sharding.leases import GroupLeases, MemberLock
from kinformer.sharding.load import Load
from kinformer.sharding.options import Sharding

__all__ = ("MemberGuard", "Membership", "MembershipLost")

log = get_logger(__name__)


class MembershipLost(Exception):
    """
    This process is not a member of its group any more. Its ranges belong to others by now, or soon will.

    :param group: the group
    """

    def __init__(self, group: str, member: str, why: str) -> None:
        super().__init__(f"{member} is no member of {group} any more: {why}")
        self.group = group


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


class Membership:
    """
    :param client: renews the Lease
    :param name: the name of the member and of its Lease
    :param load: returns this member's load
    :ivar guard: open while this process may write
    :ivar now: seconds of a clock that cannot be set
    :ivar lost: why this process is not a member any more; empty if it is, or has left
    """

    def __init__(
        self,
        sharding: Sharding,
        client: Client,
        name: str,
        clock: Clock,
        random: Callable[[], float],
        load: Callable[[], Load] = Load,
    ) -> None:
        self.name = name
        self._lock = MemberLock(
            client,
            sharding.namespace,
            sharding.group,
            name,
            load=load,
            on_gone=lambda: self.lose("its Lease was taken"),
        )
        keeper = LeaseKeeper(self._lock, sharding.options, name=sharding.group, clock=clock)
        self.now = keeper.now
        self.elector = LeaderElector(keeper, clock=clock, random=random)
        self.guard = self.elector.guard = MemberGuard(self._lock.describe(), keeper.now)
        self._leases = GroupLeases(client, sharding.namespace, sharding.group)
        self.group = self._leases.describe()
        self.lost = ""
        self._scope: anyio.CancelScope | None = None

    async def run(self, belong: Callable[[], Awaitable[object]]) -> None:
        """
        Get the Lease, and keep it while the work is done.

        :param belong: the work; it is cancelled when the membership is lost
        :raises MembershipLost: if the membership was lost; raised once the work has ended
        """
        try:
            with anyio.CancelScope() as self._scope:
                await self.elector.run(belong)
        except LeadershipLost as lost:
            raise MembershipLost(self.group, self.name, str(lost)) from lost
        finally:
            self.guard.close()
        if self.lost:
            raise MembershipLost(self.group, self.name, self.lost)

    def leave(self) -> None:
        """Mark the Lease with the next renewal: this member must not get any more ranges."""
        self._lock.leave()

    def lose(self, why: str) -> None:
        """Allow no more writes, and cancel the work."""
        self.guard.close()
        self.lost = self.lost or why
        log.error("membership_lost", group=self.group, member=self.name, why=why)
        if self._scope is not None:
            self._scope.cancel()

    async def remove_lease(self) -> None:
        """
        Delete the Lease, so that no other member waits until it expires.

        :raises ClientError: if it is not known whether it is gone
        """
        await self._leases.remove(self.name)
