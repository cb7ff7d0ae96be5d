"""A server that is stopped and started again, under the feet of whoever uses it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import anyio
import pytest

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.models import V1ConfigMap
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def body(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}}


async def first_event(http: Http) -> str:
    """What a watch from the version of a list is told of first: an object that is made after the list."""
    listed = await http.get(CONFIG_MAPS)
    query = f"?watch=true&resourceVersion={listed['metadata']['resourceVersion']}"
    await http.create(CONFIG_MAPS, body("later"))
    async with http.session.get(http.server.url + CONFIG_MAPS + query) as response:
        event = json.loads(await response.content.readline())
    return f"{event['type']} {event['object']['metadata'].get('name', event['object'].get('code'))}"


@asynccontextmanager
async def with_data(folder: Path) -> AsyncIterator[Http]:
    async with (
        ApiServer(data=folder / "data.db", token="t") as server,
        aiohttp.ClientSession(headers={"Authorization": "Bearer t"}) as session,
    ):
        yield Http(server, session)


async def test_a_list_can_be_watched_on_after_a_restart_with_data(tmp_path: Path) -> None:
    async with with_data(tmp_path) as http:
        await http.create(CONFIG_MAPS, body("a"))
        await http.server.restart()
        assert await first_event(http) == "ADDED later"


async def test_a_list_can_be_watched_on_by_a_new_server_with_data(tmp_path: Path) -> None:
    for _ in range(2):
        async with with_data(tmp_path) as http:
            assert await first_event(http) == "ADDED later"
            await http("DELETE", f"{CONFIG_MAPS}/later")


async def test_versions_from_before_a_restart_with_data_are_gone(tmp_path: Path) -> None:
    async with with_data(tmp_path) as http:
        old = (await http.get(CONFIG_MAPS))["metadata"]["resourceVersion"]
        await http.create(CONFIG_MAPS, body("a"))
        await http.server.restart()
        async with http.session.get(f"{http.server.url}{CONFIG_MAPS}?watch=true&resourceVersion={old}") as response:
            event = json.loads(await response.content.readline())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


@pytest.mark.parametrize("keep_data", [True, False])
async def test_a_server_is_restarted_whatever_scopes_are_open(keep_data: bool) -> None:
    async with (
        ApiServer() as server,
        connect(url=server.url, token=server.token) as client,
        SharedInformerFactory(client) as factory,
    ):
        informer = factory.informer_for(V1ConfigMap)
        factory.start()
        await factory.wait_for_cache_sync(5)
        with anyio.fail_after(60):
            await server.restart(keep_data=keep_data)
            async with anyio.create_task_group() as group:
                group.start_soon(server.restart)
            await client.resource(V1ConfigMap).list("default")
    assert informer.has_synced


async def test_an_error_in_a_restarted_servers_block_comes_out_unchanged() -> None:
    async def fail_after_a_restart() -> None:
        async with ApiServer() as server:
            await server.restart()
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await fail_after_a_restart()


async def test_a_server_that_does_not_run_is_not_restarted() -> None:
    with pytest.raises(RuntimeError, match="start it with `async with`"):
        await ApiServer().restart()


@pytest.mark.parametrize("turns", range(8))
async def test_a_request_that_a_restart_meets_is_answered_or_cut(http: Http, turns: int) -> None:
    """However far it has come: a connection that was accepted is never left open with nobody to answer."""
    ends = []

    async def ask() -> None:
        try:
            ends.append((await http("GET", CONFIG_MAPS))[0])
        except aiohttp.ClientError:
            ends.append(0)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(ask)
            for _ in range(turns):
                await asyncio.sleep(0)
            await http.server.restart()
    assert len(ends) == 10
    assert set(ends) <= {0, 200}
