"""The benchmark of all controllers comes to its end on a small cluster, filled in both ways."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from benchmarks.all_controllers import Cluster
from benchmarks.cluster_objects import LIMIT, Shape
from benchmarks.cluster_writing import InServer, OverHttp, Writer
from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.meta import GroupResource

SMALL = Shape(nodes=2, teams=2, apps=2, pods=3, services=2, revisions=2, lease_seconds=0.1, status_seconds=0.1)


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[ApiServer, Client]]:
    async with ApiServer(controllers=False) as server, connect(url=server.url, token=server.token) as client:
        yield server, client


def pods_of(server: ApiServer) -> dict[str, Any]:
    """What the server has of each pod, without what no two writes have in common."""
    pods = {}
    for version in server.storage.log(GroupResource("", "pods")).select(""):
        pod = version.decode()
        for name in ("uid", "creationTimestamp", "resourceVersion", "ownerReferences", "generation"):
            pod["metadata"].pop(name, None)
        pods[version.key] = pod
    return pods


@pytest.mark.parametrize("directly", [False, True], ids=["over HTTP", "in the server"])
async def test_all_comes_right_and_each_change_is_seen(directly: bool) -> None:
    with anyio.fail_after(60):
        async with serving() as (server, client):
            writer: Writer = InServer(server, OverHttp(client)) if directly else OverHttp(client)
            cluster = Cluster(writer, SMALL, tasks=1 if directly else 4)
            await cluster.load()
            own = {
                "kind": "Endpoints",
                "metadata": {"name": "kubernetes"},
                "subsets": [{"addresses": [{"ip": "10.0.0.1"}]}],
            }
            await client.request("POST", "/api/v1/namespaces/default/endpoints", body=own)  # kube-apiserver's
            async with cluster.living(), anyio.create_task_group() as tasks:
                await cluster.reset()
                tasks.start_soon(Manager(client, controllers=["builtin"]).run)
                await cluster.settled()
                rate, *lags = await cluster.flood(rate=200, seconds=0.3, flip=10)
                starts = await cluster.start_pods(2)
                tasks.cancel_scope.cancel()

    assert rate > 0
    assert (len(lags), len(starts)) == (6, 2)


async def test_pods_that_are_stored_directly_are_those_of_requests() -> None:
    async with serving() as (one, client), serving() as (other, other_client):
        await Cluster(OverHttp(client), SMALL, tasks=4).load()
        await Cluster(InServer(other, OverHttp(other_client)), SMALL, tasks=1).load()

        assert pods_of(one) == pods_of(other)
        assert len(pods_of(one)) == 12


def test_the_limit_is_kubernetes_own_and_can_be_halved() -> None:
    assert str(LIMIT) == (
        "5,000 nodes, 50 namespaces, 5,000 Deployments, 10,000 ReplicaSets, 10,000 Services, 150,000 pods"
    )
    assert str(LIMIT.scaled(0.5)).endswith("5,000 Services, 75,000 pods")
    assert str(LIMIT.scaled(0.5).in_teams(1)).startswith("2,500 nodes, 1 namespaces, 2,500 Deployments")
