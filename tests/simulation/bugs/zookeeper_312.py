"""pravega/zookeeper-operator#312: a cluster that is made again loses its data.

When a cluster is deleted, the operator deletes the volumes that have the cluster's name as a label. After a restart
onto an API server that is behind, it does so for the cluster of before, and the new cluster of that name has the same
label. The twin deletes only the volumes of the very cluster, by uid.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ConfigMap
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import Kept
from tests.simulation.bugs.objects import Kind, name_of, owner_uid, uid_of, volume

CLUSTER = Kind("zookeeper.pravega.io", "ZookeeperCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1ConfigMap,)

    async def sync(self, cluster: dict[str, Any]) -> None:
        for ordinal in range(cluster["spec"]["replicas"]):
            wanted = volume(cluster, ordinal)
            if self.cached(V1ConfigMap, name_of(wanted)) is None:
                await self.create(cluster, wanted)

    async def clean_up(self, cluster: dict[str, Any]) -> None:
        for found in await self.listed(V1ConfigMap, cluster=name_of(cluster)):
            await self.delete(V1ConfigMap, name_of(found))


class Mended(Broken):
    async def clean_up(self, cluster: dict[str, Any]) -> None:
        for found in await self.listed(V1ConfigMap, cluster=name_of(cluster)):
            if owner_uid(found) == uid_of(cluster):
                await self.delete(V1ConfigMap, name_of(found), uid=uid_of(found))


async def scenario(user: User) -> None:
    user.always(Kept(CLUSTER, V1ConfigMap, lambda cluster: ["data-zk-0", "data-zk-1"]))
    await user.create(CLUSTER.new("zk", replicas=2))
    await user.delete(CLUSTER, "zk")
    await user.create(CLUSTER.new("zk", replicas=2))


BUG = Bug(
    "pravega/zookeeper-operator#312",
    "restart onto a stale view",
    Broken,
    Mended,
    scenario,
    "restart",
    "data-zk-0 is gone, which ZookeeperCluster zk asks for",
)
