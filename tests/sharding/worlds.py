"""A world of managers that share the keys out, and a ledger in each of several namespaces, or several in one.

They join, leave, are killed, paused and cut off, their Leases and the table are deleted. Whatever happens, no key is
counted back (:class:`~tests.simulation.ledger.Ledger`), no two sync one key at once and none writes into another's
shard (the oracles ``syncs`` and ``leader``), and in the end everything is counted.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from kinformer.client import ClientError, NotFound, PatchType
from kinformer.leaderelection import ElectionOptions
from kinformer.manager import ControllerFactory
from kinformer.meta import get_controller_of
from kinformer.models import V1Lease, V1Pod, V1ReplicaSet
from kinformer.sharding import DEFAULT_GROUP, RangeState, Sharding
from kinformer.simulation import Checks, Faults, World, WorldOptions
from kinformer.simulation.process import Process
from kinformer_controllers.replicaset.controller import make_controller as make_replica_sets
from tests.simulation.ledger import Ledger, make_ledger

__all__ = (
    "FAULTS",
    "MOVING",
    "OPTIONS",
    "Group",
    "come_and_go",
    "come_and_go_by_owner",
    "owner_is_cut_off",
    "pods_move",
    "table_is_deleted",
)

NAMESPACE = "kube-system"
OBJECTS = tuple(f"ns-{number}/work" for number in range(5))
#: The same in one namespace.
HOT_OBJECTS = tuple(f"default/work-{number}" for number in range(5))
#: How long Leases last: one of these.
TIMES = (ElectionOptions(4, 3, 2), ElectionOptions(6, 5, 1))
#: Which pods a user moves depends on what is there, so no two runs end alike.
MOVING = Checks(without=("final-state", "churn"))
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
    :param make: makes the controller of each member
    """

    def __init__(
        self,
        world: World,
        times: ElectionOptions = TIMES[0],
        objects: Sequence[str] = OBJECTS,
        by: Literal["namespace", "owner"] = "namespace",
        make: ControllerFactory = make_ledger,
    ) -> None:
        self.world = world
        self.by = by
        self.make = make
        self.times = times
        self.ledger = Ledger(world, tuple(objects))
        self._numbers = itertools.count(1)

    def join(self, restart_after: float = 1.0) -> Process:
        """One more member."""
        name = f"m{next(self._numbers)}"
        sharding = Sharding(options=self.times, by=self.by)
        return self.world.manager(self.make, name, sharding=sharding, restart_after=restart_after)

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
    await _changes(Group(world, random.choice(TIMES)))


async def come_and_go_by_owner(world: World) -> None:
    """The same, with all objects in one namespace."""
    await _changes(Group(world, random.choice(TIMES), HOT_OBJECTS, "owner"))


async def _changes(group: Group) -> None:
    world = group.world
    for _ in range(random.choice((1, 2, 2, 3))):
        group.join()
    await group.ledger.open(15)
    for _ in range(7):
        await world.sleep(random.random() * 3)
        await group.something_happens()
    if all(process.is_gone for process in world.processes.values()):
        group.join()
    await world.settled()


async def pods_move(world: World) -> None:
    """
    ReplicaSets in one namespace, whose members come and go while pods are adopted, released and moved.

    In the end each of them has its pods, and each member holds those of its own.
    """
    group = Group(world, random.choice(TIMES), (), "owner", make_replica_sets)
    for _ in range(random.choice((1, 2, 3))):
        group.join()
    names = [f"web-{number}" for number in range(4)]
    for name in names:
        await _apply(world, _replica_set(name))
    for turn in range(8):
        await world.sleep(random.random() * 3)
        await _move_a_pod(world, names, turn)
        await group.something_happens()
    if all(process.is_gone for process in world.processes.values()):
        group.join()
    await world.settled()
    owners = Counter(owner.name for pod in world.state.list(V1Pod) if (owner := get_controller_of(pod)) is not None)
    assert owners == dict.fromkeys(names, 2), f"the pods of each: {dict(owners)}"


async def _move_a_pod(world: World, names: Sequence[str], turn: int) -> None:
    """What a user does to pods: makes one that an owner adopts, has one released, gives one to another owner."""
    name = random.choice(names)
    pods = world.state.list(V1Pod)
    if random.random() < 0.3 or not pods:
        template = _replica_set(name)["spec"]["template"]
        metadata = {"name": f"orphan-{turn}", "namespace": "default", **template["metadata"]}
        await _apply(world, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
        return
    pod = random.choice(pods).metadata.name
    change: dict[str, Any] = {"labels": {"app": random.choice((name, "nobody"))}}
    owner = world.state.get(V1ReplicaSet, name, "default")
    if random.random() < 0.5 and owner is not None:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": owner.metadata.uid}
        change = {"labels": {"app": name}, "ownerReferences": [{**reference, "controller": True}]}
    try:
        await world.patch(V1Pod, pod, {"metadata": change}, "default", patch_type=PatchType.MERGE)
    except ClientError:
        return  # it is gone, or the server starts again


async def _apply(world: World, manifest: dict[str, Any]) -> None:
    while True:
        try:
            await world.apply(manifest)
        except ClientError:  # the server starts again
            await world.sleep(1)
        else:
            return


def _replica_set(name: str) -> dict[str, Any]:
    labels = {"app": name}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


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
