"""The controller with a manager, against the embedded server: who gets which part, and who keeps it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.manager import ControllerContext, ControllerDisabled
from kinformer.models import V1Node, from_dict
from kinformer_controllers.nodeipam.controller import NodeIpamController
from tests.controllers.nodes import Cluster, cluster

FOUR = {"allocate_node_cidrs": True, "cluster_cidr": "10.0.0.0/22"}


@asynccontextmanager
async def with_ipam(**options: Any) -> AsyncIterator[Cluster]:
    async with cluster({"nodeipam": NodeIpamController}, FOUR | options) as world:
        yield world


async def cidrs(world: Cluster) -> dict[str, list[str]]:
    nodes = (await world.client.resource(V1Node).list()).items
    for node in nodes:
        assert node.spec.pod_cidr == (node.spec.pod_cidrs or [None])[0]
    return {node.metadata.name: node.spec.pod_cidrs or [] for node in nodes}


async def make(world: Cluster, *names: str, **spec: Any) -> None:
    for name in names:
        await world.make_node(name, **spec)
        await world.turn(0.01)


async def test_nodes_get_the_parts_in_turn() -> None:
    async with with_ipam() as world:
        await make(world, "a", "b", "c")

        assert await cidrs(world) == {"a": ["10.0.0.0/24"], "b": ["10.0.1.0/24"], "c": ["10.0.2.0/24"]}


async def test_a_node_gets_a_part_of_each_family() -> None:
    async with with_ipam(cluster_cidr="10.0.0.0/22,fd00::/60") as world:
        await make(world, "a", "b")

        assert await cidrs(world) == {"a": ["10.0.0.0/24", "fd00::/64"], "b": ["10.0.1.0/24", "fd00:0:0:1::/64"]}


async def test_what_services_have_is_not_given_to_nodes() -> None:
    async with with_ipam(service_cluster_ip_range="10.0.0.0/23") as world:
        await make(world, "a", "b")

        assert await cidrs(world) == {"a": ["10.0.2.0/24"], "b": ["10.0.3.0/24"]}


async def test_what_nodes_have_already_is_kept_and_not_given_out_again() -> None:
    async with with_ipam() as world:
        await make(world, "old", podCIDR="10.0.0.0/24", podCIDRs=["10.0.0.0/24"])
        await make(world, "new")

        assert await cidrs(world) == {"old": ["10.0.0.0/24"], "new": ["10.0.1.0/24"]}


async def test_a_node_that_goes_gives_its_part_back() -> None:
    async with with_ipam() as world:
        await make(world, "a", "b", "c", "d", "waits")
        assert (await cidrs(world))["waits"] == []
        assert "Node waits status is now: CIDRNotAvailable" in await world.events("CIDRNotAvailable")

        await world.client.resource(V1Node).delete("b")
        await world.turn(60)
        assert (await cidrs(world))["waits"] == ["10.0.1.0/24"]


async def test_a_node_that_is_made_anew_gets_another_part() -> None:
    async with with_ipam() as world:
        await make(world, "a")
        await world.client.resource(V1Node).delete("a")
        await make(world, "a", "b", "c", "d")

        found = await cidrs(world)
        assert found["a"] == ["10.0.1.0/24"]
        assert len({each for [each] in found.values()}) == 4


async def test_a_part_of_another_network_takes_nothing_and_holds_up_nobody() -> None:
    async with with_ipam() as world:
        await make(world, "strange", podCIDR="192.168.0.0/24", podCIDRs=["192.168.0.0/24"])
        await make(world, "a")

        assert (await cidrs(world))["a"] == ["10.0.0.0/24"]


async def test_if_the_second_range_is_full_the_firsts_part_returns() -> None:
    async with with_ipam(cluster_cidr="10.0.0.0/22,fd00::/64") as world:
        await make(world, "a", "b")
        await world.turn(60)

        pools = world.manager.controllers["nodeipam"]._syncs.sync.__self__.pools  # type: ignore[attr-defined]  # a part of it
        assert [each.taken for each in pools.sets] == [1, 1]


@pytest.mark.parametrize("code", [409, 500, 504])
async def test_a_write_that_fails_is_tried_again_and_loses_no_part(code: int) -> None:
    async with with_ipam() as world:
        world.server.faults.refuse(
            code, times=5, matching=lambda call: call.verb == "patch" and call.resource == "nodes"
        )
        await make(world, "a")
        await world.turn(60)
        assert await world.events("CIDRAssignmentFailed") == ["Node a status is now: CIDRAssignmentFailed"]

        await make(world, "b", "c", "d")
        assert len({each for [each] in (await cidrs(world)).values()}) == 4


async def test_hundreds_of_nodes_get_different_parts_whatever_comes_and_goes() -> None:
    async with with_ipam(cluster_cidr="10.0.0.0/16", node_cidr_mask_size=26) as world:
        nodes = world.client.resource(V1Node)
        for number in range(200):
            await nodes.create(from_dict(V1Node, {"metadata": {"name": f"n{number}"}}))
            if number % 3 == 2:
                await nodes.delete(f"n{number - 1}")
        await world.turn(60)

        found = await cidrs(world)
        assert len({tuple(each) for each in found.values()}) == len(found)
        assert all(found.values())


def test_without_its_flag_it_has_nothing_to_do() -> None:
    with pytest.raises(ControllerDisabled, match="--allocate-node-cidrs"):
        NodeIpamController(ControllerContext(None, None, {"cluster_cidr": "10.0.0.0/8"}))  # type: ignore[arg-type]
