"""The fixtures, used as a user's tests use them."""

from __future__ import annotations

import anyio

from kinformer.client import Client
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.envtest.pytest_plugin import api_server, api_server_options, client, fake_nodes
from kinformer.models import V1ConfigMap, V1Pod, from_dict

__all__ = ("api_server", "api_server_options", "client", "fake_nodes")


async def test_each_test_has_a_server_of_its_own(api_server: ApiServer, client: Client) -> None:
    config_maps = client.resource(V1ConfigMap)
    await config_maps.create(from_dict(V1ConfigMap, {"metadata": {"name": "a", "namespace": "default"}}))
    assert len((await config_maps.list("default")).items) == 1


async def test_and_so_nothing_is_left_of_the_test_before(client: Client) -> None:
    assert (await client.resource(V1ConfigMap).list("default")).items == []


async def test_pods_run_on_the_fake_nodes(client: Client, fake_nodes: FakeNodes) -> None:
    pods = client.resource(V1Pod)
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await pods.create(from_dict(V1Pod, pod))
    async with pods.watch("default") as watch:
        with anyio.fail_after(10):
            async for batch in watch:
                if any(event.object.status.phase == "Running" for event in batch):
                    break
