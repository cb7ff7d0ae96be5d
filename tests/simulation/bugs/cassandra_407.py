"""instaclustr/cassandra-operator#407: a pod that is seen to end costs the next pod of its name its data.

A data center went from two nodes to one, and back to two. When a pod is seen to end, the operator deletes the volume
that has its name. After a restart onto an API server that still sees the second pod of before end, it deletes the
volume of the second pod that is there now. The labels of the two are the same. The twin asks the server before
whether the data center still wants fewer nodes, and deletes the very volume that it has seen. Neither is enough by
itself: while an API server catches up, one cache shows the new volume and another the pod of before.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ConfigMap, V1Pod
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import Kept
from tests.simulation.bugs.objects import Kind, is_going, name_of, ordinal_of, pod, uid_of, volume

DATA_CENTER = Kind("cassandraoperator.instaclustr.com", "CassandraDataCenter")


class Broken(Operator):
    KIND = DATA_CENTER
    CHILDREN = (V1ConfigMap, V1Pod)

    async def sync(self, cluster: dict[str, Any]) -> None:
        want, name = cluster["spec"]["nodes"], name_of(cluster)
        pods = {ordinal_of(found): found for found in self.cached_of(V1Pod, cluster=name)}
        data = {ordinal_of(found): found for found in self.cached_of(V1ConfigMap, cluster=name)}
        for ordinal in range(want):
            if ordinal not in data:
                await self.create(cluster, volume(cluster, ordinal))
            if ordinal not in pods:
                await self.create(cluster, pod(cluster, ordinal, node="n1"))
        for ordinal, found in pods.items():
            if ordinal >= want and not is_going(found):
                await self.delete(V1Pod, name_of(found), uid=uid_of(found))
        for ordinal, found in data.items():
            if ordinal >= want and ordinal not in pods:
                await self.delete(V1ConfigMap, name_of(found), uid=uid_of(found))
            elif ordinal >= want and is_going(pods[ordinal]):
                await self.delete_volume(cluster, found)

    async def delete_volume(self, cluster: dict[str, Any], data: V1ConfigMap) -> None:
        await self.delete(V1ConfigMap, name_of(data))


class Mended(Broken):
    async def sync(self, cluster: dict[str, Any]) -> None:
        await self.confirm(cluster)
        await super().sync(cluster)

    async def delete_volume(self, cluster: dict[str, Any], data: V1ConfigMap) -> None:
        await self.delete(V1ConfigMap, name_of(data), uid=uid_of(data))


async def scenario(user: User) -> None:
    asked = Kept(DATA_CENTER, V1ConfigMap, lambda dc: [f"data-dc-{ordinal}" for ordinal in range(dc["spec"]["nodes"])])
    user.always(asked)
    await user.create(DATA_CENTER.new("dc", nodes=2))
    await user.change(DATA_CENTER, "dc", nodes=1)
    await user.change(DATA_CENTER, "dc", nodes=2)


BUG = Bug(
    "instaclustr/cassandra-operator#407",
    "stale spec undoes a scale-up",
    Broken,
    Mended,
    scenario,
    "restart",
    "data-dc-1 is gone, which CassandraDataCenter dc asks for",
)
