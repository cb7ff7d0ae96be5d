"""How long kubelets may cache in clusters of each size, and what the controller writes on nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kinformer.client import PatchType
from kinformer.models import V1Node
from kinformer_controllers.ttl.controller import ANNOTATION, STEPS, Sizes, TtlController
from tests.controllers.nodes import Cluster, cluster


@pytest.mark.parametrize(
    ("nodes", "seconds"),
    [(0, 0), (100, 0), (101, 15), (500, 15), (501, 30), (1000, 30), (1001, 60), (2000, 60), (2001, 300), (10_000, 300)],
)
def test_the_more_nodes_the_longer(nodes: int, seconds: int) -> None:
    sizes = Sizes()
    sizes.change(nodes)

    assert sizes.seconds == seconds


def test_a_cluster_that_shrinks_keeps_its_step_for_a_while() -> None:
    sizes = Sizes()
    sizes.change(101)

    sizes.change(-11)
    assert (sizes.nodes, sizes.seconds) == (90, 15)
    sizes.change(-1)
    assert (sizes.nodes, sizes.seconds) == (89, 0)


def test_node_by_node_it_goes_up_and_down_through_all_steps() -> None:
    sizes = Sizes()
    up, down = [], []
    for _ in range(2500):
        sizes.change(1)
        up.append(sizes.seconds)
    for _ in range(2500):
        sizes.change(-1)
        down.append(sizes.seconds)

    want = [step.seconds for step in STEPS]
    assert list(dict.fromkeys(up)) == want
    assert list(dict.fromkeys(down)) == want[::-1]
    assert [down.count(step.seconds) for step in STEPS] == [90, 360, 450, 900, 700]


@asynccontextmanager
async def with_ttl() -> AsyncIterator[Cluster]:
    async with cluster({"ttl": TtlController}) as world:
        yield world


async def annotate(world: Cluster, name: str, value: str | None) -> None:
    patch = {"metadata": {"annotations": {ANNOTATION: value}}}
    await world.client.resource(V1Node).patch(name, patch, patch_type=PatchType.MERGE)


async def annotations(world: Cluster) -> dict[str, str]:
    nodes = (await world.client.resource(V1Node).list()).items
    return {node.metadata.name: (node.metadata.annotations or {}).get(ANNOTATION, "") for node in nodes}


async def test_each_node_of_a_small_cluster_may_keep_nothing() -> None:
    async with with_ttl() as world:
        await world.make_node("a")
        await world.make_node("b")
        await world.turn(1)

        assert await annotations(world) == {"a": "0", "b": "0"}


@pytest.mark.parametrize("value", ["7", "x", "", None, "1_0", " 0"])
async def test_another_value_is_corrected(value: str | None) -> None:
    async with with_ttl() as world:
        await world.make_node("a")
        await world.turn(1)
        await annotate(world, "a", value)
        await world.turn(1)

        assert await annotations(world) == {"a": "0"}


async def test_a_value_that_says_the_same_is_left() -> None:
    async with with_ttl() as world:
        await world.make_node("a")
        await world.turn(1)
        await annotate(world, "a", "+0")
        version = (await world.client.resource(V1Node).get("a")).metadata.resource_version
        await world.turn(60)

        assert (await world.client.resource(V1Node).get("a")).metadata.resource_version == version


async def test_nodes_of_a_grown_cluster_are_written_with_their_next_change() -> None:
    async with with_ttl() as world:
        for number in range(101):
            await world.make_node(f"n{number}")
        await world.turn(1)
        found = await annotations(world)
        assert found["n100"] == "15"

        for name in found:
            await world.report(name, "True")
        await world.turn(1)
        assert set((await annotations(world)).values()) == {"15"}
