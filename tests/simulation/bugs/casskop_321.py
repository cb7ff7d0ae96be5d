"""Orange-OpenSource/casskop#321: a disruption budget is deleted and made again, and is what it was before.

Where a cluster allows another number of pods to be away than its budget does, the operator deletes the budget and
makes one anew. After a restart onto an API server that is behind, the number of before is the other one: the budget
is deleted and made with it, and once more when the API server has caught up. In between evictions are refused that
the user has allowed. The twin notes which generation of the cluster a budget is for, leaves newer ones alone, and
changes a budget in place.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1PodDisruptionBudget, from_dict
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.invariants import NeverLess
from tests.simulation.bugs.objects import Kind, annotation_of, generation_of, meta_of_child, name_of

CLUSTER = Kind("db.orange.com", "CassandraCluster")


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1PodDisruptionBudget,)

    async def sync(self, cluster: dict[str, Any]) -> None:
        wanted = budget(cluster)
        found = await self.read(V1PodDisruptionBudget, name_of(wanted))
        if found is None:
            await self.create(cluster, wanted)
        elif found.spec.max_unavailable != wanted.spec.max_unavailable:
            await self.replace(found, wanted)

    async def replace(self, found: V1PodDisruptionBudget, wanted: V1PodDisruptionBudget) -> None:
        await self.delete(V1PodDisruptionBudget, name_of(found))
        await self.client.resource(V1PodDisruptionBudget).create(wanted)


class Mended(Broken):
    async def replace(self, found: V1PodDisruptionBudget, wanted: V1PodDisruptionBudget) -> None:
        if int(annotation_of(found, "generation")) < int(annotation_of(wanted, "generation")):
            wanted.metadata.resource_version = found.metadata.resource_version
            await self.client.resource(V1PodDisruptionBudget).update(wanted)


def budget(cluster: dict[str, Any]) -> V1PodDisruptionBudget:
    meta = meta_of_child(cluster, name_of(cluster), {"generation": str(generation_of(cluster))})
    selector = {"matchLabels": {"cluster": name_of(cluster)}}
    spec = {"maxUnavailable": cluster["spec"]["maxPodUnavailable"], "selector": selector}
    return from_dict(V1PodDisruptionBudget, {"metadata": meta, "spec": spec})


async def scenario(user: User) -> None:
    user.always(
        NeverLess(
            "the number of pods that may be away", V1PodDisruptionBudget, "dc1", lambda it: it["spec"]["maxUnavailable"]
        )
    )
    await user.create(CLUSTER.new("dc1", maxPodUnavailable=1))
    await user.change(CLUSTER, "dc1", maxPodUnavailable=2)


BUG = Bug(
    "Orange-OpenSource/casskop#321",
    "create and delete oscillate",
    Broken,
    Mended,
    scenario,
    "restart",
    "went from 2 to 1; nobody has asked for less",
)
