"""rabbitmq/cluster-operator#758: a cluster is scaled down, if nobody saw that it was larger.

Clusters must not shrink. The operator compares what is asked for with the StatefulSet, and refuses to have fewer
replicas. A user asks for three and then for two. If the operator does not see the three, it takes the two for more
than the one that there is. What a user may not ask for cannot be left to who sees only some of it. With the twin the
API server refuses it, by a rule in the definition of the resource.
"""

from __future__ import annotations

from typing import Any

from kinformer.models import V1StatefulSet
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.objects import Kind, name_of, statefulset

CLUSTER = Kind("rabbitmq.com", "RabbitmqCluster")
REPLICAS = {"replicas": {"type": "integer"}}
RULE = {"rule": "self.replicas >= oldSelf.replicas", "message": "clusters cannot shrink"}


class Broken(Operator):
    KIND = CLUSTER
    CHILDREN = (V1StatefulSet,)

    @classmethod
    def definition(cls) -> dict[str, Any]:
        return CLUSTER.definition(properties=REPLICAS)

    async def sync(self, cluster: dict[str, Any]) -> None:
        want = cluster["spec"]["replicas"]
        found = await self.read(V1StatefulSet, name_of(cluster))
        if found is None:
            await self.create(cluster, statefulset(cluster, want))
        elif found.spec.replicas < want:
            await self.patch(V1StatefulSet, name_of(cluster), {"spec": {"replicas": want}})


class Mended(Broken):
    @classmethod
    def definition(cls) -> dict[str, Any]:
        return CLUSTER.definition(properties=REPLICAS, **{"x-kubernetes-validations": [RULE]})


async def scenario(user: User) -> None:
    await user.create(CLUSTER.new("rabbit", replicas=1))
    await user.change_in_passing(CLUSTER, "rabbit", replicas=3)
    await user.try_to_change(CLUSTER, "rabbit", replicas=2)


BUG = Bug(
    "rabbitmq/cluster-operator#758",
    "missed event in between",
    Broken,
    Mended,
    scenario,
    "hide",
    "spec.replicas is 2; without faults it is 3",
)
