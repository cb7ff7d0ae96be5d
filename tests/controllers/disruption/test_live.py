"""The controller with a manager, against the embedded server: evictions are allowed and refused as they should be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import structlog

from kinformer.client import Client, Resource, TooManyRequests, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import V1Pod, V1PodDisruptionBudget, from_dict
from kinformer_controllers.disruption.controller import DisruptionController
from tests.definitions import definition
from tests.turning import eventually, turn


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[Client, FakeClock]]:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        manager = Manager(client, known={"disruption": DisruptionController}, controllers=["disruption"], clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            yield client, clock
            tasks.cancel_scope.cancel()


async def make_pods(client: Client, *names: str) -> None:
    pods = client.resource(V1Pod)
    for name in names:
        meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
        spec = {"containers": [{"name": "c", "image": "img"}]}
        await pods.create(from_dict(V1Pod, {"metadata": meta, "spec": spec}))
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"phase": "Running", "conditions": [condition]}
        await pods.patch(name, {"status": status}, "default", subresource="status")


async def make_budget(client: Client, name: str = "b", **spec: Any) -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}} | spec
    budget = from_dict(V1PodDisruptionBudget, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    await client.resource(V1PodDisruptionBudget).create(budget)


async def allowed(client: Client) -> int | None:
    budget = await client.resource(V1PodDisruptionBudget).get("b", "default")
    return budget.status.disruptions_allowed if budget.status is not None and budget.status.conditions else None


async def test_evictions_are_allowed_until_the_budget_is_used_up() -> None:
    async with cluster() as (client, clock):
        await make_pods(client, "p1", "p2", "p3")
        await make_budget(client, minAvailable=2)
        await eventually(lambda: is_allowed(client, 1), clock)
        pods = client.resource(V1Pod)

        await pods.evict("p1", "default")
        with pytest.raises(TooManyRequests):
            await pods.evict("p2", "default")

        await eventually(lambda: is_allowed(client, 0), clock)
        await make_pods(client, "p4")
        await eventually(lambda: is_allowed(client, 1), clock)
        await pods.evict("p2", "default")


async def test_the_scale_of_a_custom_resource_is_what_its_pods_should_be() -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    sets_are = definition("sets", "Set", subresources={"scale": scale})
    async with cluster() as (client, clock):
        await (await client.resource_for_object(sets_are)).create(sets_are)
        sets = client.resource(dict, ("example.com", "v1", "sets"), namespaced=True, kind="Set")
        made = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"replicas": 4}}
        owner = await sets.create({"apiVersion": "example.com/v1", "kind": "Set", **made})
        await make_pods(client, "p1", "p2", "p3")
        reference = {"apiVersion": "example.com/v1", "kind": "Set", "name": "s", "controller": True}
        owned = {"metadata": {"ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}]}}
        for name in ("p1", "p2", "p3"):
            await client.resource(V1Pod).patch(name, owned, "default")
        await make_budget(client, maxUnavailable="50%")

        await eventually(lambda: is_allowed(client, 1), clock)


async def test_an_eviction_without_a_deletion_is_returned_after_two_minutes() -> None:
    async with cluster() as (client, clock):
        await make_pods(client, "p1", "p2")
        await make_budget(client, minAvailable=1)
        await eventually(lambda: is_allowed(client, 1), clock)
        noted = {"disruptionsAllowed": 0, "disruptedPods": {"p1": clock.now().isoformat().replace("+00:00", "Z")}}
        await client.resource(V1PodDisruptionBudget).patch("b", {"status": noted}, "default", subresource="status")

        await turn(clock, 119)
        assert await allowed(client) == 0
        await turn(clock, 3)
        assert await allowed(client) == 1


async def test_a_stale_disruption_target_is_taken_back_by_the_clock() -> None:
    async with cluster() as (client, clock):
        await make_pods(client, "p1")
        pods = client.resource(V1Pod)
        since = clock.now().isoformat().replace("+00:00", "Z")
        target = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": since}
        await pods.patch("p1", {"status": {"conditions": [target]}}, "default", subresource="status")

        await turn(clock, 119)
        assert await disruption_target(client) == "True"
        await turn(clock, 3)
        assert await disruption_target(client) == "False"


async def is_allowed(client: Client, number: int) -> bool:
    return await allowed(client) == number


async def disruption_target(client: Client) -> str:
    pod = await client.resource(V1Pod).get("p1", "default")
    assert pod.status is not None
    return next(one.status for one in pod.status.conditions or () if one.type == "DisruptionTarget")


async def test_a_budget_waits_for_a_cache_with_its_own_last_write() -> None:
    async with cluster() as (client, clock):
        await make_budget(client, minAvailable=1)
        await eventually(lambda: is_allowed(client, 0), clock)
        with structlog.testing.capture_logs() as logged:
            for number in range(5):
                await make_pods(client, f"p{number}")
            await eventually(lambda: is_allowed(client, 4), clock)

        assert [entry for entry in logged if entry["event"] == "sync_conflicted"] == []


async def test_a_write_that_hangs_does_not_hold_up_other_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Resource.update_status
    hangs = anyio.Event()

    async def write_or_hang(self: Resource[Any], obj: Any, **options: Any) -> Any:
        if obj.metadata.name == "slow":
            hangs.set()
            await anyio.sleep_forever()
        return await write(self, obj, **options)

    monkeypatch.setattr(Resource, "update_status", write_or_hang)
    async with cluster() as (client, clock):
        await make_budget(client, "slow", minAvailable=1)
        await eventually(hangs.is_set, clock)
        await make_pods(client, "p1")
        await make_budget(client, minAvailable=0)

        await eventually(lambda: is_allowed(client, 1), clock)
