"""Worlds of managers of which one is to write: simulated processes, each with a clock of its own, and one ledger."""

from __future__ import annotations

from collections.abc import Callable

from kinformer.envtest.loops import WITHOUT_KUBELET
from kinformer.leaderelection import JITTER_FACTOR, ElectionOptions
from kinformer.simulation import World, WorldOptions
from kinformer.simulation.process import Process
from tests.simulation.ledger import Ledger, make_ledger

__all__ = ("LEASE", "OPTIONS", "SEEN_AFTER", "TAKE_OVER", "Candidates")

LEASE = ElectionOptions()
OPTIONS = WorldOptions(loops=tuple(WITHOUT_KUBELET))

#: Seconds within which another leads, from when it saw the last renewal: the lease, one retry at its longest, and two
#: for a cache that has to show what the last leader wrote, and for the first write.
TAKE_OVER = LEASE.lease_duration + LEASE.retry_period * (1 + JITTER_FACTOR) + 2
#: The follower sees a renewal one retry after it, at the latest.
SEEN_AFTER = LEASE.retry_period * (1 + JITTER_FACTOR)


class Candidates:
    """
    Managers that elect a leader, which counts in the ledger.

    :ivar never: the seconds after which a process is started again that is to stay away
    """

    never = 100_000.0

    def __init__(self, world: World) -> None:
        self.world = world
        self.ledger = Ledger(world)

    def start(self, name: str, restart_after: float = never) -> Process:
        return self.world.manager(make_ledger, name, leader_election=True, restart_after=restart_after)

    async def two(self) -> tuple[Process, Process]:
        """Two of them, of which the first leads."""
        await self.ledger.open()
        a = self.start("a")
        await self.until(lambda: a.leads, within=5)
        b = self.start("b")
        await self.world.sleep(10)
        return a, b

    async def until(self, true: Callable[[], object], *, within: float) -> float:
        """
        Let time pass until something is true, and tell how long it took.

        :param within: seconds after which it is given up
        """
        began = self.world.loop.now
        while not true():
            assert self.world.loop.now - began < within, f"it has not come true within {within} s"
            await self.world.sleep(0.1)
        return self.world.loop.now - began

    async def taken_over(self, within: float = TAKE_OVER + SEEN_AFTER) -> float:
        """Let time pass until the second one writes, and tell how long it took."""
        return await self.until(lambda: "b" in self.ledger.terms, within=within)

    async def end(self) -> None:
        """Look back: nobody's writes came after those of another who came later."""
        terms = self.ledger.terms
        assert len(terms) == len(set(terms)), f"two wrote: {terms}"
        for process in self.world.processes.values():
            process.terminate(for_good=True)
