"""Handlers that are held back: informers that follow the server for a process that stands by."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.cache import InformerStateError, SharedIndexInformer
from kinformer.client import Client, WrappedTransport, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.models import V1ConfigMap, V1ObjectMeta
from tests.turning import quiet, turn


class Told:
    """A handler that notes the names that it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self.told.append(f"add {obj.metadata.name}")

    def on_update(self, old: Any, new: Any, /) -> None:
        self.told.append(f"update {new.metadata.name} {(new.data or {}).get('colour', '')}".rstrip())

    def on_delete(self, obj: Any, /) -> None:
        self.told.append(f"delete {obj.metadata.name}")


class World:
    def __init__(self, client: Client, clock: FakeClock, asked: list[str]) -> None:
        self.asked = asked
        self.client = client
        self.maps = client.resource(V1ConfigMap)
        self.clock = clock
        self.factory = SharedInformerFactory(client, clock=clock, resync_period=60)
        self.factory.hold_handlers()

    @property
    def informer(self) -> SharedIndexInformer[V1ConfigMap]:
        return self.factory.informer_for(V1ConfigMap)

    async def create(self, *names: str) -> None:
        for name in names:
            await self.maps.create(V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default")))
        await quiet()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.factory.run)
            await quiet()
            yield
            tasks.cancel_scope.cancel()

    def lists(self) -> int:
        """How often the ConfigMaps were asked for from the beginning."""
        return sum(call.startswith("GET /api/v1/configmaps") for call in self.asked)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    asked: list[str] = []

    class Noting(WrappedTransport):
        """A transport that notes what is read by it."""

        async def request(self, method: str, path: str, **request: Any) -> bytes:
            asked.append(f"{method} {path}")
            return await self._transport.request(method, path, **request)

        async def stream(self, path: str, **request: Any) -> Any:
            asked.append(f"GET {path}")
            return await self._transport.stream(path, **request)

    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        yield World(client.through(Noting), clock, asked)


async def test_while_handlers_are_held_the_cache_is_complete_and_nobody_is_told(world: World) -> None:
    told = Told()
    world.informer.add_event_handler(told)
    await world.create("before")
    async with world.running():
        await world.create("after")
        await world.maps.delete("before", "default")
        await quiet()

        assert world.informer.has_synced
        assert world.informer.indexer.list_keys() == ["default/after"]
        assert told.told == []


async def test_on_release_they_get_the_whole_cache_without_another_list(world: World) -> None:
    told = Told()
    registration = world.informer.add_event_handler(told)
    await world.create(*(f"map-{number:03}" for number in range(100)))
    async with world.running():
        await world.maps.patch("map-000", {"data": {"colour": "red"}}, "default")
        await quiet()
        asked = world.lists()

        world.factory.release_handlers()
        await quiet()

        assert sorted(told.told) == [f"add map-{number:03}" for number in range(100)]
        assert registration.has_synced
        assert world.lists() == asked


async def test_after_the_release_each_change_is_told_once(world: World) -> None:
    told = Told()
    world.informer.add_event_handler(told)
    await world.create("a")
    async with world.running():
        world.factory.release_handlers()
        world.factory.release_handlers()
        await world.maps.patch("a", {"data": {"colour": "red"}}, "default")
        await world.maps.delete("a", "default")
        await quiet()
        assert told.told == ["add a", "update a red", "delete a"]


async def test_a_held_handler_has_not_synced_until_it_is_released(world: World) -> None:
    registration = world.informer.add_event_handler(Told())
    async with world.running():
        assert world.informer.has_synced
        assert not registration.has_synced
        world.factory.release_handlers()
        await quiet()
        assert registration.has_synced


async def test_handlers_released_before_the_first_list_are_told_of_it(world: World) -> None:
    told = Told()
    registration = world.informer.add_event_handler(told)
    await world.create("a")
    world.factory.release_handlers()
    async with world.running():
        assert told.told == ["add a"]
        assert registration.has_synced


async def test_informers_and_handlers_that_come_after_the_release_are_not_held(world: World) -> None:
    async with world.running():
        world.factory.release_handlers()
        told = Told()
        world.informer.add_event_handler(told)
        world.factory.start()
        await world.create("a")
        assert told.told == ["add a"]


async def test_held_handlers_are_told_of_no_resync(world: World) -> None:
    told = Told()
    world.informer.add_event_handler(told)
    await world.create("a")
    async with world.running():
        await turn(world.clock, 200)
        assert told.told == []
        world.factory.release_handlers()
        await quiet()
        assert told.told == ["add a"]
        await turn(world.clock, 61)
        assert "update a" in told.told


async def test_a_held_handler_that_is_removed_is_told_nothing_on_release(world: World) -> None:
    told = Told()
    informer = world.informer
    registration = informer.add_event_handler(told)
    await world.create("a")
    async with world.running():
        informer.remove_event_handler(registration)
        world.factory.release_handlers()
        await quiet()
        assert told.told == []


async def test_whoever_waits_for_a_held_handler_hears_that_its_informer_has_stopped(world: World) -> None:
    told = Told()
    registration = world.informer.add_event_handler(told)
    await world.create("a")
    async with world.running():
        await world.factory.shutdown()
        with pytest.raises(InformerStateError):
            await registration.wait_synced()
        world.factory.release_handlers()
        await quiet()
        assert told.told == []
