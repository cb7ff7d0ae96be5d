"""instaclustr/cassandra-operator#398: a volume stays for ever, if nobody saw its pod end.

When a data center shrinks, the operator deletes a pod, and while it sees the pod end, the pod's volume. If it does
not look in that time, it never sees the pod end: the next that it hears of is that the pod is gone. Then the volume
stays. The twin goes by the volumes that are there, and not by what it sees of their pods.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ConfigMap, V1Pod
from tests.simulation.bugs.base import Bug, Operator, User
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
            if ordinal >= want and self.has_left(pods.get(ordinal)):
                await self.delete(V1ConfigMap, name_of(found), uid=uid_of(found))

    def has_left(self, found: V1Pod | None) -> bool:
        return found is not None and is_going(found)


class Mended(Broken):
    def has_left(self, found: V1Pod | None) -> bool:
        return found is None or is_going(found)


async def scenario(user: User) -> None:
    await user.create(DATA_CENTER.new("dc", nodes=2))
    await user.change(DATA_CENTER, "dc", nodes=1)


BUG = Bug(
    "instaclustr/cassandra-operator#398",
    "missed event in between",
    Broken,
    Mended,
    scenario,
    "hide",
    "data-dc-1: is there, and is not without faults",
)
