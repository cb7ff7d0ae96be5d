"""StatefulSets and DaemonSets through whatever chance does to them, with all watches of their controller held back.

The test changes, scales and deletes, and plays scheduler and kubelet. At each moment no StatefulSet has two pods on
their way that must come one by one, and no node has more daemon pods than it may. In the end all is as the spec says,
and nothing is written any more.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.client import Client, PatchType, connect
from kinformer.client.errors import NotFound
from kinformer.client.types import DeleteOptions
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import V1DaemonSet, V1Node, V1PersistentVolumeClaim, V1Pod, V1StatefulSet, to_dict
from kinformer_controllers.daemonset.template import target_node
from tests.controllers.daemonset.objects import make_daemonset, make_node, rolling
from tests.controllers.scenarios.transports import HeldBack
from tests.controllers.statefulset.objects import make_set
from tests.golden.pace import scenario_clock
from tests.turning import turn

SEEDS = 2
STEPS = 30
ROUNDS = 40
HELD = ("pods", "statefulsets", "daemonsets", "persistentvolumeclaims", "controllerrevisions", "nodes")


class World:
    """A cluster with one workload, and what chance does to it."""

    def __init__(self, client: Client, clock: FakeClock, rng: random.Random, transport: HeldBack) -> None:
        self.client = client
        self.clock = clock
        self.rng = rng
        self.transport = transport
        self.pods = client.resource(V1Pod)

    async def all_pods(self) -> list[V1Pod]:
        return (await self.pods.list("default")).items

    async def play_kubelet(self, chance: float) -> None:
        """Pods run, become ready, fail, or are gone, each by chance."""
        for pod in await self.all_pods():
            name = pod.metadata.name
            if self.rng.random() > chance:
                continue
            try:
                if pod.metadata.deletion_timestamp:
                    await self.pods.delete(name, "default", DeleteOptions(grace_period_seconds=0))
                    continue
                if not pod.spec or not pod.spec.node_name:
                    await self.pods.bind(name, target_node(pod) or "n1", "default")
                failed = chance < 1 and self.rng.random() < 0.1
                since = self.clock.now().isoformat().replace("+00:00", "Z")
                ready = {"type": "Ready", "status": str(not failed), "lastTransitionTime": since}
                if pod.status.phase == "Pending":
                    status = {"phase": "Failed" if failed else "Running", "conditions": [ready]}
                    await self.pods.patch(name, {"status": status}, "default", subresource="status")
            except NotFound:
                continue

    async def delete_some_pod(self) -> None:
        pods = await self.all_pods()
        if pods:
            grace = DeleteOptions(grace_period_seconds=self.rng.choice((0, 30)))
            await self.pods.delete(self.rng.choice(pods).metadata.name, "default", grace)

    async def change(self, model: Any, name: str, spec: dict[str, Any]) -> None:
        await self.client.resource(model).patch(name, {"spec": spec}, "default", patch_type=PatchType.MERGE)

    async def settle(self) -> None:
        """Run everything until nothing comes any more."""
        for _ in range(ROUNDS):
            await self.play_kubelet(1.0)
            await turn(self.clock, 5)

    async def versions(self, *models: Any) -> list[tuple[str, str | None]]:
        found = [each for model in models for each in (await self.client.resource(model).list("default")).items]
        return [(each.metadata.name, each.metadata.resource_version) for each in found]


@asynccontextmanager
async def living(seed: int, controller: str) -> AsyncIterator[World]:
    clock, rng = scenario_clock(), random.Random(seed)
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        HeldBack(server, clock, random.Random(seed + 1), HELD) as transport,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(Manager(Client(transport), controllers=[controller], clock=clock).run)
        yield World(client, clock, rng, transport)
        assert transport.held, "nothing was held back"
        tasks.cancel_scope.cancel()


def template(image: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": image}]}}


def image_of(pod: V1Pod) -> str | None:
    return pod.spec.containers[0].image if pod.spec else None


def in_default(obj: Any, name: str) -> dict[str, Any]:
    body: dict[str, Any] = to_dict(obj)
    body["metadata"] = {"name": name, "namespace": "default"}
    return body


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
async def test_a_stateful_set_comes_to_what_its_spec_says(policy: str, seed: int) -> None:
    async with living(seed, "statefulset") as world:
        sets = world.client.resource(V1StatefulSet)
        wanted = make_set(3, volumes=("data",), podManagementPolicy=policy)
        await sets.create(in_default(wanted, "web"))
        replicas, image = 3, "img"
        for _ in range(STEPS):
            match world.rng.randrange(5):
                case 0:
                    replicas = world.rng.randrange(5)
                    await world.change(V1StatefulSet, "web", {"replicas": replicas})
                case 1:
                    image = world.rng.choice(("a", "b", "c"))
                    await world.change(V1StatefulSet, "web", {"template": template(image)})
                case 2:
                    await world.delete_some_pod()
                case _:
                    await world.play_kubelet(0.7)
            await turn(world.clock, world.rng.choice((0.05, 0.5, 5.0)))
            pending = [pod for pod in await world.all_pods() if pod.status.phase == "Pending"]
            assert policy == "Parallel" or len([p for p in pending if not p.metadata.deletion_timestamp]) <= 1
        if policy == "OrderedReady":
            # A pod that is not ready holds up all others, as in Kubernetes: somebody has to remove it.
            for pod in await world.all_pods():
                await world.pods.delete(pod.metadata.name, "default", DeleteOptions(grace_period_seconds=0))
        await world.settle()

        pods = sorted((pod.metadata.name, image_of(pod)) for pod in await world.all_pods())
        assert pods == [(f"web-{ordinal}", image) for ordinal in range(replicas)]
        claims = {
            one.metadata.name for one in (await world.client.resource(V1PersistentVolumeClaim).list("default")).items
        }
        assert {f"data-web-{ordinal}" for ordinal in range(replicas)} <= claims
        found = (await sets.get("web", "default")).status
        assert found is not None
        assert ((found.replicas or 0), (found.ready_replicas or 0)) == (replicas, replicas)
        assert found.current_revision == found.update_revision
        before = await world.versions(V1StatefulSet, V1Pod, V1PersistentVolumeClaim)
        await turn(world.clock, 3600)
        assert await world.versions(V1StatefulSet, V1Pod, V1PersistentVolumeClaim) == before


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("surge", [0, 2])
async def test_a_daemon_set_comes_to_one_pod_on_each_node(surge: int, seed: int) -> None:
    async with living(seed, "daemonset") as world:
        nodes = world.client.resource(V1Node)
        for number in range(1, 5):
            body = to_dict(make_node(f"n{number}"))
            body["metadata"].pop("resourceVersion")
            await nodes.create(body)
            # The server taints a new node as not ready, until somebody takes that off.
            await nodes.patch(f"n{number}", {"spec": {"taints": None}}, patch_type=PatchType.MERGE)
        strategy = rolling(maxUnavailable=0 if surge else 2, maxSurge=surge)
        await world.client.resource(V1DaemonSet).create(in_default(make_daemonset(strategy=strategy), "agent"))
        image, selector = "img", False
        for _ in range(STEPS):
            match world.rng.randrange(6):
                case 0:
                    image = world.rng.choice(("a", "b", "c"))
                    await world.change(V1DaemonSet, "agent", {"template": template(image)})
                case 1:
                    await world.delete_some_pod()
                case 2:
                    selector = not selector
                    chosen = {"here": "yes"} if selector else None
                    await world.change(V1DaemonSet, "agent", {"template": {"spec": {"nodeSelector": chosen}}})
                case 3:
                    name, here = f"n{world.rng.randrange(1, 5)}", world.rng.choice(("yes", "no"))
                    patch = {"metadata": {"labels": {"here": here}}}
                    await nodes.patch(name, patch, patch_type=PatchType.MERGE)
                case _:
                    await world.play_kubelet(0.7)
            await turn(world.clock, world.rng.choice((0.05, 0.5, 5.0)))
            on = Counter(target_node(pod) for pod in await world.all_pods() if not pod.metadata.deletion_timestamp)
            assert max(on.values(), default=0) <= (2 if surge else 1), on
        await world.settle()

        there = (await nodes.list()).items
        labels = {one.metadata.name: one.metadata.labels or {} for one in there}
        wanted = sorted(name for name in labels if not selector or labels[name].get("here") == "yes")
        pods = sorted((target_node(pod) or "", image_of(pod)) for pod in await world.all_pods())
        assert pods == [(name, image) for name in wanted]
        found = (await world.client.resource(V1DaemonSet).get("agent", "default")).status
        assert (found.number_ready, found.updated_number_scheduled or 0) == (len(wanted), len(wanted))
        before = await world.versions(V1DaemonSet, V1Pod)
        await turn(world.clock, 3600)
        assert await world.versions(V1DaemonSet, V1Pod) == before
