"""A consistent controller does not sync a key before its caches show what that key's last sync wrote."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import structlog.testing

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.cache.catching_up import CATCH_UP_TIMEOUT, CacheBehind
from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller
from kinformer.models import V1ConfigMap, V1ObjectMeta
from tests.turning import turn


def config_map(name: str, **data: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"), data=data)


@asynccontextmanager
async def world(clock: FakeClock) -> AsyncIterator[tuple[ApiServer, Client, SharedInformerFactory]]:
    async with (
        ApiServer(plugins=False, seed=1, clock=clock) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        SharedInformerFactory(client, clock=clock) as informers,
    ):
        yield server, client, informers


class Counts:
    """Counts in a config map how often it was synced, by what its cache shows."""

    def __init__(self, client: Client, informers: SharedInformerFactory, clock: FakeClock, *, consistent: bool) -> None:
        self._maps = client.resource(V1ConfigMap)
        self._cached = informers.informer_for(V1ConfigMap)
        self.syncs = 0
        self.controller = Controller("counts", self.sync, consistent=consistent, clock=clock).watch(self._cached)

    async def sync(self, key: str) -> None:
        self.syncs += 1
        found: Any = self._cached.indexer.get_by_key(key)
        if found is not None and self.syncs <= 2:
            count = str(int(found.data["count"]) + 1)
            await self._maps.patch("c", {"data": {"count": count}}, "default")


@pytest.mark.parametrize(("consistent", "count"), [(True, "2"), (False, "1")])
async def test_a_key_waits_for_its_own_writes(consistent: bool, count: str) -> None:
    clock = FakeClock()
    async with world(clock) as (server, client, informers):
        await client.resource(V1ConfigMap).create(config_map("c", count="0"))
        counts = Counts(client, informers, clock, consistent=consistent)
        informers.start()
        async with anyio.create_task_group() as tasks:
            await informers.wait_for_cache_sync()
            server.faults.stall_watches()
            tasks.start_soon(counts.controller.run)
            await turn(clock, 0.1)
            assert counts.syncs == 1

            # Somebody wakes it again before its cache shows what it wrote.
            counts.controller.queue.add("default/c")
            await turn(clock, 0.1)
            assert counts.syncs == (1 if consistent else 2)

            server.faults.resume_watches()
            await turn(clock, 1)
            assert (await client.resource(V1ConfigMap).get("c", "default")).data == {"count": count}
            tasks.cancel_scope.cancel()


async def test_a_key_waits_for_the_namespace_that_it_has_written_in_and_for_no_other() -> None:
    clock = FakeClock()
    async with (
        world(clock) as (_, client, _),
        SharedInformerFactory(client, namespaces=["default", "kube-public"], clock=clock) as informers,
    ):
        await client.resource(V1ConfigMap).create(config_map("c", count="0"))
        counts = Counts(client, informers, clock, consistent=True)
        informers.start()
        async with anyio.create_task_group() as tasks:
            await informers.wait_for_cache_sync()
            tasks.start_soon(counts.controller.run)
            # Nothing happens in the other namespace, and its next bookmark is a minute away.
            await turn(clock, 0.2)
            assert counts.syncs > 1
            assert (await client.resource(V1ConfigMap).get("c", "default")).data == {"count": "2"}
            tasks.cancel_scope.cancel()


async def test_a_cache_that_does_not_come_to_it_is_taken_at_its_word() -> None:
    clock = FakeClock()
    async with world(clock) as (server, client, informers):
        await client.resource(V1ConfigMap).create(config_map("c", count="0"))
        counts = Counts(client, informers, clock, consistent=True)
        informers.start()
        async with anyio.create_task_group() as tasks:
            await informers.wait_for_cache_sync()
            server.faults.stall_watches()
            tasks.start_soon(counts.controller.run)
            await turn(clock, 0.1)
            counts.controller.queue.add("default/c")

            with structlog.testing.capture_logs() as logs:
                await turn(clock, CATCH_UP_TIMEOUT + 1)

            assert counts.syncs == 2
            assert [entry["late"] for entry in logs if entry["event"] == "caches_may_be_old"] == [["configmaps"]]
            # The looks in between are no syncs.
            assert counts.controller.history.syncs == 2
            tasks.cancel_scope.cancel()


async def test_an_informer_can_be_waited_for_until_it_shows_a_write() -> None:
    clock = FakeClock()
    async with world(clock) as (_, client, informers):
        maps = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync()
        written = await client.resource(V1ConfigMap).create(config_map("c", a="1"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(maps.wait_for_version, written.metadata.resource_version or "")
            await turn(clock, 1)

        assert maps.indexer.get_by_key("default/c") is not None


async def test_a_handler_can_be_waited_for_until_it_was_called_for_a_write() -> None:
    clock, told = FakeClock(), list[str]()

    async def slowly(obj: V1ConfigMap) -> None:
        await clock.sleep(0.5)
        told.append(obj.metadata.name)

    async with world(clock) as (_, client, informers):
        maps = informers.informer_for(V1ConfigMap)
        handler = maps.add_event_handler(ResourceEventHandlerFuncs(add=slowly))
        informers.start()
        await informers.wait_for_cache_sync()
        written = await client.resource(V1ConfigMap).create(config_map("c", a="1"))

        async def wait() -> None:
            await handler.wait_for_version(written.metadata.resource_version or "", namespace="default")
            assert told == ["c"]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await turn(clock, 0.4)
            assert maps.indexer.get_by_key("default/c") is not None
            assert told == []
            await turn(clock, 1)


async def test_an_informer_that_does_not_come_to_a_version_says_where_it_is() -> None:
    clock, errors = FakeClock(), list[str]()
    async with world(clock) as (server, client, informers):
        maps = informers.informer_for(V1ConfigMap)
        informers.start()
        await informers.wait_for_cache_sync()
        server.faults.stall_watches()
        written = await client.resource(V1ConfigMap).create(config_map("c", a="1"))

        async def wait() -> None:
            try:
                await maps.wait_for_version(written.metadata.resource_version or "", timeout=3)
            except CacheBehind as error:
                errors.append(str(error))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await turn(clock, 4)

    assert len(errors) == 1
    assert errors[0].endswith(f"after 3 s: want {written.metadata.resource_version}")
