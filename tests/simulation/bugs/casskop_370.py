"""Orange-OpenSource/casskop#370: an operator that was killed while it took a node away never does anything again.

To take a node away the operator notes in the status that it has begun, deletes the pod, and notes that the pod is to
be gone. Then it deletes the volume. While it has begun, a pod that is not there is an error. If the operator is
killed between the deletion and the second note, that error comes at each try: the volume stays, and nothing else that
users ask for is done. For the twin a pod that is not there has been deleted.
"""

from __future__ import annotations

from typing import Any

from kinformer.manager import SyncError
from kinformer.models import V1ConfigMap, V1Pod
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.objects import Kind, name_of, ordinal_of, pod, uid_of, volume

CLUSTER = Kind("db.orange.com", "CassandraCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1ConfigMap, V1Pod)

    async def sync(self, cluster: dict[str, Any]) -> None:
        want, name, status = cluster["spec"]["nodes"], name_of(cluster), cluster.get("status", {})
        leaving = status.get("leaving", "")
        match status.get("operation", "Done"):
            case "Ongoing":
                found = await self.read(V1Pod, leaving)
                if found is None:
                    self.pod_is_missing(leaving)
                else:
                    await self.delete(V1Pod, leaving, uid=uid_of(found))
                await self.set_status(cluster, operation="Finalizing", leaving=leaving)
            case "Finalizing" if await self.read(V1Pod, leaving) is None:
                await self.delete(V1ConfigMap, f"data-{leaving}")
                await self.set_status(cluster, operation="Done", leaving="")
            case "Done":
                data = await self.listed(V1ConfigMap, cluster=name)
                if extra := [ordinal_of(found) for found in data if ordinal_of(found) >= want]:
                    await self.set_status(cluster, operation="Ongoing", leaving=f"{name}-{max(extra)}")
                    return
                for ordinal in range(want):
                    for child in (volume(cluster, ordinal), pod(cluster, ordinal)):
                        if self.cached(type(child), name_of(child)) is None:
                            await self.create(cluster, child)

    def pod_is_missing(self, name: str) -> None:
        raise SyncError(f"cannot take {name} away: there is no such pod")


class Mended(Broken):
    def pod_is_missing(self, name: str) -> None:
        pass


async def scenario(user: User) -> None:
    await user.create(CLUSTER.new("dc1", nodes=2))
    await user.change(CLUSTER, "dc1", nodes=1)


BUG = Bug(
    "Orange-OpenSource/casskop#370",
    "crash between two writes",
    Broken,
    Mended,
    scenario,
    "crash",
    "data-dc1-1: is there, and is not without faults",
)
