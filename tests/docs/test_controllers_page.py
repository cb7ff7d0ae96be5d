"""The controller on the page works as the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Pod

PAGE = Path(__file__).parents[2] / "docs" / "controllers.md"


def code_of_the_page() -> dict[str, Any]:
    block, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    namespace: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), namespace)
    return namespace


async def until_there_are(client: Client, count: int) -> list[V1Pod]:
    while True:
        pods = (await client.resource(V1Pod).list("default")).items
        if len(pods) == count:
            return pods
        await anyio.lowlevel.checkpoint()


async def test_the_fleet_gets_its_pods_and_loses_them() -> None:
    make_controller = code_of_the_page()["make_controller"]
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        manager = Manager(client, known={"fleet": make_controller})
        configmaps = client.resource(V1ConfigMap)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(manager.run)
                meta = V1ObjectMeta(name="ships", namespace="default", labels={"fleet": "yes"})
                await configmaps.create(V1ConfigMap(metadata=meta, data={"size": "7"}))
                pods = await until_there_are(client, 7)
                assert {pod.metadata.owner_references[0].name for pod in pods} == {"ships"}

                await configmaps.patch("ships", {"data": {"size": "2"}}, "default")
                await until_there_are(client, 2)

                # Long enough for a pod too many to show: everything that is under way gets its turns.
                for _ in range(50):
                    assert len((await client.resource(V1Pod).list("default")).items) == 2
                tasks.cancel_scope.cancel()
