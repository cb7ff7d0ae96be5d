"""The controller with a manager, against the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kinformer.client import NotFound
from kinformer.models import V1IPAddress, V1ServiceCIDR
from kinformer_controllers.servicecidr.controller import FINALIZER, ServiceCIDRController
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.servicecidr.test_ranges import cidr, ip


@asynccontextmanager
async def with_controller() -> AsyncIterator[Cluster]:
    async with cluster({"service-cidr-controller": ServiceCIDRController}) as world:
        yield world


async def make(world: Cluster, *objects: Any) -> None:
    for obj in objects:
        await world.client.resource(type(obj)).create(obj)
    await world.turn(1)


async def delete(world: Cluster, type_: type[Any], *names: str) -> None:
    for name in names:
        await world.client.resource(type_).delete(name)
    await world.turn(1)


async def state(world: Cluster, name: str) -> str:
    """The condition Ready of a range, or that it is gone."""
    try:
        found = await world.client.resource(V1ServiceCIDR).get(name)
    except NotFound:
        return "gone"
    assert found.metadata.finalizers == [FINALIZER]
    assert found.status is not None
    (condition,) = found.status.conditions or ()
    return f"{condition.status} {condition.reason} {condition.message}"


READY = "True  Kubernetes Service CIDR is ready"
IN_USE = (
    "False Terminating There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR"
)


async def test_a_range_stays_until_its_last_address_is_gone() -> None:
    async with with_controller() as world:
        await make(world, cidr("a", "10.0.0.0/24"), ip("10.0.0.5"))
        assert await state(world, "a") == READY

        await delete(world, V1ServiceCIDR, "a")
        await world.turn(60)
        assert await state(world, "a") == IN_USE

        await delete(world, V1IPAddress, "10.0.0.5")
        assert await state(world, "a") == "gone"


async def test_a_range_stays_ten_seconds_so_all_servers_hear_of_it() -> None:
    async with with_controller() as world:
        await make(world, cidr("a", "10.0.0.0/24"))
        await delete(world, V1ServiceCIDR, "a")
        await world.turn(8)
        assert await state(world, "a") == READY

        await make(world, ip("10.0.0.5"))
        assert await state(world, "a") == IN_USE
        await make(world, cidr("b", "10.0.0.0/16"))
        await world.turn(2)
        assert await state(world, "a") == "gone"


async def test_of_two_equal_ranges_that_are_deleted_at_once_one_stays() -> None:
    async with with_controller() as world:
        await make(world, cidr("a", "10.0.0.0/24"), cidr("b", "10.0.0.0/24"), ip("10.0.0.5"))
        await delete(world, V1ServiceCIDR, "a", "b")
        await world.turn(60)

        assert sorted([await state(world, "a"), await state(world, "b")]) == [IN_USE, "gone"]


async def test_an_address_that_the_cache_does_not_show_keeps_its_range() -> None:
    async with with_controller() as world:
        await make(world, cidr("a", "10.0.0.0/24"))
        await delete(world, V1ServiceCIDR, "a")
        world.server.faults.stall_watches()
        await world.client.resource(V1IPAddress).create(ip("10.0.0.5"))
        await world.turn(12)

        found = await world.client.resource(V1ServiceCIDR).get("a")
        assert found.metadata.finalizers == [FINALIZER]


async def test_a_condition_that_cannot_be_written_is_told_of() -> None:
    async with with_controller() as world:
        world.server.faults.refuse(403, matching=lambda call: call.part == "status")
        await make(world, cidr("a", "10.0.0.0/24"))

        assert await world.events("KubernetesServiceCIDRError") == [
            "The ServiceCIDR Status can not be set to Ready=True"
        ]
        assert await state(world, "a") == READY
