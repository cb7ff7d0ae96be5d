"""Following objects, and waiting for one, against an embedded server that goes away, forgets and cuts lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from kinformer.client import Client, Forbidden, Gone, ListOptions, Resource, connect
from kinformer.client.follow import follow
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.models import V1ConfigMap, V1ObjectMeta
from tests.cache.informers import passing, running
from tests.cache.scripted import ScriptedListerWatcher, obj, status_error
from tests.turning import eventually, turn


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[ApiServer]:
    async with ApiServer(plugins=False, seed=1, clock=clock) as server:
        yield server


@pytest.fixture
async def client(server: ApiServer, clock: FakeClock) -> AsyncIterator[Client]:
    async with connect(url=server.url, token=server.token, clock=clock) as client:
        yield client


@pytest.fixture
def maps(client: Client) -> Resource[V1ConfigMap]:
    return client.resource(V1ConfigMap)


def config_map(name: str, **labels: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default", labels=labels or None), data={"n": "1"})


class Follower:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str, str | None]] = []

    async def run(self, changes: AsyncIterator[Any]) -> None:
        async for change in changes:
            old = change.old.data["n"] if change.old is not None else None
            self.told.append((change.type, change.object.metadata.name, change.object.data["n"], old))

    def taken(self) -> list[tuple[str, str, str, str | None]]:
        told, self.told = self.told, []
        return told


async def write(maps: Resource[V1ConfigMap], name: str, number: int) -> None:
    await maps.patch(name, {"data": {"n": str(number)}}, "default")


async def test_what_is_there_comes_first_and_then_what_happens(clock: FakeClock, maps: Resource[V1ConfigMap]) -> None:
    await maps.create(config_map("a"))
    follower = Follower()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.run, maps.follow("default"))
        await turn(clock, 1)
        assert follower.taken() == [("ADDED", "a", "1", None)]

        await maps.create(config_map("b"))
        await write(maps, "a", 2)
        await maps.delete("b", "default")
        await turn(clock, 1)
        assert follower.taken() == [
            ("ADDED", "b", "1", None),
            ("MODIFIED", "a", "2", "1"),
            ("DELETED", "b", "1", "1"),
        ]
        tasks.cancel_scope.cancel()


async def test_a_selector_selects(clock: FakeClock, maps: Resource[V1ConfigMap]) -> None:
    follower = Follower()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.run, maps.follow("default", label_selector="app=web"))
        await turn(clock, 1)
        await maps.create(config_map("a", app="web"))
        await maps.create(config_map("b", app="db"))
        await turn(clock, 1)
        assert [name for _, name, _, _ in follower.taken()] == ["a"]
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("fault", ["close_watches", "cut_watches", "restart"])
async def test_it_continues_after_a_lost_watch_without_repeating_a_change(
    fault: str, clock: FakeClock, server: ApiServer, maps: Resource[V1ConfigMap]
) -> None:
    await maps.create(config_map("a"))
    follower = Follower()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.run, maps.follow("default"))
        await turn(clock, 1)
        follower.taken()

        if fault == "restart":
            await server.restart()
        else:
            getattr(server.faults, fault)()
        await write(maps, "a", 2)
        await eventually(lambda: follower.told, clock)
        assert follower.taken() == [("MODIFIED", "a", "2", "1")]
        tasks.cancel_scope.cancel()


async def test_what_was_forgotten_meanwhile_is_told_as_one_change_for_each_object(
    clock: FakeClock, server: ApiServer, maps: Resource[V1ConfigMap]
) -> None:
    for name in "abc":
        await maps.create(config_map(name))
    follower = Follower()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.run, maps.follow("default"))
        await turn(clock, 1)
        follower.taken()

        server.faults.stall_watches()
        await write(maps, "a", 2)
        await write(maps, "a", 3)
        await maps.delete("b", "default")
        await maps.create(config_map("d"))
        server.faults.compact()
        server.faults.cut_watches()
        server.faults.resume_watches()
        await eventually(lambda: len(follower.told) >= 3, clock)
        assert sorted(follower.taken()) == [
            ("ADDED", "d", "1", None),
            ("DELETED", "b", "1", None),
            ("MODIFIED", "a", "3", "1"),
        ]
        tasks.cancel_scope.cancel()


def scripted(source: ScriptedListerWatcher) -> Any:
    return SimpleNamespace(type=dict, list=lambda _, it: source.list(it), watch=lambda _, it: source.watch(it))


async def test_watches_that_end_at_once_begin_a_second_apart(clock: FakeClock) -> None:
    source = ScriptedListerWatcher()
    source.will_list(obj("a", 1), rv=1)
    for _ in range(3):
        source.end_watch()
    changes = follow(scripted(source), "", ListOptions(), clock)
    await anext(changes)

    async def wait_for_a_change() -> None:
        await anext(changes)

    async with running(wait_for_a_change):
        await clock.settle()
        assert source.taken() == [("list", ""), ("watch", "1")]

        clock.turn(1)
        await clock.settle()
        assert source.taken() == [("watch", "1")]


@pytest.mark.parametrize("reason", ["Expired", "Gone", ""])
async def test_a_version_that_is_gone_is_a_new_list_by_whatever_reason(reason: str, clock: FakeClock) -> None:
    source = ScriptedListerWatcher()
    source.will_list(obj("a", 1), rv=1)
    source.will_refuse_watch(status_error(410, reason))
    source.will_list(obj("a", 2), rv=2)
    source.will_refuse_watch(status_error(410, reason))
    source.will_fail_list(status_error(410, reason))

    changes = follow(scripted(source), "", ListOptions(), clock)

    assert [(await anext(changes)).type, (await anext(changes)).type] == ["ADDED", "MODIFIED"]
    # A list has no version that could be gone.
    assert isinstance(await passing(clock, lambda: anext(changes)), Gone)


async def test_a_server_that_is_busy_is_asked_again(
    clock: FakeClock, server: ApiServer, maps: Resource[V1ConfigMap]
) -> None:
    await maps.create(config_map("a"))
    server.faults.refuse(503, times=15)
    follower = Follower()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follower.run, maps.follow("default"))
        await eventually(lambda: follower.told, clock)
        tasks.cancel_scope.cancel()


async def test_a_refusal_comes_out(clock: FakeClock, server: ApiServer, maps: Resource[V1ConfigMap]) -> None:
    server.faults.refuse(403, times=1)
    with pytest.raises(Forbidden):
        await Follower().run(maps.follow("default"))


async def test_one_object_can_be_waited_for_until_something_is_true_of_it(
    clock: FakeClock, server: ApiServer, maps: Resource[V1ConfigMap]
) -> None:
    found: list[Any] = []
    seen: list[str | None] = []

    def is_third(obj: V1ConfigMap | None) -> bool:
        seen.append(None if obj is None else (obj.data or {})["n"])
        return seen[-1] == "3"

    async def wait() -> None:
        found.append(await maps.until("a", is_third, "default"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await turn(clock, 1)
        await maps.create(config_map("a"))
        await maps.create(config_map("other"))
        server.faults.cut_watches()
        await write(maps, "a", 2)
        await turn(clock, 5)
        server.faults.compact()
        server.faults.cut_watches()
        await write(maps, "a", 3)
        await eventually(lambda: found, clock)

    assert found[0].data == {"n": "3"}
    assert seen[0] is None
    assert seen[-1] == "3"


async def test_it_can_be_waited_for_that_an_object_is_gone(clock: FakeClock, maps: Resource[V1ConfigMap]) -> None:
    await maps.create(config_map("a"))
    found: list[Any] = ["nothing yet"]

    async def wait() -> None:
        found[0] = await maps.until("a", lambda obj: obj is None, "default")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await turn(clock, 1)
        assert found == ["nothing yet"]
        await maps.delete("a", "default")
        await turn(clock, 1)

    assert found == [None]


async def test_what_is_true_already_is_not_waited_for(maps: Resource[V1ConfigMap]) -> None:
    assert await maps.until("a", lambda obj: obj is None, "default") is None
