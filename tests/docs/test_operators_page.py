"""The operator on the page does what the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1Deployment, V1ObjectMeta
from kinformer.operator import install, is_condition_true

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"


def code_of_the_page(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = ModuleType("operators_page")  # where the annotations of its classes are looked up
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(module))
    return vars(module)


async def test_a_web_app_gets_its_deployment_its_status_and_its_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = code_of_the_page(monkeypatch)
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await install(client, page["WebApp"])
        apps, deployments = client.resource(page["WebApp"]), client.resource(V1Deployment)
        manager = Manager(client, known={"webapp-operator": page["WebApps"]})
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(manager.run)
                meta = V1ObjectMeta(name="shop", namespace="default")
                await apps.create(page["WebApp"](metadata=meta, spec=page["WebAppSpec"](image="shop:1", replicas=2)))
                await until_ready(client, page["WebApp"], ready=False)
                await deployments.patch(
                    "shop", {"status": {"replicas": 2, "readyReplicas": 2}}, "default", subresource="status"
                )
                await until_ready(client, page["WebApp"], ready=True)
                await apps.delete("shop", "default")
                while (await apps.list("default")).items:
                    pass
                await manager.stop(5)
                tasks.cancel_scope.cancel()
        events = (await client.resource(CoreV1Event).list("default")).items

    assert "the record of shop is gone\n" in capsys.readouterr().out
    assert [(found.reason, found.message) for found in events] == [("DeploymentApplied", "created: all of it")]


async def until_ready(client: Client, type_: type[Any], *, ready: bool) -> None:
    while True:
        app = await client.resource(type_).get("shop", "default")
        if app.status is not None and is_condition_true(app.status.conditions, "Ready") is ready:
            return
