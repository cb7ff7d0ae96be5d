"""Two `kinformer manager --leader-elect`, as processes: one is stopped for longer than its lease, and wakes up."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.models import V1Lease, V1Pod, V1ReplicationController, from_dict
from tests.cli.commands import output_until, running
from tests.cli.relays import Relay, relay

#: As short as a Lease of whole seconds can be.
TIMES = ("lease-duration=4s", "renew-deadline=3s", "retry-period=500ms")


def controller_of(name: str, replicas: int) -> V1ReplicationController:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return from_dict(
        V1ReplicationController,
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": labels, "template": pod},
        },
    )


@asynccontextmanager
async def manager(server: ApiServer, folder: Path, name: str) -> AsyncIterator[tuple[Process, Relay]]:
    async with relay(server.port) as between:
        kubeconfig = folder / name
        kubeconfig.write_text(server.kubeconfig().replace(f":{server.port}", f":{between.port}"))
        times = (f"--leader-elect-{time}" for time in TIMES)
        command = ("manager", "--kubeconfig", kubeconfig, "--controllers", "replicationcontroller", "--leader-elect")
        async with running(*command, *times) as process:
            yield process, between


async def pods_until(client: Client, app: str, count: int) -> None:
    seen: set[str] = set()
    async with client.resource(V1Pod).watch("default", label_selector=f"app={app}") as batches:
        async for batch in batches:
            seen.update(event.object.metadata.name for event in batch)
            if len(seen) >= count:
                return


async def lease_until(client: Client, true: Callable[[str], bool]) -> str:
    async with client.resource(V1Lease).watch("kube-system") as batches:
        async for batch in batches:
            for event in batch:
                holder = event.object.spec.holder_identity or ""
                if event.object.metadata.name == "kinformer-manager" and true(holder):
                    return holder
    raise AssertionError("the watch has ended")


async def test_a_leader_stopped_beyond_its_lease_writes_nothing_and_ends(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(120):
        async with (
            ApiServer() as server,
            connect(url=server.url, token=server.token) as client,
            manager(server, tmp_path, "one") as (one, wire_of_one),
        ):
            controllers = client.resource(V1ReplicationController)
            first = await lease_until(client, bool)
            await controllers.create(controller_of("before", 2))
            await pods_until(client, "before", 2)
            assert wire_of_one.wrote("POST /api/v1/namespaces/default/pods")

            async with manager(server, tmp_path, "two") as (two, wire_of_two):
                await output_until(two, f"leader={first}")
                assert not wire_of_two.writes

                one.send_signal(signal.SIGSTOP)
                await lease_until(client, lambda holder: holder not in ("", first))
                # Of this the stopped one hears when it wakes up, and would do something about it.
                await controllers.create(controller_of("after", 3))
                await pods_until(client, "after", 3)
                assert wire_of_two.wrote("POST /api/v1/namespaces/default/pods")

                written = len(wire_of_one.writes)
                await controllers.patch("before", {"spec": {"replicas": 5}}, "default")
                one.send_signal(signal.SIGCONT)
                printed = await output_until(one, "lost the lease kube-system/kinformer-manager")
                assert await one.wait() == 1, printed
                # At most the Event of the election that it has stopped leading, as client-go's.
                assert set(wire_of_one.writes[written:]) <= {"POST /api/v1/namespaces/kube-system/events"}

                await pods_until(client, "before", 5)
                two.send_signal(signal.SIGTERM)
                assert await two.wait() == 0
            assert await lease_until(client, lambda holder: True) == ""


async def test_when_the_leader_is_killed_the_other_process_takes_over(tmp_path: Path) -> None:
    with anyio.fail_after(120):
        async with (
            ApiServer() as server,
            connect(url=server.url, token=server.token) as client,
            manager(server, tmp_path, "one") as (one, _),
        ):
            first = await lease_until(client, bool)
            async with manager(server, tmp_path, "two") as (two, wire_of_two):
                await output_until(two, f"leader={first}")
                one.kill()
                await lease_until(client, lambda holder: holder not in ("", first))
                await client.resource(V1ReplicationController).create(controller_of("after", 2))
                await pods_until(client, "after", 2)
                assert wire_of_two.wrote("POST /api/v1/namespaces/default/pods")
