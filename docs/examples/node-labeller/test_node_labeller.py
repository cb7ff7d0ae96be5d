from __future__ import annotations

from typing import Any

import pytest
from node_labeller import PREFIX, labels_of, make_controller

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import eventually, running
from kinformer.manager import Controller, Manager, Sharding
from kinformer.models import V1Node, from_dict

SHARDS = 64
NODES = [f"node-{number}" for number in range(12)]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def node(name: str, **capacity: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"capacity": capacity, "nodeInfo": {"architecture": "arm64"}}}


async def create(client: Client, name: str, **capacity: str) -> None:
    await client.resource(V1Node).create(node(name, **capacity))


def member(client: Client, clock: FakeClock, name: str) -> Manager:
    sharding = Sharding(SHARDS, group="node-labeller", namespace="node-labeller", identity=name)
    return Manager(client, known={"node-labeller": make_controller}, sharding=sharding, clock=clock)


async def resize(client: Client, name: str, **capacity: str) -> None:
    await client.resource(V1Node).patch_status(name, {"capacity": capacity})


async def are_sized(client: Client, wanted: dict[str, str]) -> None:
    nodes = (await client.resource(V1Node).list()).items
    assert {found.metadata.name: (found.metadata.labels or {}).get(f"{PREFIX}size") for found in nodes} == wanted


async def test_a_node_is_labelled_and_labelled_anew_when_it_grows(
    kinformer_client: Client, operator_client: Client, clock: FakeClock
) -> None:
    await create(kinformer_client, "a", cpu="4")
    async with running(Manager(operator_client, known={"node-labeller": make_controller}, clock=clock)):
        await eventually(lambda: are_sized(kinformer_client, {"a": "small"}), clock=clock)
        await resize(kinformer_client, "a", cpu="64")
        await eventually(lambda: are_sized(kinformer_client, {"a": "large"}), clock=clock)


async def test_two_replicas_share_the_nodes_and_the_one_that_is_left_has_all(
    kinformer_client: Client, operator_client: Client, clock: FakeClock
) -> None:
    a, b = member(operator_client, clock, "a"), member(operator_client, clock, "b")
    async with running(a):
        async with running(b):
            await eventually(lambda: is_shared(a, b), clock=clock, seconds=120)
            for name in NODES:
                await create(kinformer_client, name, cpu="16")
            await eventually(lambda: are_sized(kinformer_client, dict.fromkeys(NODES, "medium")), clock=clock)
            # On a slow machine a replica can lose its ranges for a while: it gets its share again, with other nodes.
            await eventually(lambda: synced_by(a) and synced_by(b) and is_shared(a, b), clock=clock, seconds=120)
        await eventually(lambda: len(ranges_of(a)) == SHARDS, clock=clock, seconds=120)
        for name in NODES:
            await resize(kinformer_client, name, cpu="2")
        await eventually(lambda: are_sized(kinformer_client, dict.fromkeys(NODES, "small")), clock=clock)


def synced_by(manager: Manager) -> set[str]:
    """The nodes that a replica has looked at."""
    controller = manager.controllers["node-labeller"]
    assert isinstance(controller, Controller)
    return {name for name in NODES if controller.history.runs(name)}


def ranges_of(manager: Manager) -> set[int]:
    """The ranges of keys that a replica works on."""
    assert manager.shards is not None
    return {number for number, state in manager.shards.snapshot().states.items() if state == "open"}


def is_shared(*managers: Manager) -> bool:
    ranges = [ranges_of(manager) for manager in managers]
    return all(ranges) and sum(map(len, ranges)) == SHARDS


@pytest.mark.parametrize(
    ("capacity", "size", "gpu"),
    [
        ({"cpu": "64"}, "large", None),
        ({"cpu": "7910m"}, "small", None),
        ({"cpu": "8", "nvidia.com/gpu": "2"}, "medium", "true"),
    ],
)
def test_what_labels_a_node_has(capacity: dict[str, str], size: str, gpu: str | None) -> None:
    found = from_dict(V1Node, node("a", **capacity))

    assert labels_of(found) == {f"{PREFIX}size": size, f"{PREFIX}processor": "arm64", f"{PREFIX}gpu": gpu}
