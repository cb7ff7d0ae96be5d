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

        async def run(*arguments: str, stdin: str = "", **more: str) -> str:
            home = {"HOME": str(tmp_path), "KUBECONFIG": str(config), "PATH": "/usr/bin:/bin:/usr/local/bin", **more}
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


async def test_kubectl_applies_a_list(kubectl: Kubectl) -> None:
    items = "".join(f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n" for name in "ab")
    applied = await kubectl("apply", "-f", "-", stdin=f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert applied.splitlines() == ["configmap/a created", "configmap/b created"]


async def test_kubectl_creates_by_flags_what_it_sends_as_protobuf(kubectl: Kubectl) -> None:
    created = await kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "--port=80")
    assert created == "deployment.apps/web created\n"
    port = "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].ports[0].containerPort}"
    assert await kubectl("get", "deployment", "web", "-o", port) == "2 80"


async def test_kubectl_scales_patches_describes_waits_and_deletes(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert await kubectl("scale", "rc/rc", "--replicas=4") == "replicationcontroller/rc scaled\n"
    assert await kubectl("patch", "pod", "p", "-p", '{"metadata": {"labels": {"x": "y"}}}') == "pod/p patched\n"
    assert "0 current / 4 desired" in await kubectl("describe", "rc", "rc")
    waited = await kubectl("wait", "--for=jsonpath={.status.phase}=Pending", "pod/p", "--timeout=60s")
    assert waited == "pod/p condition met\n"
    assert 'pod "p" deleted' in await kubectl("delete", "pod", "p", "--wait=true")
    assert "(NotFound)" in await kubectl("get", "pod", "p")


async def test_kubectl_edits_what_somebody_changes_in_an_editor(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    edited = await kubectl("edit", "rc", "rc", KUBE_EDITOR="sed -i s/replicas:.2/replicas:\\ 7/")
    assert edited == "replicationcontroller/rc edited\n"
    assert await kubectl("get", "rc", "rc", "-o", "jsonpath={.spec.replicas}") == "7"
    assert await kubectl("edit", "rc", "rc", KUBE_EDITOR="true") == "Edit cancelled, no changes made.\n"


async def test_kubectl_applies_on_the_server_and_shows_conflicts(kubectl: Kubectl) -> None:
    first = await kubectl("apply", "--server-side", "-f", "-", stdin=MANIFEST)
    assert first.splitlines() == ["replicationcontroller/rc serverside-applied", "pod/p serverside-applied"]
    other = MANIFEST.replace("replicas: 2", "replicas: 3")
    refused = await kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=other)
    assert 'conflict with "kubectl"' in refused
    assert ".spec.replicas" in refused
    assert await kubectl("delete", "-f", "-", stdin=MANIFEST) != ""
    assert await kubectl("get", "all") == "No resources found in default namespace.\n"


async def test_kubectl_describes_a_pod_and_waits_until_it_is_gone(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=MANIFEST)
    told = await kubectl("describe", "pod", "p")
    assert "QoS Class:" in told
    assert "Status:       Pending" in told
    assert "pod/p annotated" in await kubectl("annotate", "pod", "p", "a=b")
    assert 'pod "p" deleted' in await kubectl("delete", "pod", "p", "--wait=false")
    await kubectl("wait", "--for=delete", "pod/p", "--timeout=60s")
    assert "(NotFound)" in await kubectl("describe", "pod", "p")


async def test_kubectl_sees_unknown_fields_and_that_a_pod_has_no_node(kubectl: Kubectl) -> None:
    refused = await kubectl("apply", "-f", "-", stdin=MANIFEST.replace("replicas: 2", "replicaz: 2"))
    assert 'unknown field "spec.replicaz"' in refused
    assert "pod p does not have a host assigned" in await kubectl("exec", "p", "--", "ls")
    assert await kubectl("logs", "p") == ""
