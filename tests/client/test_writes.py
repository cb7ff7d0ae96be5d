"""The client notes what is written in a context."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from kinformer.client import Client, DeleteOptions, NotFound, connect, noting_writes, own_writes
from kinformer.client.writes import LastWrite, note_write
from kinformer.envtest import ApiServer
from kinformer.meta import GroupResource
from kinformer.models import V1ConfigMap, V1ObjectMeta

MAPS = GroupResource("", "configmaps")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer(plugins=False, seed=1) as server, connect(url=server.url, token=server.token) as client:
        yield client


def new(name: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"))


def config_map(name: str, version: str | None = None) -> V1ConfigMap:
    return V1ConfigMap(
        metadata=V1ObjectMeta(name=name, namespace="default", uid=f"uid-{name}", resource_version=version)
    )


async def test_each_verb_that_changes_an_object_is_noted(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    with noting_writes() as writes:
        made = await maps.create(new("a"))
        assert writes.of(MAPS)["default/a"].version == made.metadata.resource_version
        patched = await maps.patch("a", {"data": {"b": "c"}}, "default")
        assert writes.of(MAPS)["default/a"].version == patched.metadata.resource_version
        updated = await maps.update(patched)
        assert writes.of(MAPS)["default/a"].version == updated.metadata.resource_version
        await maps.delete("a", "default")

    assert writes.of(MAPS) == {"default/a": LastWrite(made.metadata.uid)}


async def test_what_changes_nothing_is_not_noted(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    made = await maps.create(new("a"))
    with noting_writes() as writes:
        await maps.get("a", "default")
        await maps.create(new("b"), dry_run=True)
        await maps.delete("a", "default", DeleteOptions(dry_run=True))
        with pytest.raises(NotFound):
            await maps.delete("c", "default")

    assert made.metadata.resource_version
    assert not writes


async def test_writes_of_tasks_and_of_blocks_within_are_noted(client: Client) -> None:
    maps = client.resource(V1ConfigMap)

    async def create(name: str) -> None:
        await maps.create(new(name))

    assert own_writes() is None
    with noting_writes() as writes:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(create, "a")
        with noting_writes() as inner:
            await create("b")
        assert own_writes() is writes
    await create("c")

    assert writes.of(MAPS).keys() == {"default/a", "default/b"}
    assert inner.of(MAPS).keys() == {"default/b"}


def test_the_newest_of_two_writes_counts_whatever_the_order_of_answers() -> None:
    with noting_writes() as writes:
        for version in ("9", "10", "8"):
            note_write(MAPS, config_map("a", version))

    assert writes.of(MAPS)["default/a"].version == "10"


def test_answers_without_a_version_are_not_noted() -> None:
    with noting_writes() as writes:
        note_write(MAPS, config_map("a"))
        note_write(MAPS, object())

    assert not writes
