"""A consistent controller does not sync a key before its caches show what that key's last sync wrote."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import structlog.testing

from kinformer.cache import ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.catching_up import CacheBehind
from kinformer.cache.own_writes import GIVE_UP_AFTER
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import Client, connect
from kinformer.client.writes import note_write
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, own_writes
from kinformer.meta import GroupVersionResource
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Pod
from tests.cache.informers import running
from tests.controllers.objects import make_pod
from tests.turning import turn

PODS = GroupVersionResource("", "v1", "pods")


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


async def test_a_key_waits_only_for_the_namespace_it_has_written_in() -> None:
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


class Served:
    """A source of pods, a controller of them, and what its sync writes to the source without an event."""

    def __init__(self) -> None:
        self.clock, self.synced, self.stale = FakeClock(), list[str](), list[str]()
        self.source: FakeControllerSource[V1Pod] = FakeControllerSource(V1Pod)
        self.source.add(make_pod("there"))
        self.pods = SharedIndexInformer(self.source, V1Pod, name="pods", resource=PODS, clock=self.clock)
        self.writes: list[Callable[[], V1Pod]] = []
        self.controller = Controller(
            "makes-pods", self.sync, consistent=True, on_stale=lambda it: self.stale.append(str(it)), clock=self.clock
        ).wait_for(self.pods)

    async def sync(self, key: str) -> None:
        self.synced.append(key)
        if self.writes:
            note_write(PODS.group_resource, self.writes.pop()())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with running(self.pods.run, self.controller.run):
            await self.clock.settle()
            yield

    async def sync_writing(self, name: str) -> None:
        """Sync a key, which makes a pod that the cache does not hear of; then add the key again."""
        self.writes.append(lambda: self.source.add(make_pod(name), silently=True))
        self.controller.queue.add("ns/web")
        await self.clock.settle()
        self.controller.queue.add("ns/web")
        await self.clock.settle()


async def test_a_waiting_key_is_added_again_without_an_event() -> None:
    world = Served()
    async with world.running():
        await world.sync_writing("a")
        assert (world.synced, world.stale) == (["ns/web"], ["pods"])

        world.source.send_bookmark()
        await world.clock.advance(0.02)
        assert world.synced == ["ns/web"] * 2
        await world.clock.advance(10)
        assert world.synced == ["ns/web"] * 2, "a timer is left"


async def test_a_key_that_waits_is_looked_at_ever_less_often() -> None:
    world = Served()
    async with world.running():
        await world.sync_writing("a")
        await world.clock.advance(1)
        assert len(world.stale) == 8
        await world.clock.advance(10)
        assert len(world.stale) == 18


async def test_other_keys_do_not_wait() -> None:
    world = Served()
    async with world.running():
        await world.sync_writing("a")
        world.controller.queue.add("ns/other")
        await world.clock.settle()
        assert world.synced == ["ns/web", "ns/other"]


async def test_after_five_minutes_a_key_is_synced_with_the_present_cache() -> None:
    world = Served()
    async with world.running():
        await world.sync_writing("a")
        await world.clock.advance(GIVE_UP_AFTER - 1)
        assert world.synced == ["ns/web"]

        with structlog.testing.capture_logs() as logs:
            await world.clock.advance(2)
        assert world.synced == ["ns/web"] * 2
        assert [entry["late"] for entry in logs if entry["event"] == "caches_may_be_old"] == [["pods"]]
        # The looks in between are no syncs.
        assert world.controller.history.syncs == 2


async def test_nothing_is_left_of_a_controller_that_has_ended() -> None:
    world = Served()
    async with world.running():
        await world.sync_writing("a")
        assert world.clock.next_due is not None

    assert world.clock.next_due is None


async def test_writes_of_keys_that_are_never_synced_again_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_writes, "_MANY", 10)
    world = Served()
    async with world.running():
        for number in range(50):
            world.writes.append(lambda number=number: world.source.add(make_pod(f"pod-{number}")))
            world.controller.queue.add(f"ns/{number}")
            await world.clock.settle()

        assert world.controller._own_writes is not None
        assert len(world.controller._own_writes._last) <= 11


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


async def test_a_handlers_call_for_a_write_can_be_waited_for() -> None:
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


async def test_an_informer_that_misses_a_version_says_where_it_is() -> None:
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
