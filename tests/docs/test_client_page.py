"""The code on the pages of the client and the embedded server does what the pages say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream

import kinformer.sync
from kinformer.cache import ResourceEventHandlerFuncs, deletion_handling_key
from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.containers import FakeProcess
from kinformer.manager import Controller, ControllerContext, ControllerFactory, Manager
from kinformer.models import V1ConfigMap, V1Pod
from tests.client.pods import running_pod

DOCS = Path(__file__).parents[2] / "docs"


def functions_of(page: str, having: str) -> dict[str, Any]:
    """What the one block of a page defines that has these words in it."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    (block,) = [block for block in blocks if having in block]
    names: dict[str, Any] = {
        "anyio": anyio,
        "deletion_handling_key": deletion_handling_key,
        "kinformer": kinformer,
    }
    types = (ApiServer, ByteStream, Client, FakeProcess, Manager, ResourceEventHandlerFuncs, V1ConfigMap, V1Pod)
    names |= {each.__name__: each for each in types}
    names["ControllerFactory"] = ControllerFactory
    exec(compile(block, page, "exec"), names)
    return names


async def test_the_containers_of_the_servers_page_answer() -> None:
    page = functions_of("envtest.md", "async def psql")
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await running_pod(client, "db-0")
        await page["ask"](server, client)


async def test_the_informer_of_threads_on_the_clients_page_counts() -> None:
    count_ready = functions_of("client.md", "def count_ready")["count_ready"]
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await running_pod(client)
        await client.resource(V1Pod).patch("web", {"metadata": {"labels": {"app": "web"}}}, "default")
        assert await anyio.to_thread.run_sync(count_ready, server.url, server.token) == 1


async def test_the_ten_lines_that_replace_a_watch_loop_show_pods(capsys: pytest.CaptureFixture[str]) -> None:
    follow_pods = functions_of("coming-from.md", "def follow_pods")["follow_pods"]
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await running_pod(client)
        await client.resource(V1Pod).patch("web", {"metadata": {"labels": {"app": "web"}}}, "default")
        await anyio.to_thread.run_sync(follow_pods, server.url, server.token)
    assert capsys.readouterr().out.splitlines()[-1] == "['default/web']"


async def test_the_verbs_of_pods_on_the_clients_page_work(capsys: pytest.CaptureFixture[str]) -> None:
    page = functions_of("client.md", "async def look_into")

    async def shell(process: FakeProcess) -> int:
        if process.tty:
            await process.read()
            return 3
        await process.write(b"wrote " + await process.read_all())
        return 0

    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        server.containers.log("web", ["one"]).end()
        server.containers.command("web", shell, name="sh")
        await running_pod(client)
        with anyio.fail_after(60):
            await page["look_into"](client, "web")
    assert capsys.readouterr().out == "one\nb'wrote text' b'' 0\n3\n"


async def test_one_object_is_followed_as_on_the_clients_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = functions_of("client.md", "async def follow_one")
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        pods = await running_pod(client)
        await running_pod(client, "other")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(page["follow_one"], client, "web")
            with anyio.fail_after(60):
                while not server.watches.open:
                    await anyio.lowlevel.checkpoint()
                await pods.patch("other", {"metadata": {"labels": {"a": "b"}}}, "default")
                await pods.patch("web", {"metadata": {"labels": {"a": "b"}}}, "default")
                said = ""
                while "MODIFIED" not in said:
                    await anyio.lowlevel.checkpoint()
                    said += capsys.readouterr().out
            tasks.cancel_scope.cancel()
        version = (await pods.get("web", "default")).metadata.resource_version
    changes = re.findall(r"^([A-Z]+) (\d+)$", said, re.MULTILINE)
    assert [type_ for type_, _ in changes] == ["ADDED", "MODIFIED"]
    assert changes[-1][1] == version


async def test_a_script_works_as_on_the_clients_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = functions_of("client.md", "def look(")
    async with ApiServer() as server:
        await anyio.to_thread.run_sync(page["look"], server.url, server.token)
    said = [line for line in capsys.readouterr().out.splitlines() if " " not in line]
    assert said == ["a", "ADDED", "1"]


async def test_two_managers_in_one_process_work_for_a_cluster_each() -> None:
    page = functions_of("client.md", "async def run_both")

    def make_controller(context: ControllerContext) -> Controller:
        maps = context.client.resource(V1ConfigMap)
        informer = context.informers.informer_for(V1ConfigMap)

        async def sync(key: str) -> None:
            found = informer.indexer.get_by_key(key)
            if found is not None and found.metadata.namespace == "default" and not found.data:
                await maps.patch(found.metadata.name, {"data": {"seen": context.client.server}}, "default")

        return Controller("marker", sync).watch(informer)

    async with (
        ApiServer() as one,
        ApiServer() as two,
        connect(url=one.url, token=one.token) as first,
        connect(url=two.url, token=two.token) as second,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(page["run_both"], first, second, make_controller)
        here, there = first.resource(V1ConfigMap), second.resource(V1ConfigMap)
        with anyio.fail_after(60):
            await here.create({"metadata": {"name": "a", "namespace": "default"}})
            await there.create({"metadata": {"name": "b", "namespace": "default"}})
            a = await here.until("a", lambda found: found is not None and bool(found.data), "default")
            b = await there.until("b", lambda found: found is not None and bool(found.data), "default")
        tasks.cancel_scope.cancel()
        # Each has the object of its own cluster alone, and wrote to no other.
        assert a is not None
        assert b is not None
        assert (a.data, b.data) == ({"seen": one.url}, {"seen": two.url})
        assert len((await here.list("default")).items) == len((await there.list("default")).items) == 1
