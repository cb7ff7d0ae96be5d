"""kubectl against the embedded server, where there is a kubectl: Debian's kubernetes-client, or any other."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from kinformer.envtest import ApiServer

pytest.importorskip("cryptography", reason="kubectl sends tokens over TLS only")
pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")

Kubectl = Callable[..., Awaitable[str]]

MANIFEST = """
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i}]}
"""


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    config = tmp_path / "config"
    async with ApiServer(tls=True, plugins=False) as server:
        server.write_kubeconfig(config)

        async def run(*arguments: str, stdin: str = "") -> str:
            home = {"HOME": str(tmp_path), "KUBECONFIG": str(config), "PATH": "/usr/bin:/bin:/usr/local/bin"}
            done = await anyio.run_process(["kubectl", *arguments], input=stdin.encode(), check=False, env=home)
            return (done.stdout + done.stderr).decode()

        yield run


async def test_kubectl_gets_tables(kubectl: Kubectl) -> None:
    lines = (await kubectl("get", "namespaces")).splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "AGE"]
    assert lines[1].split()[:2] == ["default", "Active"]


async def test_kubectl_applies_and_applies_again(kubectl: Kubectl) -> None:
    first = await kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert first.splitlines() == ["replicationcontroller/rc created", "pod/p created"]
    again = await kubectl("apply", "-f", "-", stdin=MANIFEST.replace("replicas: 2", "replicas: 3"))
    assert again.splitlines() == ["replicationcontroller/rc configured", "pod/p unchanged"]
    assert "0         0" in await kubectl("get", "rc")


async def test_kubectl_scales_patches_describes_waits_and_deletes(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert await kubectl("scale", "rc/rc", "--replicas=4") == "replicationcontroller/rc scaled\n"
    assert await kubectl("patch", "pod", "p", "-p", '{"metadata": {"labels": {"x": "y"}}}') == "pod/p patched\n"
    assert "0 current / 4 desired" in await kubectl("describe", "rc", "rc")
    waited = await kubectl("wait", "--for=jsonpath={.status.phase}=Pending", "pod/p", "--timeout=5s")
    assert waited == "pod/p condition met\n"
    assert 'pod "p" deleted' in await kubectl("delete", "pod", "p", "--wait=true")
    assert "(NotFound)" in await kubectl("get", "pod", "p")


async def test_kubectl_is_told_of_unknown_fields_and_has_no_logs(kubectl: Kubectl) -> None:
    refused = await kubectl("apply", "-f", "-", stdin=MANIFEST.replace("replicas: 2", "replicaz: 2"))
    assert 'unknown field "spec.replicaz"' in refused
    assert "pod p does not have a host assigned" in await kubectl("logs", "p")
