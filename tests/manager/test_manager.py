from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import anyio
import pytest

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.manager import (
    Controller,
    ControllerContext,
    ControllerLoadError,
    Manager,
    OptionError,
    UnknownControllerError,
    known_controllers,
)
from kinformer.manager import manager as manager_module
from kinformer.models import CoreV1Event, V1ConfigMap, V1ObjectMeta
from kinformer.record import NORMAL


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield client


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(manager.run)
        yield
        tasks.cancel_scope.cancel()


def config_map(name: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"))


class Noted:
    """A controller that notes the ConfigMaps that it sees and says so in an event, made as an entry point makes it."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.changed = anyio.Event()

    def make(self, context: ControllerContext) -> Controller:
        configmaps = context.informers.informer_for(V1ConfigMap)
        recorder = context.recorder("noted")

        async def sync(key: str) -> None:
            self.keys.append(key)
            recorder.event(configmaps.indexer.get_by_key(key), NORMAL, "Seen", "It is here")
            self.changed.set()

        return Controller("noted", sync, clock=context.clock).watch(configmaps)


async def test_a_manager_runs_its_controllers_on_shared_informers_and_writes_their_events(client: Client) -> None:
    one, two = Noted(), Noted()
    manager = Manager(client, known={"one": one.make, "two": two.make})
    with anyio.fail_after(10):
        async with running(manager):
            await client.resource(V1ConfigMap).create(config_map("c"))
            await one.changed.wait()
            await two.changed.wait()
            events = client.resource(CoreV1Event)
            while len((await events.list("default")).items) < 2:
                await anyio.lowlevel.checkpoint()

    assert one.keys == two.keys == ["default/c"]
    assert len(manager.context.informers.informers) == 1


async def test_a_cancelled_manager_leaves_nothing_running(client: Client) -> None:
    with anyio.fail_after(1):
        async with running(Manager(client, known={"one": Noted().make}, endpoint=("127.0.0.1", 0))):
            await anyio.wait_all_tasks_blocked()


async def test_only_what_was_asked_for_is_made(client: Client) -> None:
    known = {"one": Noted().make, "two": Noted().make}

    assert list(Manager(client, known=known, controllers=["*", "-one"]).controllers) == ["two"]
    with pytest.raises(UnknownControllerError, match="'three'"):
        Manager(client, known=known, controllers=["three"])


async def test_the_projects_controllers_are_found_by_name(client: Client) -> None:
    assert "replicationcontroller" in known_controllers()

    manager = Manager(client, controllers=["replicationcontroller"], options={"concurrent_rc_syncs": 2})

    controller: Any = manager.controllers["replicationcontroller"]
    assert controller.workers == 2


async def test_an_option_of_the_wrong_type_is_named(client: Client) -> None:
    with pytest.raises(OptionError, match="option concurrent_rc_syncs is 'many': want int"):
        Manager(client, controllers=["replicationcontroller"], options={"concurrent_rc_syncs": "many"})


async def test_an_option_that_no_controller_knows_is_named_with_those_that_are_known(client: Client) -> None:
    def make_counter(context: ControllerContext) -> Controller:
        context.option("counters", 3)
        return Noted().make(context)

    known = {"counter": make_counter, "noted": Noted().make}

    Manager(client, known=known, options={"counters": 5}, flags={"concurrent_rc_syncs": 2})
    with pytest.raises(OptionError, match="no controller knows the option 'foo': want one of counters"):
        Manager(client, known=known, options={"counters": 5, "foo": 1})
    with pytest.raises(OptionError, match="no controller knows the option 'counters': those that run here have none"):
        Manager(client, known=known, controllers=["noted"], options={"counters": 5})


async def test_a_controller_that_cannot_be_loaded_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name, value = "broken", "nowhere:make"

        def load(self) -> Any:
            raise ModuleNotFoundError("No module named 'nowhere'")

    monkeypatch.setattr(manager_module, "known_controllers", lambda: {"broken": Broken()})

    with pytest.raises(ControllerLoadError, match="controller broken cannot be loaded from nowhere:make: No module"):
        Manager(client)


async def test_probes_and_scrapes_are_answered(client: Client) -> None:
    noted = Noted()
    manager = Manager(client, known={"noted": noted.make}, endpoint=("127.0.0.1", 0))
    endpoint = manager.endpoint
    assert endpoint is not None
    with anyio.fail_after(10):
        async with running(manager):
            await endpoint.listening.wait()
            async with aiohttp.ClientSession(f"http://127.0.0.1:{endpoint.port}") as session:

                async def get(path: str) -> tuple[int, str]:
                    async with session.get(path) as response:
                        return response.status, await response.text()

                assert await get("/healthz") == (200, "ok")
                assert await get("/livez") == (200, "ok")
                while (await get("/readyz"))[0] == 503:
                    await anyio.lowlevel.checkpoint()
                assert await get("/readyz") == (200, "[+]noted\n[+]informers\nok")
                assert (
                    'controller_runtime_max_concurrent_reconciles{controller="noted"} 1.0' in (await get("/metrics"))[1]
                )


async def test_it_is_no_longer_ready_when_its_caches_stop_following(client: Client) -> None:
    noted = Noted()
    manager = Manager(client, known={"noted": noted.make}, endpoint=("127.0.0.1", 0))
    assert manager.endpoint is not None
    async with running(manager):
        with anyio.fail_after(10):
            await manager.endpoint.listening.wait()
            url = f"http://127.0.0.1:{manager.endpoint.port}/readyz"
            async with aiohttp.ClientSession() as session:

                async def ready() -> str:
                    async with session.get(url) as response:
                        return await response.text()

                while await ready() != "[+]noted\n[+]informers\nok":
                    await anyio.lowlevel.checkpoint()
                await manager.context.informers.shutdown()
                assert await ready() == "[+]noted\n[-]informers\nnot ready"


async def test_what_is_not_ready_says_so_and_which(client: Client) -> None:
    class Waiting:
        has_synced = False

        async def run(self) -> None:
            await anyio.sleep_forever()

    manager = Manager(client, known={"waiting": lambda _: Waiting()}, endpoint=("127.0.0.1", 0))
    endpoint = manager.endpoint
    assert endpoint is not None
    with anyio.fail_after(10):
        async with running(manager):
            await endpoint.listening.wait()
            url = f"http://127.0.0.1:{endpoint.port}/readyz"
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                assert (response.status, await response.text()) == (503, "[-]waiting\n[+]informers\nnot ready")
