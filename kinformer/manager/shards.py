"""A manager as a member of a group of processes that share the keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection import fenced_client, guarded_client
from kinformer.manager.loading import Made
from kinformer.options import OptionError
from kinformer.sharding import InformerCaches, Ranges, Sharding, ShardMember, ShardsSnapshot
from kinformer.tasks import plain_task_group

__all__ = ("Shards",)


class Shards:
    """
    The membership of one manager in a shard group.

    :param sharding: the settings of the group
    :param client: for the Leases of the group
    :param informers: from now on their caches hold only the objects of the ranges that this member owns
    :param clock: for times
    """

    def __init__(self, sharding: Sharding, client: Client, informers: SharedInformerFactory, clock: Clock) -> None:
        ranges = Ranges(sharding.shards, by_owner=sharding.by == "owner")
        self._informers = informers
        self._fenced = sharding.fenced
        self._caches = InformerCaches(ranges, sharding.by_uid)
        self.member = ShardMember(sharding, client, self._caches, ranges=ranges, clock=clock)
        self._caches.gate = self.member.gate
        informers.divide(self._caches)

    def guarded(self, client: Client) -> Client:
        """A client for the controllers that writes only while this process is a member."""
        return fenced_client(guarded_client(client, self.member.guard), self._fenced, lambda: self.member.name)

    def snapshot(self) -> ShardsSnapshot:
        """The members and their ranges."""
        return self.member.snapshot()

    def unready(self) -> str:
        """Why this process is not a member yet, or cannot read the group's table; empty if all is well."""
        return self.member.trouble or ("" if self.member.has_joined else f"not a member of {self.member.group} yet")

    def check(self, made: Made) -> None:
        """
        Check that all controllers can be sharded.

        :raises OptionError: if a sync of a controller needs the objects of more than one namespace; if namespaces are
            divided, and it needs more objects than those of one owner
        """
        by = {name: spec.sharded_by for name, spec in made.specs.items()}
        alone = [
            name
            for name, runnable in made.controllers.items()
            if not by.get(name, getattr(runnable, "can_be_sharded", False))
        ]
        if alone:
            raise OptionError(
                f"--shards: {', '.join(alone)} cannot be sharded, as each looks at the objects of all namespaces: run "
                "these in another manager with --leader-elect"
            )
        if not self.member.ranges.by_owner:
            return
        types: dict[str, frozenset[type[Any]] | None] = {
            name: frozenset() if by.get(name) == "name" else getattr(runnable, "owner_types", None)
            for name, runnable in made.controllers.items()
        }
        if whole := [name for name, found in types.items() if found is None]:
            raise OptionError(
                f"--shard-by owner: {', '.join(whole)} cannot divide a namespace, as each needs all its objects: run "
                "these in another manager with --shard-by namespace and another --shard-group"
            )
        self._caches.owners = frozenset().union(*filter(None, types.values()))

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """
        Join the group, then run the informers and the controllers.

        :param work: runs the controllers
        :raises MembershipLost: if the membership was lost
        :raises ShardingConflict: if the group has another number of shards, or divides keys in another way
        """

        async def joined() -> None:
            # Before it has joined, this member owns no ranges, and a list would have to be repeated.
            await self.member.wait_joined()
            async with plain_task_group() as tasks:
                tasks.start_soon(self._informers.run)
                await work()
                tasks.cancel_scope.cancel()

        await self.member.run(joined)
