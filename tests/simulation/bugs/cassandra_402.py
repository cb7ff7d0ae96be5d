"""instaclustr/cassandra-operator#402: a data center that is made again loses its data.

With ``deletePVCs`` the operator deletes the volumes of a data center that goes. It finds them by the labels
``cluster`` and ``datacenter``, which a data center that is made again has as well. So a restart onto an API server
that still sees the old one costs the new one its volumes. The twin has the data center's uid among the labels, and
deletes the very volumes that it has listed.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ConfigMap
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import Kept
from tests.simulation.bugs.objects import Kind, name_of, uid_of, volume

DATA_CENTER = Kind("cassandraoperator.instaclustr.com", "CassandraDataCenter")


class Broken(Operator):
    KIND = DATA_CENTER
    CHILDREN = (V1ConfigMap,)

    async def sync(self, cluster: dict[str, Any]) -> None:
        labels = {"datacenter": cluster["spec"]["datacenter"], "uid": uid_of(cluster)}
        for ordinal in range(cluster["spec"]["nodes"]):
            wanted = volume(cluster, ordinal, **labels)
            if self.cached(V1ConfigMap, name_of(wanted)) is None:
                await self.create(cluster, wanted)

    async def clean_up(self, cluster: dict[str, Any]) -> None:
        if cluster["spec"]["deletePVCs"]:
            await self.delete_volumes(cluster)

    async def delete_volumes(self, cluster: dict[str, Any]) -> None:
        labels = {"cluster": name_of(cluster), "datacenter": cluster["spec"]["datacenter"]}
        for found in await self.listed(V1ConfigMap, **labels):
            await self.delete(V1ConfigMap, name_of(found))


class Mended(Broken):
    async def delete_volumes(self, cluster: dict[str, Any]) -> None:
        for found in await self.listed(V1ConfigMap, cluster=name_of(cluster), uid=uid_of(cluster)):
            await self.delete(V1ConfigMap, name_of(found), uid=uid_of(found))


async def scenario(user: User) -> None:
    user.always(Kept(DATA_CENTER, V1ConfigMap, lambda cluster: ["data-test-0"]))
    spec = {"datacenter": "dc1", "nodes": 1, "deletePVCs": True}
    await user.create(DATA_CENTER.new("test", **spec))
    await user.delete(DATA_CENTER, "test")
    await user.create(DATA_CENTER.new("test", **spec))


BUG = Bug(
    "instaclustr/cassandra-operator#402",
    "restart onto a stale view",
    Broken,
    Mended,
    scenario,
    "restart",
    "data-test-0 is gone, which CassandraDataCenter test asks for",
)
