from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.cache import (
    ListWatch,
    SharedIndexInformer,
    is_as_new_as,
    wait_until_as_new_as,
    wait_until_current,
)
from kinformer.client import Client, ListOptions, ServerUnreachable, WatchEvent, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.models import V1ConfigMap, V1Node, V1ObjectMeta, V1Secret
from tests.turning import quiet, turn


class HeldUp:
    """A lister-watcher whose watches come to a halt, but for those of one second; it notes what it is asked."""

    def __init__(self, inner: ListWatch[Any]) -> None:
        self.inner = inner
        self.supports_watch_list = True
        self.go = anyio.Event()
        self.go.set()
        self.asked: list[str] = []
        self.failures: list[Exception] = []

    def hold(self) -> None:
        self.go = anyio.Event()

    async def list(self, options: ListOptions) -> Any:
        self.asked.append("list")
        if self.failures:
            raise self.failures.pop()
        return await self.inner.list(options)

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[Any]]]]:
        async with self.inner.watch(options) as batches:
            if options.timeout_seconds == 1:
                self.asked.append("watch")
                yield batches
            else:
                yield self._held_up(batches)

    async def _held_up(self, batches: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for batch in batches:
            await self.go.wait()
            yield batch


class World:
    """A server, and informers of two kinds that follow it; nothing but what a test writes changes there."""

    def __init__(self, server: ApiServer, client: Client, clock: FakeClock) -> None:
        self.server = server
        self.client = client
        self.clock = clock
        self.maps = client.resource(V1ConfigMap)
        self.nodes = client.resource(V1Node)
        self.lw = {kind: HeldUp(ListWatch(client.resource(kind))) for kind in (V1ConfigMap, V1Node)}
        self.informers: dict[type, SharedIndexInformer[Any]] = {
            kind: SharedIndexInformer(lw, kind, clock=clock) for kind, lw in self.lw.items()
        }

    async def write(self, name: str) -> str:
        """Write a ConfigMap, and tell its version."""
        made = await self.maps.create(V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default")))
        return made.metadata.resource_version

    def wait(self, version: str) -> Waiting:
        return Waiting(self, version)


class Waiting:
    """Somebody who waits for the informers, beside the test."""

    def __init__(self, world: World, version: str) -> None:
        self._world = world
        self._version = version
        self.late: tuple[str, ...] | None = None

    async def run(self) -> None:
        self.late = await wait_until_as_new_as(
            self._world.informers.values(), self._version, clock=self._world.clock, timeout=10
        )


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        world = World(server, client, clock)
        for informer in world.informers.values():
            tasks.start_soon(informer.run)
            await informer.wait_synced()
        await quiet()
        for lw in world.lw.values():
            lw.asked.clear()
        yield world
        tasks.cancel_scope.cancel()


async def test_a_cache_that_has_the_version_needs_no_wait_and_no_request(world: World) -> None:
    version = await world.write("one")
    await quiet()
    maps = world.informers[V1ConfigMap]
    assert is_as_new_as(maps, version)

    assert await wait_until_as_new_as([maps], version, clock=world.clock) == ()
    assert world.lw[V1ConfigMap].asked == []


async def test_a_cache_that_is_behind_is_awaited_until_it_shows_the_write(world: World) -> None:
    world.lw[V1ConfigMap].hold()
    version = await world.write("one")
    waiting = world.wait(version)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        await turn(world.clock, 5)
        assert waiting.late is None
        assert world.informers[V1ConfigMap].indexer.get_by_key("default/one") is None

        world.lw[V1ConfigMap].go.set()
        await turn(world.clock, 0.2)
    assert waiting.late == ()
    assert world.informers[V1ConfigMap].indexer.get_by_key("default/one") is not None


async def test_if_nothing_changed_a_short_watch_answers_long_before_the_bookmark(world: World) -> None:
    for name in ("one", "two"):
        version = await world.write(name)
    waiting = world.wait(version)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        await turn(world.clock, 0.9)
        assert waiting.late is None
        await turn(world.clock, 0.2)
    assert waiting.late == ()
    assert not is_as_new_as(world.informers[V1Node], version)  # no bookmark has come
    assert world.lw[V1Node].asked == ["list", "watch"]


async def test_what_was_deleted_before_the_version_is_waited_for_as_well(world: World) -> None:
    await world.write("one")
    await quiet()
    maps = world.informers[V1ConfigMap]
    world.lw[V1ConfigMap].hold()
    await world.maps.delete("one", "default")
    node = await world.nodes.create(V1Node(metadata=V1ObjectMeta(name="n")))
    waiting = world.wait(node.metadata.resource_version)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        await turn(world.clock, 5)
        assert waiting.late is None
        assert maps.indexer.get_by_key("default/one") is not None
        world.lw[V1ConfigMap].go.set()
        await turn(world.clock, 0.2)
    assert waiting.late == ()
    assert maps.indexer.get_by_key("default/one") is None


async def test_a_server_that_cannot_be_asked_is_asked_again(world: World) -> None:
    version = await world.write("one")
    world.lw[V1Node].failures = [ServerUnreachable("http://x", "refused")]
    waiting = world.wait(version)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        await turn(world.clock, 2)
    assert waiting.late == ()
    assert world.lw[V1Node].asked == ["list", "list", "watch"]


async def test_an_expired_watch_is_waited_for_until_it_has_listed_again(world: World) -> None:
    lw = world.lw[V1ConfigMap]
    lw.hold()
    version = await world.write("one")
    await quiet()
    world.server.faults.compact()
    waiting = world.wait(version)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        await turn(world.clock, 2)
        assert waiting.late is None
        world.server.faults.cut_watches()
        lw.go.set()
        await turn(world.clock, 7)
    assert waiting.late == ()
    assert world.informers[V1ConfigMap].indexer.get_by_key("default/one") is not None


async def test_after_the_time_limit_the_wait_ends_and_names_the_late_caches(world: World) -> None:
    world.lw[V1ConfigMap].hold()
    waiting = world.wait(await world.write("one"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting.run)
        await turn(world.clock, 9.9)
        assert waiting.late is None
        await turn(world.clock, 0.2)
    assert waiting.late == ("V1ConfigMap",)


async def test_a_cache_without_its_first_list_is_late_and_not_called_old(world: World) -> None:
    version = await world.write("one")
    world.server.faults.refuse(500, times=1000, matching=lambda call: call.resource == "secrets")
    secrets = SharedIndexInformer(ListWatch(world.client.resource(V1Secret)), V1Secret, clock=world.clock)
    late: list[tuple[str, ...]] = []

    async def wait() -> None:
        late.append(await wait_until_as_new_as([secrets], version, clock=world.clock, timeout=10))

    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(secrets.run)
            await quiet()
            tasks.start_soon(wait)
            await turn(world.clock, 11)
            tasks.cancel_scope.cancel()
    assert late == [("V1Secret",)]
    assert [line["event"] for line in logs if line["event"] == "caches_may_be_old"] == []


async def test_an_informer_that_was_not_started_is_passed_over(world: World) -> None:
    version = await world.write("one")
    informer = SharedIndexInformer(ListWatch(world.client.resource(V1ConfigMap)), V1ConfigMap, clock=world.clock)
    assert await wait_until_as_new_as([informer], version, clock=world.clock) == ()


async def test_after_a_break_a_cache_is_behind_until_a_bookmark_comes(world: World) -> None:
    nodes = world.informers[V1Node]
    assert nodes.is_current

    await turn(world.clock, 2)
    world.server.faults.cut_watches()
    await quiet()
    assert not nodes.is_current
    assert nodes.is_following

    await turn(world.clock, 90)
    assert nodes.is_current
    assert world.lw[V1Node].asked == []


async def test_a_wait_after_a_broken_connection_sees_all_writes(world: World) -> None:
    maps, nodes = world.informers[V1ConfigMap], world.informers[V1Node]
    late: list[tuple[str, ...]] = []

    async def wait() -> None:
        late.append(await wait_until_current([maps, nodes], timeout=10, clock=world.clock))

    await wait()
    assert late == [()]
    assert world.lw[V1Node].asked == world.lw[V1ConfigMap].asked == []  # they are current

    await turn(world.clock, 2)
    world.lw[V1ConfigMap].hold()
    world.server.faults.cut_watches()
    await world.write("one")
    await quiet()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await turn(world.clock, 9)
        assert (maps.is_current, nodes.is_current) == (False, True)
        await turn(world.clock, 2)
    assert late == [(), ("V1ConfigMap",)]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        world.lw[V1ConfigMap].go.set()
        await turn(world.clock, 2)
    assert late[-1] == ()
    assert maps.is_current
    assert maps.indexer.get_by_key("default/one") is not None


async def test_an_answer_from_before_another_break_shows_nothing(world: World) -> None:
    nodes = world.informers[V1Node]
    (feed,) = nodes.feeds
    for _ in range(2):
        breaks = feed.contact.breaks
        await turn(world.clock, 2)
        world.server.faults.cut_watches()
        await quiet()

    feed.contact.mended(breaks)
    assert not nodes.is_current
    feed.contact.mended(feed.contact.breaks)
    assert nodes.is_current
