"""A manager's part in a group that shares the keys out: a member, and caches that hold what is its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from kinformer.cache.tasks import plain_task_group
from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection import guarded_client
from kinformer.manager.context import Runnable
from kinformer.options import OptionError
from kinformer.sharding import InformerCaches, Ranges, Sharding, ShardMember, ShardsSnapshot

__all__ = ("Shards",)


class Shards:
    """
    One manager's member.

    :param informers: are divided from now on
    """

    def __init__(self, sharding: Sharding, client: Client, informers: SharedInformerFactory, clock: Clock) -> None:
        ranges = Ranges(sharding.shards)
        self._informers = informers
        self._caches = InformerCaches(ranges, sharding.by_uid)
        self.member = ShardMember(sharding, client, self._caches, ranges=ranges, clock=clock)
        self._caches.gate = self.member.gate
        informers.divide(self._caches)

    def guarded(self, client: Client) -> Client:
        """The client for the controllers: it writes only while this is a member."""
        return guarded_client(client, self.member.guard)

    def snapshot(self) -> ShardsSnapshot:
        """Members and ranges, to look at."""
        return self.member.snapshot()

    def unready(self) -> str:
        """Why this is no member yet, ``""`` if it is one."""
        return "" if self.member.has_joined else f"not a member of {self.member.group} yet"

    @staticmethod
    def check(controllers: Mapping[str, Runnable]) -> None:
        """
        :raises OptionError: if a controller looks at more than the objects of one namespace
        """
        if alone := [name for name, made in controllers.items() if not getattr(made, "can_be_sharded", False)]:
            raise OptionError(
                f"--shards: {', '.join(alone)} cannot be sharded, as each looks at the objects of all namespaces: run "
                "these in another manager with --leader-elect"
            )

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """
        Join, then have the informers list what is there and the controllers work.

        :raises MembershipLost: if it was lost
        :raises ShardCountConflict: if the group has another number of shards
        """

        async def joined() -> None:
            # Before that nothing is to be held: what would be listed first would be listed again.
            await self.member.wait_joined()
            async with plain_task_group() as tasks:
                tasks.start_soon(self._informers.run)
                await work()
                tasks.cancel_scope.cancel()

        await self.member.run(joined)
