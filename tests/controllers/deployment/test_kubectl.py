"""``kubectl rollout`` works with this controller, where there is a kubectl."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.controllers.kubectl import Kubectl, kubectl_beside, needs_kubectl

pytest.importorskip("cryptography", reason="kubectl sends tokens over TLS only")
pytestmark = needs_kubectl

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
    async with kubectl_beside(tmp_path, "deployment", "replicaset") as run:
        yield run


async def test_a_roll_out_is_followed_listed_undone_paused_resumed_and_restarted(kubectl: Kubectl) -> None:
    done = 'deployment "web" successfully rolled out\n'
    made = await kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert made == "deployment.apps/web created\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=60s")).endswith(done)

    await kubectl("set", "image", "deployment/web", "img=img:2")
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=60s")).endswith(done)
    history = (await kubectl("rollout", "history", "deployment/web")).splitlines()
    assert [line.split()[0] for line in history[2:] if line] == ["1", "2"]
    assert "img:1" in await kubectl("rollout", "history", "deployment/web", "--revision=1")

    assert await kubectl("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=60s")).endswith(done)
    assert "img:1" in await kubectl("get", "deployment", "web", "-o", "wide")

    assert await kubectl("rollout", "pause", "deployment/web") == "deployment.apps/web paused\n"
    await kubectl("set", "image", "deployment/web", "img=img:3")
    assert await kubectl("rollout", "resume", "deployment/web") == "deployment.apps/web resumed\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=60s")).endswith(done)

    assert await kubectl("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    assert (await kubectl("rollout", "status", "deployment/web", "--timeout=60s")).endswith(done)
    history = (await kubectl("rollout", "history", "deployment/web")).splitlines()
    assert [line.split()[0] for line in history[2:] if line] == ["2", "3", "4", "5"]
