"""A replica: reads and watches of the past, writes to the present."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import Client, Invalid, ListOptions, Timeout, endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.replica import Replica
from kinformer.informers import SharedInformerFactory
from kinformer.models import V1ConfigMap, V1ObjectMeta


def configmap(name: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"))


@asynccontextmanager
async def replicated() -> AsyncIterator[tuple[Client, Client, Replica]]:
    """A server and its replica: a client of each, and the replica."""
    async with ApiServer(clock=FakeClock(), controllers=False) as server, server.replica() as replica:
        here = Transport(endpoint_from_url(server.url, token=server.token))
        there = Transport(endpoint_from_url(replica.url, token=replica.token))
        async with here, there:
            yield Client(here), Client(there), replica


async def names(client: Client, version: str) -> list[str]:
    found = await client.resource(V1ConfigMap).list("default", ListOptions(resource_version=version))
    return [item.metadata.name or "" for item in found.items]


async def test_a_list_at_any_version_is_old_and_without_version_new() -> None:
    async with replicated() as (present, past, replica):
        await present.resource(V1ConfigMap).create(configmap("old"), "default")
        replica.fall_behind()
        await present.resource(V1ConfigMap).create(configmap("new"), "default")

        assert await names(past, "0") == ["old"]
        assert await names(past, "") == ["new", "old"]
        assert await names(present, "0") == ["new", "old"]


async def test_a_replica_can_fall_behind_changes_that_were_made_before() -> None:
    async with replicated() as (present, past, replica):
        for name in ("a", "b", "c"):
            await present.resource(V1ConfigMap).create(configmap(name), "default")

        replica.fall_behind(2)

        assert await names(past, "0") == ["a"]


async def test_a_write_through_a_replica_goes_to_the_present() -> None:
    async with replicated() as (present, past, replica):
        replica.fall_behind()

        await past.resource(V1ConfigMap).create(configmap("new"), "default")

        assert await names(present, "") == ["new"]
        assert await names(past, "0") == []


async def test_a_version_that_the_replica_has_not_come_to_is_too_large() -> None:
    async with replicated() as (present, _, replica):
        replica.fall_behind()
        made = await present.resource(V1ConfigMap).create(configmap("new"), "default")

        async with Transport(endpoint_from_url(replica.url, token=replica.token)) as transport:
            params = {"resourceVersion": made.metadata.resource_version or ""}
            with pytest.raises(Timeout, match="Too large resource version"):
                await transport.request("GET", "/api/v1/configmaps", params=params, retries=0)


async def test_a_replica_has_no_streaming_lists() -> None:
    async with replicated() as (_, past, replica):
        replica.fall_behind()
        options = ListOptions(resource_version_match="NotOlderThan", send_initial_events=True)

        with pytest.raises(Invalid, match="sendInitialEvents is forbidden"):
            async with past.resource(V1ConfigMap).watch("default", options):
                pass


async def test_an_informer_sees_the_past_until_the_replica_catches_up() -> None:
    async with replicated() as (present, past, replica):
        await present.resource(V1ConfigMap).create(configmap("old"), "default")
        replica.fall_behind()
        await present.resource(V1ConfigMap).create(configmap("new"), "default")
        async with SharedInformerFactory(past) as informers:
            informer, is_added = informers.informer_for(V1ConfigMap), anyio.Event()
            store = informer.indexer
            informer.add_event_handler(
                ResourceEventHandlerFuncs(add=lambda obj: is_added.set() if obj.metadata.name == "new" else None)
            )
            informers.start()
            await informers.wait_for_cache_sync()
            assert store.list_keys() == ["default/old"]

            replica.catch_up()

            with anyio.fail_after(60):
                await is_added.wait()
            assert sorted(store.list_keys()) == ["default/new", "default/old"]
