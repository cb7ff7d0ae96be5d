"""rabbitmq/cluster-operator#648: a cluster that is made again loses its StatefulSet.

Before a cluster goes, the operator deletes its StatefulSet. It deletes by name. After a restart onto an API server
that is behind, the operator still sees the cluster of before, which is being deleted, and deletes the StatefulSet of
the new one. The twin deletes only what belongs to the cluster that it sees, by uid.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1StatefulSet
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import Kept
from tests.simulation.bugs.objects import Kind, name_of, owner_uid, statefulset, uid_of

CLUSTER = Kind("rabbitmq.com", "RabbitmqCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1StatefulSet,)

    async def sync(self, cluster: dict[str, Any]) -> None:
        if self.cached(V1StatefulSet, name_of(cluster)) is None:
            await self.create(cluster, statefulset(cluster, cluster["spec"]["replicas"]))

    async def clean_up(self, cluster: dict[str, Any]) -> None:
        await self.delete(V1StatefulSet, name_of(cluster))


class Mended(Broken):
    async def clean_up(self, cluster: dict[str, Any]) -> None:
        found = await self.read(V1StatefulSet, name_of(cluster))
        if found is not None and owner_uid(found) == uid_of(cluster):
            await self.delete(V1StatefulSet, name_of(cluster), uid=uid_of(found))


async def scenario(user: User) -> None:
    user.always(Kept(CLUSTER, V1StatefulSet, lambda cluster: [name_of(cluster)]))
    await user.create(CLUSTER.new("rabbit", replicas=3))
    await user.delete(CLUSTER, "rabbit")
    await user.create(CLUSTER.new("rabbit", replicas=3))


BUG = Bug(
    "rabbitmq/cluster-operator#648",
    "restart onto a stale view",
    Broken,
    Mended,
    scenario,
    "restart",
    "rabbit is gone, which RabbitmqCluster rabbit asks for",
)
