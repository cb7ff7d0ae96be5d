"""pravega/zookeeper-operator#314: a cluster that was scaled up loses a pod and its data, because a view is old.

A cluster went from two replicas to one, and back to two. After a restart onto an API server that still sees one, the
operator scales the StatefulSet down and deletes the volume of the second pod. The twin writes beside each number of
replicas which generation of the cluster asked for it, and does nothing for an older one.
"""

from __future__ import annotations

from typing import Any

from kinformer.manager import SyncError
from kinformer.models import V1ConfigMap, V1StatefulSet
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import Kept
from tests.simulation.bugs.objects import Kind, annotation_of, generation_of, name_of, ordinal_of, statefulset, volume

CLUSTER = Kind("zookeeper.pravega.io", "ZookeeperCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1StatefulSet, V1ConfigMap)

    async def sync(self, cluster: dict[str, Any]) -> None:
        want, name, generation = cluster["spec"]["replicas"], name_of(cluster), str(generation_of(cluster))
        found = await self.read(V1StatefulSet, name)
        if found is None:
            await self.create(cluster, statefulset(cluster, want, generation=generation))
        elif self.is_outdated(cluster, found):
            raise SyncError(f"{name} is known to be newer than the one that is seen")
        elif found.spec.replicas != want:
            meta = {"annotations": {"generation": generation}, "resourceVersion": found.metadata.resource_version}
            await self.patch(V1StatefulSet, name, {"metadata": meta, "spec": {"replicas": want}})
        data = {ordinal_of(found): found for found in await self.listed(V1ConfigMap, cluster=name)}
        for ordinal in range(want):
            if ordinal not in data:
                await self.create(cluster, volume(cluster, ordinal))
        for ordinal in data:
            if ordinal >= want:
                await self.delete(V1ConfigMap, name_of(data[ordinal]))

    def is_outdated(self, cluster: dict[str, Any], found: V1StatefulSet) -> bool:
        return False


class Mended(Broken):
    def is_outdated(self, cluster: dict[str, Any], found: V1StatefulSet) -> bool:
        return generation_of(cluster) < int(annotation_of(found, "generation"))


async def scenario(user: User) -> None:
    user.always(
        Kept(CLUSTER, V1ConfigMap, lambda cluster: [f"data-zk-{i}" for i in range(cluster["spec"]["replicas"])])
    )
    await user.create(CLUSTER.new("zk", replicas=2))
    await user.change(CLUSTER, "zk", replicas=1)
    await user.change(CLUSTER, "zk", replicas=2)


BUG = Bug(
    "pravega/zookeeper-operator#314",
    "stale spec undoes a scale-up",
    Broken,
    Mended,
    scenario,
    "restart",
    "data-zk-1 is gone, which ZookeeperCluster zk asks for",
)
