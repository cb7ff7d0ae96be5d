"""kyverno/kyverno#5984: a process that has lost its lease goes on writing.

Two processes take part in an election. A process starts its controller when it leads. When the lease is lost, that is
only logged, and the controller goes on: the ex-leader and the new leader both write what users change. The twin ends
with its lease, and asks before each write whether it still has it.
"""

from __future__ import annotations

from typing import Any

import anyio
from anyio.abc import TaskGroup

from kinformer.client import Client
from kinformer.leaderelection import LeaderElector, LeadershipLost, LeaseKeeper, LeaseLock, guarded_client, new_identity
from kinformer.manager import ControllerContext
from kinformer.models import V1ConfigMap, from_dict
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.objects import NAMESPACE, Kind, meta_of_child, name_of

POLICY = Kind("kyverno.io", "ClusterPolicy")


class Broken(Operator):
    KIND = POLICY
    CHILDREN = (V1ConfigMap,)
    REPLICAS = 2

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.identity = new_identity()
        lock = LeaseLock(context.client, NAMESPACE, "kyverno", self.identity)
        self.elector = LeaderElector(LeaseKeeper(lock, clock=context.clock), clock=context.clock)
        self.client = self.writing(context.client)

    def writing(self, client: Client) -> Client:
        return client

    @classmethod
    def make_controller(cls, context: ControllerContext) -> Any:
        return cls(context)

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            try:
                await self.elector.run(lambda: self.lead(tasks))
            except LeadershipLost as error:
                self.lost(error)

    async def lead(self, tasks: TaskGroup) -> None:
        tasks.start_soon(self.controller.run)
        await anyio.sleep_forever()

    def lost(self, error: LeadershipLost) -> None:
        """Nothing but a line in the log."""

    async def sync(self, cluster: dict[str, Any]) -> None:
        data = {"rules": str(cluster["spec"]["rules"]), "by": self.identity}
        found = await self.read(V1ConfigMap, name_of(cluster))
        if found is None:
            wanted = {"metadata": meta_of_child(cluster, name_of(cluster)), "data": data}
            await self.create(cluster, from_dict(V1ConfigMap, wanted))
        elif (found.data or {})["rules"] != data["rules"]:
            await self.patch(V1ConfigMap, name_of(cluster), {"data": data})


class Mended(Broken):
    def writing(self, client: Client) -> Client:
        return guarded_client(client, self.elector.guard)

    async def lead(self, tasks: TaskGroup) -> None:
        await self.controller.run()

    def lost(self, error: LeadershipLost) -> None:
        raise error


async def scenario(user: User) -> None:
    await user.create(POLICY.new("policy", rules=1))
    await user.change(POLICY, "policy", rules=2)


BUG = Bug(
    "kyverno/kyverno#5984",
    "an ex-leader goes on",
    Broken,
    Mended,
    scenario,
    "pause",
    "holds leases.coordination.k8s.io/default/kyverno",
    may_differ=("configmaps/default/policy:data.by",),
)
