"""A world of managers that share the keys out, and a ledger in each of several namespaces.

They join, leave, are killed, paused and cut off, their Leases and the table are deleted. Whatever happens, no key is
counted back (:class:`~tests.simulation.ledger.Ledger`), no two sync one key at once and none writes into another's
shard (the oracles ``syncs`` and ``leader``), and in the end everything is counted.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from kinformer.client import NotFound
from kinformer.leaderelection import ElectionOptions
from kinformer.models import V1Lease
from kinformer.sharding import DEFAULT_GROUP, RangeState, Sharding
from kinformer.simulation import Faults, World, WorldOptions
from kinformer.simulation.process import Process
from tests.simulation.ledger import Ledger, make_ledger

__all__ = ("FAULTS", "OPTIONS", "Group", "come_and_go", "owner_is_cut_off", "table_is_deleted")

NAMESPACE = "kube-system"
OBJECTS = tuple(f"ns-{number}/work" for number in range(5))
#: How long Leases last: one of these.
TIMES = (ElectionOptions(4, 3, 2), ElectionOptions(6, 5, 1))
#: Nobody has to be waited for any longer than this once all is well.
OPTIONS = WorldOptions(loops=(), quiet=12)

FAULTS = Faults.only(
    crash=0.01,
    pause=0.01,
    partition=0.01,
    jump=0.01,
    cut=0.01,
    refuse=0.01,
    delay=0.005,
    restart_server=0.003,
    most=8,
    swarm=True,
)


class Group:
    """
    Members of one group.

    :param times: how long their Leases last
    """

    def __init__(self, world: World, times: ElectionOptions = TIMES[0], objects: Sequence[str] = OBJECTS) -> None:
        self.world = world
        self.times = times
        self.ledger = Ledger(world, tuple(objects))
        self._numbers = itertools.count(1)

    def join(self, restart_after: float = 1.0) -> Process:
        """One more member."""
        name = f"m{next(self._numbers)}"
        sharding = Sharding(options=self.times)
        return self.world.manager(make_ledger, name, sharding=sharding, restart_after=restart_after)

    @property
    def running(self) -> list[Process]:
        return [process for process in self.world.processes.values() if process.life is not None]

    def owned(self, process: Process) -> frozenset[int]:
        """The shards that a member serves."""
        manager = process.manager
        if manager is None or manager.shards is None:
            return frozenset()
        return manager.shards.member.gate.in_state(RangeState.OPEN)

    async def delete_lease(self, process: Process) -> None:
        """Somebody deletes the Lease of a member."""
        if (manager := process.manager) is not None and manager.shards is not None:
            await self._delete(manager.shards.member.name)

    async def delete_table(self) -> None:
        """Somebody deletes the Lease with the table."""
        await self._delete(DEFAULT_GROUP)

    async def edit_table(self) -> None:
        """Somebody edits the table: takes its label off, or makes it unreadable."""
        metadata = random.choice(
            ({"labels": {"kinformer.dev/shard-group": None}}, {"annotations": {"kinformer.dev/shard-owners": "{}x"}})
        )
        try:
            await self.world.patch(V1Lease, DEFAULT_GROUP, {"metadata": metadata}, NAMESPACE)
        except NotFound:
            return

    async def _delete(self, lease: str) -> None:
        try:
            await self.world.delete(V1Lease, lease, NAMESPACE)
        except NotFound:
            return

    async def something_happens(self) -> None:
        """What no plan has a word for: members that come and go, and what is done to their Leases and the table."""
        running = self.running
        if len(running) < random.choice((1, 2, 3, 3, 4)):
            self.join()
            return
        process = random.choice(running)
        match random.choice(("leave", "terminate", "kill", "pause", "cut", "delete", "table", "edit", "nothing")):
            case "leave":
                process.terminate(for_good=True)
            case "terminate":
                process.terminate()
            case "kill":
                process.kill()
            case "pause":
                process.pause(random.random() * 9)
            case "cut":
                process.isolate(random.random() * 9)
            case "delete":
                await self.delete_lease(process)
            case "edit":
                await self.edit_table()
            case "table" if random.random() < 0.3:
                await self.delete_lease(process)
                await self.delete_table()


async def come_and_go(world: World) -> None:
    """A group that changes again and again, and is left alone in the end."""
    group = Group(world, random.choice(TIMES))
    for _ in range(random.choice((1, 2, 2, 3))):
        group.join()
    await group.ledger.open(15)
    for _ in range(7):
        await world.sleep(random.random() * 3)
        await group.something_happens()
    if all(process.is_gone for process in world.processes.values()):
        group.join()
    await world.settled()


async def table_is_deleted(world: World) -> None:
    """
    Somebody deletes the Lease of the one who owns everything, and then the table, before that one has noticed.

    The other one sees no Lease but its own and no owners, and must not take the group for a new one.
    """
    group = Group(world, objects=OBJECTS[:2])
    await group.ledger.open(40)
    owner = group.join()
    await world.sleep(8)
    group.join()
    # It has seen the owner, and has nothing yet.
    await world.sleep(0.1)
    owner.lose_lease(20)
    await group.delete_lease(owner)
    await group.delete_table()
    await world.settled()


async def owner_is_cut_off(world: World) -> None:
    """One of two who share everything is cut off, and goes on until its own Lease has run out."""
    group = Group(world)
    await group.ledger.open(30)
    owner = group.join()
    await world.sleep(8)
    group.join()
    await world.sleep(8)
    owner.isolate(20)
    await world.settled()
