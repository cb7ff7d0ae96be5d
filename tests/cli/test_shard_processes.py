"""``kinformer manager --shards``, as processes: they share the keys out, and one of them is terminated."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.models import V1Lease, V1Namespace, V1ObjectMeta, V1Pod, V1ReplicationController, from_dict
from tests.cli.commands import kinformer, running

#: As short as a Lease of whole seconds can be.
TIMES = ("lease-duration=4s", "renew-deadline=3s", "retry-period=500ms")
TABLE = "mine"
TEAMS = [f"team-{number}" for number in range(8)]


def flags(server: ApiServer, folder: Path, name: str) -> tuple[object, ...]:
    kubeconfig = folder / "kubeconfig"
    server.write_kubeconfig(kubeconfig)
    group = ("--shard-group", TABLE, "--shard-namespace", "default", *(f"--shard-{time}" for time in TIMES))
    what = ("--controllers", "replicationcontroller", "--shards", 64, "--shard-member-identity", name)
    return ("manager", "--kubeconfig", kubeconfig, *what, *group)


async def shared_by(client: Client, *names: str) -> set[str]:
    """The owners, once these have all shards between them and nobody else has any."""
    async with client.resource(V1Lease).watch("default") as batches:
        async for batch in batches:
            for event in batch:
                if event.object.metadata.name != TABLE:
                    continue
                owners = json.loads((event.object.metadata.annotations or {})["kinformer.dev/shard-owners"])
                owned = sum(_count(ranges) for ranges in owners.values())
                found = {owner.removeprefix(f"{TABLE}-").rpartition("-")[0] for owner in owners}
                if owned == 64 and found == set(names):
                    return set(owners)
    raise AssertionError("the watch has ended")


async def leases(client: Client) -> set[str]:
    return {lease.metadata.name for lease in (await client.resource(V1Lease).list("default")).items}


def _count(ranges: str) -> int:
    bounds = [part.partition("-") for part in ranges.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in bounds)


async def replicate(client: Client, name: str, seen: set[str]) -> None:
    """A ReplicationController of one Pod in each namespace, whose Pods are to come."""
    for namespace in TEAMS:
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "replicas": 1,
                "selector": {"app": name},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
        await client.resource(V1ReplicationController).create(from_dict(V1ReplicationController, body))
    async with client.resource(V1Pod).watch(label_selector=f"app={name}") as batches:
        async for batch in batches:
            seen.update(event.object.metadata.namespace for event in batch)
            if len(seen) == len(TEAMS):
                return


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[tuple[ApiServer, Client, Process]]:
    """A server, and a manager that has all shards."""
    with anyio.fail_after(120):
        async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
            for name in TEAMS:
                await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=name)))
            async with running(*flags(server, folder, "one")) as one:
                await shared_by(client, "one")
                yield server, client, one


async def test_a_terminated_member_releases_its_shards_and_the_other_works_on(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as (server, client, one), running(*flags(server, tmp_path, "two")) as two:
        owners = await shared_by(client, "one", "two")
        await replicate(client, "shared", set())
        assert await leases(client) == {TABLE, *owners}

        one.send_signal(signal.SIGTERM)
        (left,) = await shared_by(client, "two")
        assert await one.wait() == 0
        assert await leases(client) == {TABLE, left}
        await replicate(client, "alone", set())

        two.send_signal(signal.SIGTERM)
        assert await two.wait() == 0
        assert await leases(client) == {TABLE}


async def test_the_shards_of_one_that_is_killed_are_taken_over(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (server, client, one), running(*flags(server, tmp_path, "two")):
        await shared_by(client, "one", "two")
        one.kill()
        await shared_by(client, "two")
        await replicate(client, "after", set())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--shards", 65), "has --shards 64, and this process 65"),
        (("--shard-by", "owner"), "has --shard-by namespace, and this process owner"),
    ],
)
async def test_one_that_divides_keys_in_another_way_ends_with_one_line(
    tmp_path: Path, more: tuple[object, ...], why: str
) -> None:
    async with cluster(tmp_path) as (server, _, _):
        done = await kinformer(*flags(server, tmp_path, "two"), *more)

    assert done.status == 1
    assert why in done.err
    assert "Traceback" not in done.err
