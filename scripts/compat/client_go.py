"""client-go's own examples, as programs in Go, against a server of this project.

`KINFORMER_GO_PROGRAMS` is the folder of the programs. A program is ended as soon as it has written what it was started
for.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from kinformer.client import Client, NotFound, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.models import V1Deployment, V1Lease, V1Pod, from_dict

__all__ = ()

PROGRAMS = Path(os.environ["KINFORMER_GO_PROGRAMS"])
POD = {"metadata": {"name": "mypod", "namespace": "default"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Cluster:
    """A server with a node, and the programs of one test."""

    def __init__(self, client: Client, kubeconfig: Path, programs: AsyncExitStack):
        self.client = client
        self._kubeconfig = kubeconfig
        self._programs = programs

    async def start(self, program: str, *arguments: str) -> Output:
        command = [str(PROGRAMS / program), f"-kubeconfig={self._kubeconfig}", *arguments]
        process = await anyio.open_process(command, stderr=subprocess.STDOUT)
        self._programs.push_async_callback(process.wait)
        self._programs.callback(lambda: process.returncode is None and process.kill())
        return Output(process)


class Output:
    """What a program writes."""

    def __init__(self, process: Process):
        assert process.stdout is not None
        self.process = process
        self._texts = TextReceiveStream(process.stdout)
        self.seen = ""

    async def until(self, text: str) -> None:
        """Read until this text comes."""
        with anyio.fail_after(30):
            while text not in self.seen:
                self.seen += await self._texts.receive()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with _cluster(tmp_path / "kubeconfig") as cluster:
        yield cluster


@asynccontextmanager
async def _cluster(kubeconfig: Path) -> AsyncIterator[Cluster]:
    async with ApiServer(tls=True) as server:
        server.write_kubeconfig(kubeconfig)
        async with (
            connect(kubeconfig=kubeconfig) as client,
            anyio.create_task_group() as tasks,
            AsyncExitStack() as programs,
        ):
            tasks.start_soon(FakeNodes(client, 1).run)
            yield Cluster(client, kubeconfig, programs)
            await programs.aclose()
            tasks.cancel_scope.cancel()


@pytest.mark.anyio
@pytest.mark.parametrize("program", ["create-update-delete-deployment", "dynamic-create-update-delete-deployment"])
async def test_a_deployment_is_created_changed_and_deleted(cluster: Cluster, program: str) -> None:
    deployments = cluster.client.resource(V1Deployment)
    output = await cluster.start(program)
    await output.until("Press Return")
    created = await deployments.get("demo-deployment", "default")
    assert created.spec.replicas == 2
    stdin = output.process.stdin
    assert stdin is not None
    await stdin.send(b"\n")
    await output.until("Updated deployment")
    updated = await deployments.get("demo-deployment", "default")
    assert (updated.spec.replicas, updated.spec.template.spec.containers[0].image) == (1, "nginx:1.13")
    await stdin.send(b"\n")
    await output.until("demo-deployment (1 replicas)")
    await stdin.send(b"\n")
    await output.until("Deleted deployment.")
    assert await output.process.wait() == 0
    with pytest.raises(NotFound):
        await deployments.get("demo-deployment", "default")


@pytest.mark.anyio
async def test_pods_are_counted_and_one_is_not_found(cluster: Cluster) -> None:
    await cluster.client.resource(V1Pod).create(from_dict(V1Pod, POD))
    output = await cluster.start("out-of-cluster-client-configuration")
    await output.until("Pod example-xxxxx in namespace default not found")
    assert "There are 1 pods in the cluster" in output.seen


@pytest.mark.anyio
async def test_an_informer_and_a_queue_follow_pods(cluster: Cluster) -> None:
    output = await cluster.start("workqueue")
    await output.until("Pod default/mypod does not exist anymore")  # the example has put it into its store itself
    pods = cluster.client.resource(V1Pod)
    await pods.create(from_dict(V1Pod, POD))
    await output.until("Sync/Add/Update for Pod mypod")
    output.seen = ""
    await pods.delete("mypod", "default")
    await output.until("Pod default/mypod does not exist anymore")


@pytest.mark.anyio
async def test_the_second_leads_when_the_first_has_ended(cluster: Cluster) -> None:
    lock = ("-lease-lock-name=example", "-lease-lock-namespace=default")
    first = await cluster.start("leader-election", *lock, "-id=1")
    await first.until("Controller loop...")
    second = await cluster.start("leader-election", *lock, "-id=2")
    await second.until("new leader elected: 1")
    first.process.send_signal(signal.SIGTERM)
    await second.until("Controller loop...")
    assert await first.process.wait() == 0
    assert (await cluster.client.resource(V1Lease).get("example", "default")).spec.holder_identity == "2"
