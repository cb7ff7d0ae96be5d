"""``kubectl rollout`` works with this controller, where there is a kubectl."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.manager import Manager

pytest.importorskip("cryptography", reason="kubectl sends tokens over TLS only")
pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")

Kubectl = Callable[..., Awaitable[str]]

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: img, image: "img:1"}]}
"""


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    config = tmp_path / "config"
    async with ApiServer(tls=True) as server:
        server.write_kubeconfig(config)

        async def run(*arguments: str, stdin: str = "") -> str:
            home = {"HOME": str(tmp_path), "KUBECONFIG": str(config), "PATH": "/usr/bin:/bin:/usr/local/bin"}
            done = await anyio.run_process(["kubectl", *arguments], input=stdin.encode(), check=False, env=home)
            return (done.stdout + done.stderr).decode()

        async with connect(kubeconfig=config) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(FakeNodes(client, 1).run)
            tasks.start_soon(Manager(client, controllers=["deployment", "replicaset"]).run)
            yield run
            tasks.cancel_scope.cancel()


async def test_a_roll_out_is_followed_listed_undone_paused_resumed_and_restarted(kubectl: Kubectl) -> None:
    done = 'deployment "web" successfully rolled out\n'
    made = await kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert made == "deployment.apps/web created\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=30s")).endswith(done)

    await kubectl("set", "image", "deployment/web", "img=img:2")
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=30s")).endswith(done)
    history = (await kubectl("rollout", "history", "deployment/web")).splitlines()
    assert [line.split()[0] for line in history[2:] if line] == ["1", "2"]
    assert "img:1" in await kubectl("rollout", "history", "deployment/web", "--revision=1")

    assert await kubectl("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=30s")).endswith(done)
    assert "img:1" in await kubectl("get", "deployment", "web", "-o", "wide")

    assert await kubectl("rollout", "pause", "deployment/web") == "deployment.apps/web paused\n"
    await kubectl("set", "image", "deployment/web", "img=img:3")
    assert await kubectl("rollout", "resume", "deployment/web") == "deployment.apps/web resumed\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=30s")).endswith(done)

    assert await kubectl("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=30s")).endswith(done)
    history = (await kubectl("rollout", "history", "deployment/web")).splitlines()
    assert [line.split()[0] for line in history[2:] if line] == ["2", "3", "4", "5"]
