"""A client: how it is made, and what it hands out."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest

from kinformer.client import Client, ConfigError, connect
from kinformer.clock import RealClock
from kinformer.meta import GroupVersionResource
from kinformer.models import V1Deployment, V1ObjectMeta, V1Pod
from tests.client.conftest import ScriptedServer


class Meta(msgspec.Struct):
    name: str


class Widget(msgspec.Struct):
    metadata: Meta


async def test_a_model_knows_where_it_is_served(client: Client) -> None:
    deployments = client.resource(V1Deployment)

    assert deployments.gvr == GroupVersionResource("apps", "v1", "deployments")
    assert (deployments.kind, deployments.namespaced, deployments.type) == ("Deployment", True, V1Deployment)
    assert client.resource(V1Deployment) is deployments


async def test_what_is_built_in_is_known_for_any_type(client: Client) -> None:
    nodes = client.resource(dict, ("", "v1", "nodes"))

    assert (nodes.kind, nodes.namespaced) == ("Node", False)
    assert client.resource(dict, ("", "v1", "nodes"), kind="Other", namespaced=True).kind == "Other"


async def test_an_alias_of_a_class_is_a_type(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "w"}})
    widgets = client.resource(dict[str, Any], ("example.com", "v1", "widgets"), namespaced=False, kind="Widget")

    assert await widgets.get("w") == {"metadata": {"name": "w"}}


async def test_a_type_that_is_served_nowhere_has_to_say_where(client: Client) -> None:
    with pytest.raises(LookupError):
        client.resource(dict)
    with pytest.raises(LookupError):
        client.resource(V1ObjectMeta)


async def test_a_custom_resource_is_what_it_is_said_to_be(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "w"}})
    widgets = client.resource(Widget, ("example.com", "v1", "widgets"), namespaced=False, kind="Widget")

    assert (await widgets.get("w")).metadata.name == "w"
    assert server.requests[0].path == "/apis/example.com/v1/widgets/w"


async def test_a_client_says_whose_it_is(server: ScriptedServer) -> None:
    async with connect(url=f"{server.url}/") as client:
        assert client.server == server.url
        assert repr(client) == f"<Client of {server.url}>"
        assert isinstance(client.clock, RealClock)


async def test_an_answer_can_be_taken_as_a_model(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "p"}})

    pod = await client.request("GET", "/api/v1/namespaces/ns/pods/p", type_=V1Pod)

    assert pod.metadata.name == "p"


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://host", "http://", "http://host:port"])
async def test_an_url_that_is_none_is_shown(url: str) -> None:
    with pytest.raises(ConfigError, match=r"want http://HOST:PORT or https://HOST:PORT"):
        async with connect(url=url):
            pass


def test_importing_the_client_loads_neither_aiohttp_nor_kubernetes_asyncio() -> None:
    code = (
        "import sys, kinformer.client\n"
        "print([name for name in ('aiohttp', 'kubernetes_asyncio', 'yaml') if name in sys.modules])"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_url_and_a_token_need_no_kubernetes_asyncio() -> None:
    code = (
        "import sys, asyncio\n"
        "from kinformer.client import connect\n"
        "async def main():\n"
        "    async with connect(url='http://127.0.0.1:1', token='t'): pass\n"
        "asyncio.run(main())\n"
        "print('kubernetes_asyncio' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
