"""rabbitmq/cluster-operator#653: a StatefulSet is deleted because a view is old.

A StatefulSet's storage cannot be changed. So where a cluster asks for another size, the operator deletes the
StatefulSet, changes the volumes, and makes the StatefulSet again. Volumes can only grow, but the operator asks
whether the sizes differ. After a restart onto an API server that is behind, it sees the size of before, and deletes a
StatefulSet that was right. The twin asks whether the cluster wants more.
"""

from __future__ import annotations

from typing import Any

from kinformer.manager import SyncError
from kinformer.models import V1ConfigMap, V1StatefulSet
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import Kept, Stored
from tests.simulation.bugs.objects import Kind, annotation_of, name_of, statefulset, volume

CLUSTER = Kind("rabbitmq.com", "RabbitmqCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1StatefulSet, V1ConfigMap)

    async def sync(self, cluster: dict[str, Any]) -> None:
        want, name = cluster["spec"]["storage"], name_of(cluster)
        found = await self.read(V1StatefulSet, name)
        if found is not None and self.is_to_change(int(annotation_of(found, "storage")), want):
            await self.delete(V1StatefulSet, name)
            found = None
        data = await self.read(V1ConfigMap, f"data-{name}-0")
        if data is None:
            await self.create(cluster, volume(cluster, 0, str(want)))
        elif self.is_to_change(size := int(data.data["size"]), want):
            if size > want:
                raise SyncError("volumes cannot shrink")
            await self.patch(V1ConfigMap, name_of(data), {"data": {"size": str(want)}})
        if found is None:
            await self.create(cluster, statefulset(cluster, 1, storage=str(want)))

    def is_to_change(self, size: int, want: int) -> bool:
        return size != want


class Mended(Broken):
    def is_to_change(self, size: int, want: int) -> bool:
        return size < want


def has_the_size_asked_for(cluster: Stored, found: Stored) -> bool:
    return bool(found["metadata"]["annotations"]["storage"] == str(cluster["spec"]["storage"]))


async def scenario(user: User) -> None:
    user.always(Kept(CLUSTER, V1StatefulSet, lambda cluster: ["rabbit"], has_the_size_asked_for))
    await user.create(CLUSTER.new("rabbit", storage=10))
    await user.change(CLUSTER, "rabbit", storage=15)


BUG = Bug(
    "rabbitmq/cluster-operator#653",
    "stale spec undoes a change",
    Broken,
    Mended,
    scenario,
    "restart",
    "rabbit is gone, which RabbitmqCluster rabbit asks for",
)
