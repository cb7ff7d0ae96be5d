"""The controller against a server, where no scenario tells what should be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import V1ObjectMeta, V1Pod, V1PodSpec, V1ReplicationController, from_dict
from tests.controllers.objects import make_rc
from tests.turning import eventually

NAMESPACE = "default"


@asynccontextmanager
async def controlled(**options: Any) -> AsyncIterator[Client]:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        manager = Manager(client, controllers=["replicationcontroller"], options=options, clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            yield client
            tasks.cancel_scope.cancel()


def manifest(replicas: int, name: str = "web") -> V1ReplicationController:
    made = make_rc(replicas, name)
    container = {"name": "c", "image": "img"}
    made.spec.template.spec = from_dict(V1PodSpec, {"containers": [container]})
    made.metadata = V1ObjectMeta(name=name, namespace=NAMESPACE)
    return made


async def until(client: Client, holds: Callable[[V1ReplicationController], bool]) -> None:
    async def is_so() -> bool:
        rc = await client.resource(V1ReplicationController).get("web", NAMESPACE)
        return bool(rc.status and rc.status.observed_generation == rc.metadata.generation and holds(rc))

    await eventually(is_so, client.clock)


async def pods_of(client: Client) -> list[V1Pod]:
    return (await client.resource(V1Pod).list(NAMESPACE)).items


async def test_many_pods_are_made_over_several_syncs_and_exactly_as_many() -> None:
    async with controlled() as client:
        await client.resource(V1ReplicationController).create(manifest(620))
        await until(client, lambda rc: rc.status.replicas == 620)

        assert len(await pods_of(client)) == 620


async def test_without_garbage_collection_pods_count_by_label_and_have_no_owner() -> None:
    async with controlled(enable_garbage_collector=False) as client:
        pod = {"spec": {"containers": [{"name": "c", "image": "img"}]}, "metadata": {"labels": {"app": "web"}}}
        stray = from_dict(V1Pod, pod)
        stray.metadata.name, stray.metadata.namespace = "stray", NAMESPACE
        await client.resource(V1Pod).create(stray)
        rcs = client.resource(V1ReplicationController)
        await rcs.create(manifest(3))
        await until(client, lambda rc: rc.status.replicas == 3)

        pods = await pods_of(client)
        assert len(pods) == 3
        assert "stray" in {each.metadata.name for each in pods}
        assert all(not each.metadata.owner_references for each in pods)

        await rcs.patch("web", {"spec": {"replicas": 0}}, NAMESPACE)
        await until(client, lambda rc: rc.status.replicas == 0)
        assert await pods_of(client) == []


async def test_pods_come_back_when_they_are_deleted_one_after_the_other() -> None:
    async with controlled() as client:
        await client.resource(V1ReplicationController).create(manifest(2))
        await until(client, lambda rc: rc.status.replicas == 2)
        for _ in range(5):
            before = await pods_of(client)
            await client.resource(V1Pod).delete(before[0].metadata.name, NAMESPACE)
            names = {pod.metadata.name for pod in before}

            async def are_others(names: set[str] = names) -> bool:
                now = {pod.metadata.name for pod in await pods_of(client)}
                return len(now) == 2 and now != names

            await eventually(are_others, client.clock)
