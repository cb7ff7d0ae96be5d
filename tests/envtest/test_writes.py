"""A test can say that nobody writes, and is told who did, and what."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from kinformer.client import Client, ClientOptions, Invalid, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, Write, assert_no_writes
from kinformer.models import V1ConfigMap, V1Deployment, V1Namespace, V1Pod
from tests.envtest.test_controllers import deployment


class World:
    def __init__(self, server: ApiServer, client: Client, clock: FakeClock) -> None:
        self.server = server
        self.client = client
        self.clock = clock
        self.maps = client.resource(V1ConfigMap)

    async def create(self, name: str = "a", **data: str) -> V1ConfigMap:
        return await self.maps.create({"metadata": {"name": name, "namespace": "default"}, "data": data})

    async def patch(self, **data: str) -> V1ConfigMap:
        return await self.maps.patch("a", {"data": data}, "default")

    async def noted(self, **options: Any) -> list[Write]:
        """What comes in an hour."""
        nobody = assert_no_writes(self.server, seconds=3600, **options)
        try:
            await nobody
        except AssertionError:
            assert nobody.writes
        return nobody.writes


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    async with (
        ApiServer(plugins=False, seed=1, clock=clock) as server,
        connect(
            url=server.url, token=server.token, clock=clock, options=ClientOptions(user_agent="tester/1.0")
        ) as client,
    ):
        yield World(server, client, clock)


async def complaint(server: ApiServer, write: Callable[[], Awaitable[object]], **options: Any) -> str:
    """What is said of somebody who writes in a block in which nobody is to."""

    async def watched() -> None:
        async with assert_no_writes(server, **options):
            await write()

    with pytest.raises(AssertionError) as failure:
        await watched()
    return str(failure.value)


async def test_a_block_without_writes_passes(world: World) -> None:
    await world.create()
    async with assert_no_writes(world.server):
        await world.maps.get("a", "default")
        await world.maps.list("default")


async def test_a_write_is_told_with_its_client_and_what_it_changed(world: World) -> None:
    await world.create(colour="red")
    lines = (await complaint(world.server, lambda: world.patch(colour="blue"))).splitlines()
    assert lines[:2] == ["want no writes: there was 1 write", "patch configmaps default/a by tester/1.0:"]
    assert [line.strip() for line in lines if line.lstrip()[0] in "+-"] == ["-  colour: red", "+  colour: blue"]


async def test_one_that_changes_nothing_counts_too(world: World) -> None:
    await world.create(colour="red")
    text = await complaint(world.server, lambda: world.patch(colour="red"))
    assert text.endswith("patch configmaps default/a by tester/1.0: nothing changed")


async def test_one_that_is_refused_counts_too(world: World) -> None:
    async def refused() -> None:
        with pytest.raises(Invalid):
            await world.create("A_B")

    text = await complaint(world.server, refused)
    assert text.endswith("create configmaps default/A_B by tester/1.0: refused with 422")


async def test_what_is_made_and_deleted_is_shown_whole(world: World) -> None:
    async def write() -> None:
        made = await world.maps.create({"metadata": {"generateName": "a-", "namespace": "default"}, "data": {"b": "c"}})
        await world.maps.delete(made.metadata.name, "default")

    text = await complaint(world.server, write)
    assert re.match(r"want no writes: there were 2 writes\ncreate configmaps default/a-\w+ by tester/1\.0:\n", text)
    assert "    +  b: c" in text
    assert re.search(r"\ndelete configmaps default/a-\w+ by tester/1\.0:\n", text)
    assert "    -  b: c" in text


async def test_a_subresource_is_named(world: World) -> None:
    await world.client.resource(V1Deployment).create(deployment())
    deployments = world.client.resource(V1Deployment)
    status = {"status": {"replicas": 1}}
    text = await complaint(world.server, lambda: deployments.patch("web", status, "default", subresource="status"))
    assert "patch deployments.apps/status default/web by tester/1.0:" in text
    assert "    +  replicas: 1" in text


async def test_dry_runs_and_reviews_are_no_writes(world: World) -> None:
    async with assert_no_writes(world.server):
        await world.maps.create({"metadata": {"name": "a", "namespace": "default"}}, dry_run=True)
        await world.client.resource(dict, ("authorization.k8s.io", "v1", "selfsubjectaccessreviews")).create(
            {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
        )


async def test_what_the_server_does_by_itself_is_no_write(world: World) -> None:
    namespaces = world.client.resource(V1Namespace)
    await namespaces.create({"metadata": {"name": "going"}})
    await namespaces.delete("going")
    await assert_no_writes(world.server, seconds=60)


async def test_a_blocks_time_goes_on_after_it_as_long_as_asked(world: World) -> None:
    async def later() -> None:
        await world.clock.sleep(1800)
        await world.create()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(later)
        await assert_no_writes(world.server, seconds=1700)
        assert len(await world.noted()) == 1


async def test_some_resources_and_some_writes_can_be_left_out(world: World) -> None:
    async def write() -> None:
        await world.create()
        leases = world.client.resource(dict, ("coordination.k8s.io", "v1", "leases"))
        await leases.create({"metadata": {"name": "l", "namespace": "default"}})

    async with assert_no_writes(world.server, ignoring=["configmaps", "leases.coordination.k8s.io"]):
        await write()
    await world.maps.delete("a", "default")
    async with assert_no_writes(world.server, matching=lambda write: not write.agent.startswith("tester")):
        await world.create()
    with pytest.raises(TypeError, match="want a list of resources"):
        assert_no_writes(world.server, ignoring="events")


async def test_an_error_of_the_block_comes_out_as_it_is(world: World) -> None:
    async def fail() -> None:
        async with assert_no_writes(world.server):
            await world.create()
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert world.server.writes.listeners == []


async def test_controllers_that_have_done_their_work_write_nothing() -> None:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, seed=1, controllers=["deployment", "replicaset"]) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        deployments = client.resource(V1Deployment)
        text = await complaint(server, lambda: deployments.create(deployment()), seconds=60)
        assert re.search(r"\ncreate pods default/web-[a-z0-9-]+ by kinformer-envtest-controllers:\n", text)
        assert len((await client.resource(V1Pod).list("default")).items) == 2
        await assert_no_writes(server, seconds=500)  # before the deadline for its progress
