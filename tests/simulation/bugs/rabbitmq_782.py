"""rabbitmq/cluster-operator#782: volumes do not grow, if the operator is killed halfway.

Where a cluster asks for more storage than its StatefulSet has, the operator deletes the StatefulSet, lets the volumes
grow, and makes the StatefulSet again. If it is killed after the first step, its successor finds no StatefulSet, and
makes one with the new size. Nothing differs any more, and the volumes stay as they are. The twin compares the volumes
themselves.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ConfigMap, V1StatefulSet
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.objects import Kind, annotation_of, name_of, statefulset, volume

CLUSTER = Kind("rabbitmq.com", "RabbitmqCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1StatefulSet, V1ConfigMap)

    async def sync(self, cluster: dict[str, Any]) -> None:
        want, name = cluster["spec"]["storage"], name_of(cluster)
        data = await self.read(V1ConfigMap, f"data-{name}-0")
        if data is None:
            await self.create(cluster, volume(cluster, 0, str(want)))
        found = await self.read(V1StatefulSet, name)
        too_small = found is not None and int(annotation_of(found, "storage")) < want
        if too_small:
            await self.delete(V1StatefulSet, name)
            found = None
        if data is not None and self.is_to_grow(data, want, too_small):
            await self.patch(V1ConfigMap, name_of(data), {"data": {"size": str(want)}})
        if found is None:
            await self.create(cluster, statefulset(cluster, 1, storage=str(want)))

    def is_to_grow(self, data: V1ConfigMap, want: int, too_small: bool) -> bool:
        return too_small


class Mended(Broken):
    def is_to_grow(self, data: V1ConfigMap, want: int, too_small: bool) -> bool:
        return data.data is not None and int(data.data["size"]) < want


async def scenario(user: User) -> None:
    await user.create(CLUSTER.new("rabbit", storage=10))
    await user.change(CLUSTER, "rabbit", storage=15)


BUG = Bug(
    "rabbitmq/cluster-operator#782",
    "crash between two writes",
    Broken,
    Mended,
    scenario,
    "crash",
    'data.size is "10"; without faults it is "15"',
)
