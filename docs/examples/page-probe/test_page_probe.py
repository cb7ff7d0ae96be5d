"""Both operators do the same with a page. What only one of them does has tests of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer
from page_probe import Probe, Probes, ProbeSpec

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, eventually, running
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1ConfigMap, V1ObjectMeta, to_dict
from kinformer.operator import definition_of


class Pages:
    """A server of pages, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        app = web.Application()
        app.router.add_get("/{page}/says", self._says)
        app.router.add_route("*", "/{page}", self._answer)
        self._server = TestServer(app)

    async def __aenter__(self) -> Pages:
        await self._server.start_server(shutdown_timeout=0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    def url(self, page: str) -> str:
        return str(self._server.make_url(f"/{page}"))

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(f"{request.method} {request.match_info['page']}")
        return web.Response()

    async def _says(self, request: web.Request) -> web.StreamResponse:
        page, answer = request.match_info["page"], web.StreamResponse()
        await answer.prepare(request)
        await answer.write(f"this is {page}\n".encode())
        self.asked.append(f"heard {page}")
        try:
            await anyio.sleep_forever()
        finally:
            self.asked.append(f"left {page}")
        return answer


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    async with Pages() as pages:
        yield pages


@asynccontextmanager
async def ours(client: Client) -> AsyncIterator[None]:
    async with running(Manager(client, known={"page-probe": Probes})):
        yield


@asynccontextmanager
async def kopfs(kubeconfig: Path) -> AsyncIterator[None]:
    """Run it in a process of its own: handlers of kopf belong to the whole process."""
    pytest.importorskip("kopf", reason="kopf is not installed here")
    command = [sys.executable, "-m", "kopf", "run", "--all-namespaces", "--standalone", "operator_kopf.py"]
    async with await anyio.open_process(
        command,
        cwd=Path(__file__).parent,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("which", ["kinformer", "kopf"])
async def test_a_page_is_looked_at_heard_and_forgotten(
    which: str,
    kinformer_api_server: ApiServer,
    kinformer_client: Client,
    operator_client: Client,
    pages: Pages,
    tmp_path: Path,
) -> None:
    kinformer_api_server.write_kubeconfig(tmp_path / "kubeconfig")
    probes = kinformer_client.resource(Probe)

    async def is_looked_at() -> None:
        found = await probes.get("a", "default")
        assert found.status is not None
        assert found.status.code == 200
        assert found.status.checked_at is not None
        assert (await kinformer_client.resource(V1ConfigMap).get("a", "default")).data == {"url": found.spec.url}
        events = (await kinformer_client.resource(CoreV1Event).list("default")).items
        assert ("Said", "this is one") in [(event.reason, event.message) for event in events]

    async def is_gone() -> bool:
        return not (await probes.list("default")).items

    async with ours(operator_client) if which == "kinformer" else kopfs(tmp_path / "kubeconfig"):
        await probes.create(probe(pages.url("one")))
        await eventually(is_looked_at, seconds=30)
        await probes.patch("a", {"spec": {"url": pages.url("two")}}, "default")
        await eventually(is_looked_at, seconds=30)
        await probes.delete("a", "default")
        await eventually(is_gone, seconds=30)

    assert "GET one" in pages.asked
    assert pages.asked.count("DELETE two") == 1
    assert "left one" in pages.asked


def probe(url: str) -> Probe:
    return Probe(metadata=V1ObjectMeta(name="a", namespace="default"), spec=ProbeSpec(url=url))


class TestOurs:
    """What the operator with kinformer does beyond."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    async def test_a_new_address_is_heard_and_a_lost_config_map_comes_back(
        self, kinformer_client: Client, operator_client: Client, pages: Pages, clock: FakeClock
    ) -> None:
        probes, maps = kinformer_client.resource(Probe), kinformer_client.resource(V1ConfigMap)

        async def has_a_map(page: str) -> None:
            assert (await maps.get("a", "default")).data == {"url": pages.url(page)}

        async with running(Manager(operator_client, known={"page-probe": Probes}, clock=clock)):
            await probes.create(probe(pages.url("one")))
            await eventually(partial(has_a_map, "one"), clock=clock)
            await maps.delete("a", "default")
            await eventually(partial(has_a_map, "one"), clock=clock)
            await eventually(lambda: pages.asked.count("GET one") == 3, clock=clock, seconds=125)
            await probes.patch("a", {"spec": {"url": pages.url("two")}}, "default")
            await eventually(lambda: "left one" in pages.asked, clock=clock)
            await eventually(lambda: "heard two" in pages.asked, clock=clock)

    def test_the_manifest_has_the_definition_of_the_class(self) -> None:
        manifests = yaml.safe_load_all(Path(__file__).with_name("manifest.yaml").read_text())
        found = [manifest for manifest in manifests if manifest["kind"] == "CustomResourceDefinition"]

        assert found == [to_dict(definition_of(Probe))], "make it anew: kinformer crd page_probe"
