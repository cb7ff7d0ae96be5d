"""konpyutaika/nifikop#49: pods go on with an old configuration, if the operator is killed halfway.

Where a cluster's configuration has changed, the operator writes it to where pods read it from, and then replaces the
pods. If it is killed in between, its successor finds the new configuration written, and nothing to do. The twin has
each pod say which configuration it was started with, and compares that. It also asks the server what the cluster is to
have, so that an old view of it does not bring the old configuration back.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1ConfigMap, V1Pod
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.objects import Kind, annotation_of, name_of, pod, uid_of, volume

CLUSTER = Kind("nifi.konpyutaika.com", "NifiCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1ConfigMap, V1Pod)

    async def sync(self, cluster: dict[str, Any]) -> None:
        config = cluster["spec"]["config"]
        written = volume(cluster, 0, config)
        found = await self.read(V1ConfigMap, name_of(written))
        if found is None:
            await self.create(cluster, written)
        if changed := found is not None and found.data["size"] != config:
            await self.patch(V1ConfigMap, name_of(written), {"data": {"size": config}})
        for ordinal in range(cluster["spec"]["nodes"]):
            wanted = pod(cluster, ordinal, config=config)
            running = await self.read(V1Pod, name_of(wanted))
            if running is not None and self.is_to_be_replaced(running, config, changed):
                await self.delete(V1Pod, name_of(running), uid=uid_of(running))
                running = None
            if running is None:
                await self.create(cluster, wanted)

    def is_to_be_replaced(self, running: V1Pod, config: str, changed: bool) -> bool:
        return changed


class Mended(Broken):
    async def sync(self, cluster: dict[str, Any]) -> None:
        await self.confirm(cluster)
        await super().sync(cluster)

    def is_to_be_replaced(self, running: V1Pod, config: str, changed: bool) -> bool:
        return annotation_of(running, "config") != config


async def scenario(user: User) -> None:
    await user.create(CLUSTER.new("nifi", nodes=2, config="threads=10"))
    await user.change(CLUSTER, "nifi", config="threads=20")


BUG = Bug(
    "konpyutaika/nifikop#49",
    "crash between two writes",
    Broken,
    Mended,
    scenario,
    "crash",
    'metadata.annotations.config is "threads=10"; without faults it is "threads=20"',
)
