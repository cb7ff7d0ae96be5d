"""A volume is emptied by a pod that is waited for, against the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.models import V1PersistentVolume, V1Pod, from_dict
from kinformer_controllers.shared.volumes.host_path import PodRecycler, RecycleError

NAME = "recycler-for-v"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer(controllers=False) as server, connect(url=server.url, token=server.token) as client:
        yield client


def volume(size: str = "1Gi") -> V1PersistentVolume:
    spec = {"capacity": {"storage": size}, "hostPath": {"path": "/data"}}
    return from_dict(V1PersistentVolume, {"metadata": {"name": "v"}, "spec": spec})


async def appears(client: Client) -> V1Pod:
    async with client.resource(V1Pod).watch("default") as events:
        async for batch in events:
            return batch[0].object
    raise AssertionError("no pod came")


async def recycled(client: Client, **status: Any) -> tuple[V1Pod, Exception | None]:
    """Recycle, the pod coming to some status; gives the pod as it was made."""
    problem: list[Exception] = []

    async def recycle() -> None:
        try:
            await PodRecycler(client, "x", "host_path").recycle(volume("3Gi"))
        except Exception as error:
            problem.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recycle)
        pod = await appears(client)
        if status:
            await client.resource(V1Pod).patch(NAME, {"status": status}, "default", subresource="status")
        else:
            await client.resource(V1Pod).delete(NAME, "default")
    return pod, problem[0] if problem else None


async def test_a_pod_empties_the_volume_and_goes() -> None:
    async with ApiServer(controllers=False) as server, connect(url=server.url, token=server.token) as client:
        pod, problem = await recycled(client, phase="Succeeded")

        assert problem is None
        spec: Any = pod.spec
        assert spec.volumes[0].host_path.path == "/data"
        assert spec.containers[0].volume_mounts[0].mount_path == "/scrub"
        assert spec.restart_policy == "Never"
        assert spec.active_deadline_seconds == 90
        assert not (await client.resource(V1Pod).list("default")).items


async def test_a_pod_that_fails_says_why(client: Client) -> None:
    _, problem = await recycled(client, phase="Failed", message="disk on fire")

    assert isinstance(problem, RecycleError)
    assert str(problem) == "disk on fire"
    assert not (await client.resource(V1Pod).list("default")).items


async def test_a_pod_that_somebody_deletes_has_emptied_nothing(client: Client) -> None:
    _, problem = await recycled(client)

    assert str(problem) == "recycler pod was deleted"


async def test_an_older_pod_is_deleted_and_the_next_try_makes_its_own(client: Client) -> None:
    container = {"name": "c", "image": "i"}
    older = {"metadata": {"name": NAME, "namespace": "default"}, "spec": {"containers": [container]}}
    await client.resource(V1Pod).create(from_dict(V1Pod, older))

    with pytest.raises(RecycleError, match="old recycler pod found, will retry later"):
        await PodRecycler(client, "x", "host_path").recycle(volume())

    assert not (await client.resource(V1Pod).list("default")).items
