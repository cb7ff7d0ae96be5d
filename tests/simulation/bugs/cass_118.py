"""k8ssandra/cass-operator#118: a data center that is made again loses its data.

The operator takes a deletion that an API server still shows for one that is wanted now. It makes out the names of the
volumes of the data center, and deletes what has these names. Since then the data center was made again, and the names
are those of its new volumes. The twin looks at the server whose volumes they are.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ConfigMap
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import Kept
from tests.simulation.bugs.objects import Kind, name_of, owner_uid, uid_of, volume

DATA_CENTER = Kind("cassandra.datastax.com", "CassandraDatacenter")


class Broken(Operator):
    KIND = DATA_CENTER
    CHILDREN = (V1ConfigMap,)

    async def sync(self, cluster: dict[str, Any]) -> None:
        for wanted in self.volumes(cluster):
            if self.cached(V1ConfigMap, name_of(wanted)) is None:
                await self.create(cluster, wanted)

    async def clean_up(self, cluster: dict[str, Any]) -> None:
        for wanted in self.volumes(cluster):
            await self.delete(V1ConfigMap, name_of(wanted))

    def volumes(self, cluster: dict[str, Any]) -> list[V1ConfigMap]:
        return [volume(cluster, ordinal) for ordinal in range(cluster["spec"]["size"])]


class Mended(Broken):
    async def clean_up(self, cluster: dict[str, Any]) -> None:
        for wanted in self.volumes(cluster):
            found = await self.read(V1ConfigMap, name_of(wanted))
            if found is not None and owner_uid(found) == uid_of(cluster):
                await self.delete(V1ConfigMap, name_of(found), uid=uid_of(found))


async def scenario(user: User) -> None:
    user.always(Kept(DATA_CENTER, V1ConfigMap, lambda cluster: ["data-dc-0", "data-dc-1"]))
    await user.create(DATA_CENTER.new("dc", size=2))
    await user.delete(DATA_CENTER, "dc")
    await user.create(DATA_CENTER.new("dc", size=2))


BUG = Bug(
    "k8ssandra/cass-operator#118",
    "restart onto a stale view",
    Broken,
    Mended,
    scenario,
    "restart",
    "data-dc-0 is gone, which CassandraDatacenter dc asks for",
)
