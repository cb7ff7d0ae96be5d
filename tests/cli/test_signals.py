"""``kinformer manager`` and real signals, in a process of its own."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.models import CoreV1Event, V1ConfigMap, V1Lease, V1ObjectMeta
from tests.cli.commands import output_until, running
from tests.forked import Started

#: A module with a controller whose sync of anything ends when there is a ConfigMap `gate`.
MODULE = """
import anyio
from kinformer.manager import Controller
from kinformer.models import V1ConfigMap
from kinformer.record import NORMAL

def make(context):
    configmaps = context.informers.informer_for(V1ConfigMap)
    recorder = context.recorder("slow")

    async def sync(key):
        if key == "default/gate":
            return
        print("syncing", key, flush=True)
        while configmaps.indexer.get_by_key("default/gate") is None:
            await anyio.sleep(0.01)
        recorder.event(configmaps.indexer.get_by_key(key), NORMAL, "Seen", "It is here")
        print("synced", key, flush=True)

    return Controller("slow", sync).watch(configmaps)
"""


async def create(client: Client, name: str) -> None:
    await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default")))


@asynccontextmanager
async def syncing(tmp_path: Path, *flags: str) -> AsyncIterator[tuple[Started, Client]]:
    """A manager that is in the middle of a sync."""
    (tmp_path / "slow.py").write_text(MODULE)
    kubeconfig = tmp_path / "kubeconfig"
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        server.write_kubeconfig(kubeconfig)
        await create(client, "one")
        command = ("manager", "--controllers", "slow:make", "--kubeconfig", kubeconfig, *flags)
        async with running(*command, PYTHONPATH=str(tmp_path)) as process:
            await output_until(process, "syncing default/one")
            yield process, client


async def rest_of(process: Started) -> str:
    with anyio.fail_after(60):
        said = await process.stdout.rest()
        await process.wait()
    return said.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_after_the_running_sync_and_all_is_released(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with syncing(tmp_path, "--leader-elect", "-v", "2") as (process, client):
        process.send_signal(number)
        await output_until(process, "manager_stopping")
        await create(client, "two")
        await create(client, "gate")
        said = await rest_of(process)

        assert "synced default/one" in said
        assert "syncing default/two" not in said
        assert process.returncode == 0
        assert [event.reason for event in (await client.resource(CoreV1Event).list("default")).items] == ["Seen"]
        lease = await client.resource(V1Lease).get("kinformer-manager", "kube-system")
        assert not lease.spec.holder_identity


async def test_a_sync_that_outlasts_the_grace_is_cut(tmp_path: Path) -> None:
    async with syncing(tmp_path, "--shutdown-grace", "50ms") as (process, _):
        process.terminate()
        said = await rest_of(process)

    assert "syncs_cut" in said
    assert "synced default/one" not in said
    assert process.returncode == 0


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    async with syncing(tmp_path) as (process, _):
        process.terminate()
        await output_until(process, "manager_stopping")
        process.send_signal(signal.SIGINT)
        said = await rest_of(process)

    assert "synced default/one" not in said
    assert process.returncode == 1
