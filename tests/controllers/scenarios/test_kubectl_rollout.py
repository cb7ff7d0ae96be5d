"""``kubectl rollout`` works with StatefulSets and DaemonSets of these controllers, where there is a kubectl."""

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
kind: {kind}
metadata: {{name: web}}
spec:
  {more}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: img, image: "img:1"}}]}}
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
            tasks.start_soon(Manager(client, controllers=["statefulset", "daemonset"]).run)
            yield run
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("kind", "more", "done"),
    [
        (
            "StatefulSet",
            "{replicas: 2, serviceName: web}",
            "partitioned roll out complete: 2 new pods have been updated",
        ),
        ("DaemonSet", "{}", 'daemon set "web" successfully rolled out'),
    ],
)
async def test_a_roll_out_is_followed_listed_undone_and_restarted(
    kubectl: Kubectl, kind: str, more: str, done: str
) -> None:
    workload = f"{kind.lower()}/web"
    resource = f"{kind.lower()}.apps/web"
    lines = "\n  ".join(more.strip("{}").split(", "))

    async def finished() -> str:
        return (await kubectl("rollout", "status", workload, "--timeout=30s")).strip().splitlines()[-1]

    async def revisions() -> list[str]:
        history = (await kubectl("rollout", "history", workload)).splitlines()
        return [line.split()[0] for line in history[2:] if line]

    made = await kubectl("apply", "-f", "-", stdin=MANIFEST.format(kind=kind, more=lines))
    assert made == f"{resource} created\n"
    assert (await finished()).startswith(done)

    await kubectl("set", "image", workload, "img=img:2")
    assert (await finished()).startswith(done)
    assert await revisions() == ["1", "2"]
    assert "img:1" in await kubectl("rollout", "history", workload, "--revision=1")

    assert await kubectl("rollout", "undo", workload) == f"{resource} rolled back\n"
    assert (await finished()).startswith(done)
    assert "img:1" in await kubectl("get", workload, "-o", "wide")
    # The old revision has become the newest one again.
    assert await revisions() == ["2", "3"]
    assert "pausing is not supported" in await kubectl("rollout", "pause", workload)
    assert await kubectl("rollout", "restart", workload) == f"{resource} restarted\n"
    assert (await finished()).startswith(done)
    assert await revisions() == ["2", "3", "4"]
