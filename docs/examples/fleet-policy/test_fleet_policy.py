"""The hub is the fixtures' server. The clusters of the fleet are two more, of which one dies."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from fleet_policy import NAME, NAMESPACE, fleet_of

from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, eventually, running, service_account_token
from kinformer.manager import Fleet
from kinformer.models import V1Namespace, V1NetworkPolicy, V1ObjectMeta, V1Secret

MANIFEST = Path(__file__).with_name("manifest.yaml")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Member:
    """A cluster of the fleet, with the operator's account in it."""

    def __init__(self, server: ApiServer, client: Client) -> None:
        self.server = server
        self.client = client

    async def joins(self, hub: Client, name: str) -> None:
        """Put its kubeconfig into a Secret of the hub."""
        for manifest in yaml.safe_load_all(MANIFEST.read_text()):
            resource = await self.client.resource_for_object(manifest)
            await resource.apply(manifest, field_manager="kubectl")
        token = await service_account_token(self.client, NAMESPACE, "operator")
        kubeconfig = {
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": {"server": self.server.url}}],
            "users": [{"name": name, "user": {"token": token}}],
        }
        data = {"kubeconfig": base64.b64encode(json.dumps(kubeconfig).encode()).decode()}
        metadata = V1ObjectMeta(name=name, namespace=NAMESPACE, labels={"fleet": "member"})
        await hub.resource(V1Secret).create(V1Secret(metadata=metadata, data=data))

    async def gets(self, namespace: str) -> None:
        await self.client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=namespace)))

    async def denies(self, namespace: str) -> bool:
        found = await self.client.resource(V1NetworkPolicy).list(namespace)
        return [policy.metadata.name for policy in found.items] == [NAME]


@asynccontextmanager
async def member(clock: FakeClock) -> AsyncIterator[Member]:
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        yield Member(server, client)


def states(fleet: Fleet) -> dict[str, str]:
    return {cluster.name: cluster.state for cluster in fleet.inspector.snapshot().clusters}


async def test_a_cluster_that_dies_leaves_the_others_protected(
    kinformer_client: Client, operator_client: Client, clock: FakeClock
) -> None:
    async with member(clock) as west, running(fleet_of(operator_client, port=0, clock=clock)) as fleet:
        await west.joins(kinformer_client, "west")
        async with member(clock) as east:
            await east.joins(kinformer_client, "east")
            await east.gets("shop")
            await eventually(lambda: east.denies("shop"), clock=clock)
        # The server of the east is gone. Its Lease cannot be renewed.
        await eventually(lambda: states(fleet)["east"] in ("failed", "standing by"), clock=clock, seconds=60)
        await west.gets("shop")
        await eventually(lambda: west.denies("shop"), clock=clock)
        await kinformer_client.resource(V1Secret).delete("east", NAMESPACE)
        await eventually(lambda: states(fleet) == {"west": "ready"}, clock=clock, seconds=120)


async def test_a_policy_that_somebody_deletes_is_made_again(
    kinformer_client: Client, operator_client: Client, clock: FakeClock
) -> None:
    async with member(clock) as west, running(fleet_of(operator_client, port=0, clock=clock)):
        await west.joins(kinformer_client, "west")
        await west.gets("shop")
        await eventually(lambda: west.denies("shop"), clock=clock)
        await west.client.resource(V1NetworkPolicy).delete(NAME, "shop")
        await eventually(lambda: west.denies("shop"), clock=clock)


async def test_the_second_replica_takes_a_cluster_over(
    kinformer_client: Client, operator_client: Client, clock: FakeClock
) -> None:
    async with member(clock) as west, running(fleet_of(operator_client, "one", port=0, clock=clock)) as one:
        await west.joins(kinformer_client, "west")
        await eventually(lambda: states(one) == {"west": "ready"}, clock=clock)
        async with running(fleet_of(operator_client, "two", port=0, clock=clock)) as two:
            await eventually(lambda: states(two) == {"west": "standing by"}, clock=clock)
            await one.stop()
            await eventually(lambda: states(two) == {"west": "ready"}, clock=clock, seconds=60)
            await west.gets("shop")
            await eventually(lambda: west.denies("shop"), clock=clock)
