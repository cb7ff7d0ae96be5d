"""A reader reads caches, and asks the server where it is told to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.cache import IndexNotFound
from kinformer.client import Client, NotFound, connect, noting_writes
from kinformer.envtest import ApiServer
from kinformer.informers import NotCached, Reader, SharedInformerFactory
from kinformer.models import V1ConfigMap, V1Secret
from tests.informers.test_factory import config_map


@asynccontextmanager
async def reading(**options: Any) -> AsyncIterator[tuple[Reader, Client]]:
    """A reader with a cache of the config maps, and of nothing else."""
    async with (
        ApiServer(plugins=False, seed=1) as server,
        connect(url=server.url, token=server.token) as client,
        SharedInformerFactory(client) as informers,
    ):
        maps = client.resource(V1ConfigMap)
        for name, namespace, app in (("a", "default", "web"), ("b", "default", "db"), ("c", "kube-public", "web")):
            await maps.create(config_map(name, namespace, app=app))
        informers.informer_for(V1ConfigMap, indexers={"app": lambda obj: [(obj.metadata.labels or {}).get("app", "")]})
        informers.start()
        await informers.wait_for_cache_sync()
        server.faults.refuse(500, times=10**9, matching=lambda call: call.verb in ("get", "list") and _is_map(call))
        yield Reader(client, informers, **options), client


def _is_map(call: Any) -> bool:
    return bool(call.resource == "configmaps")


def names(objects: list[Any]) -> list[str]:
    return sorted(obj.metadata.name for obj in objects)


async def test_what_is_cached_is_read_without_a_request() -> None:
    async with reading() as (reader, _):
        assert (await reader.get(V1ConfigMap, "a", "default")).metadata.name == "a"
        assert {"a", "b", "c"} <= set(names(await reader.list(V1ConfigMap)))
        assert names(await reader.list(V1ConfigMap, "default")) == ["a", "b"]
        assert names(await reader.list(V1ConfigMap, label_selector="app in (web)")) == ["a", "c"]


async def test_an_index_can_be_looked_up_with_others() -> None:
    async with reading() as (reader, _):
        assert names(await reader.list(V1ConfigMap, index={"app": "web"})) == ["a", "c"]
        assert names(await reader.list(V1ConfigMap, "default", index={"app": "web"})) == ["a"]
        with pytest.raises(IndexNotFound, match="colour"):
            await reader.list(V1ConfigMap, index={"colour": "red"})


async def test_what_is_not_there_is_not_found_as_at_the_server() -> None:
    async with reading() as (reader, _):
        with pytest.raises(NotFound, match='configmaps "x" not found'):
            await reader.get(V1ConfigMap, "x", "default")


async def test_an_uncached_object_is_an_error_unless_the_server_may_be_asked() -> None:
    async with reading() as (reader, _):
        with pytest.raises(NotCached, match="V1Secret is in no cache that has synced"):
            await reader.list(V1Secret)
    async with reading(ask_server=(V1Secret,)) as (reader, _):
        assert await reader.list(V1Secret) == []
        with pytest.raises(NotFound):
            await reader.get(V1Secret, "x", "default")
    async with reading(ask_server=True) as (reader, _):
        with pytest.raises(NotCached, match="the server has no index app"):
            await reader.list(V1Secret, index={"app": "web"})


@pytest.mark.parametrize("way", ["get", "list"])
async def test_a_read_shows_what_the_caller_has_just_written(way: str) -> None:
    async with reading() as (reader, client):
        with noting_writes():
            await client.resource(V1ConfigMap).create(config_map("new", "default"))
            if way == "get":
                assert (await reader.get(V1ConfigMap, "new", "default")).metadata.name == "new"
            else:
                assert names(await reader.list(V1ConfigMap, "default")) == ["a", "b", "new"]
            await client.resource(V1ConfigMap).delete("new", "default")
            with pytest.raises(NotFound):
                await reader.get(V1ConfigMap, "new", "default")
