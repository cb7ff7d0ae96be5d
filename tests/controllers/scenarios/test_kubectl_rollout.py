"""``kubectl rollout`` works with StatefulSets and DaemonSets of these controllers, where there is a kubectl."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.controllers.kubectl import Kubectl, kubectl_beside, needs_kubectl

pytest.importorskip("cryptography", reason="kubectl sends tokens over TLS only")
pytestmark = needs_kubectl

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
    async with kubectl_beside(tmp_path, "statefulset", "daemonset") as run:
        yield run


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
        return (await kubectl("rollout", "status", workload, "--timeout=60s")).strip().splitlines()[-1]

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
