"""Each node with a pod CIDR has a route, and says whether its pods can be reached."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import anyio
import pytest

from kinformer.manager import ControllerContext, ControllerDisabled, SyncError
from kinformer.models import V1Node, V1NodeAddress, from_dict
from kinformer.options import OptionError
from kinformer_controllers.noderoute.controller import (
    AT_ONCE,
    NodeRouteController,
    is_responsible_for,
    make_controller,
    plan_routes,
)
from kinformer_controllers.shared.cloud.interface import Route
from kinformer_controllers.shared.cloud.loading import FakeCloud
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, FakeRecorder, conflict, not_found
from tests.turning import turn

NETWORKS = [ip_network("10.120.0.0/16"), ip_network("ace:cab::/32")]
ADDRESS = V1NodeAddress(address="10.0.1.1", type="InternalIP")
OTHER_ADDRESS = V1NodeAddress(address="10.0.1.9", type="InternalIP")


def node(name: str = "a", *cidrs: str, condition: tuple[str, str] | None = None, addresses: Any = None) -> V1Node:
    spec = {"podCIDRs": list(cidrs) or None, "podCIDR": cidrs[0] if cidrs else None}
    status: dict[str, Any] = {"addresses": addresses}
    if condition is not None:
        status["conditions"] = [{"type": "NetworkUnavailable", "status": condition[0], "reason": condition[1]}]
    metadata = {"name": name, "uid": f"uid-{name}"}
    return from_dict(V1Node, {"metadata": metadata, "spec": spec, "status": status})


def route(target: str, cidr: str, name: str = "", **more: Any) -> Route:
    return Route(name or f"{target}-{cidr}", target, cidr, **more)


class World(Cluster):
    def __init__(self, *nodes: V1Node, routes: tuple[Route, ...] = ()) -> None:
        super().__init__()
        self.cloud, self.recorder = FakeCloud(self.clock), FakeRecorder()
        self.cloud.known_routes = {each.name: each for each in routes}
        self.routes = NodeRouteController(
            FakeContext(
                self.client,
                self.informers,
                self.recorder,
                clock=self.clock,
                cluster_cidr=",".join(map(str, NETWORKS)),
                route_reconciliation_period=7.0,
            ),
            self.cloud,
        )
        for each in nodes:
            self.put(each)

    async def sync(self) -> float:
        return await self.routes.sync("routes")

    @property
    def there(self) -> set[tuple[str, str]]:
        return {(each.target_node, each.destination_cidr) for each in self.cloud.known_routes.values()}

    @property
    def told(self) -> dict[str, tuple[str, str]]:
        found = {}
        for request, sent in zip(self.requests, self.sent, strict=True):
            if request.startswith("patch"):
                condition = sent["status"]["conditions"][0]
                found[request.split()[2]] = (condition["status"], condition["reason"])
        return found


CREATED, MISSING = ("False", "RouteCreated"), ("True", "NoRouteCreated")


@pytest.mark.parametrize(
    ("nodes", "routes", "there"),
    [
        pytest.param([("a", "10.120.0.0/24"), ("b", "10.120.1.0/24")], [], None, id="none is there"),
        pytest.param([("a", "10.120.0.0/24")], [("a", "10.120.0.0/24")], None, id="it is there"),
        pytest.param([("a", "10.120.0.0/24")], [("b", "10.120.1.0/24")], None, id="one of a node that is gone"),
        pytest.param([("a", "10.120.0.0/24")], [("a", "10.120.1.0/24")], None, id="one to another CIDR"),
        pytest.param([("a", "10.120.0.0/24")], [("b", "10.120.0.0/24")], None, id="one to another node"),
        pytest.param([("a",)], [("a", "10.120.0.0/24")], None, id="a node without a CIDR"),
        pytest.param(
            [("a", "10.120.0.0/24", "ace:cab:deca::/48")], [("a", "ace:cab:deca::/48")], None, id="two families"
        ),
        pytest.param(
            [("a", "10.120.0.0/24")],
            [("elsewhere", "10.1.2.0/24"), ("", "10.2.0.0/16")],
            {("a", "10.120.0.0/24"), ("elsewhere", "10.1.2.0/24"), ("", "10.2.0.0/16")},
            id="routes of others",
        ),
    ],
)
async def test_there_is_one_route_for_each_cidr_of_each_node(
    nodes: list[tuple[str, ...]], routes: list[tuple[str, str]], there: set[tuple[str, str]] | None
) -> None:
    world = World(*(node(*each) for each in nodes), routes=tuple(route(*each) for each in routes))

    assert await world.sync() == 7.0

    assert world.there == (there or {(name, cidr) for name, *cidrs in nodes for cidr in cidrs})
    assert world.told == {name: CREATED if cidrs else MISSING for name, *cidrs in nodes if cidrs or routes}


async def test_a_route_that_leads_nowhere_is_made_anew() -> None:
    world = World(node("a", "10.120.0.0/24"), routes=(route("", "10.120.0.0/24", "hole", blackhole=True),))

    await world.sync()

    assert "hole" not in world.cloud.known_routes
    assert world.there == {("a", "10.120.0.0/24")}


async def test_of_two_routes_to_one_place_a_cidr_of_no_node_goes() -> None:
    doubled = (route("a", "10.120.0.0/24"), route("a", "10.120.9.0/24"))
    world = World(node("a", "10.120.0.0/24"), routes=doubled)

    await world.sync()

    assert world.there == {("a", "10.120.0.0/24")}


def test_a_route_that_depends_on_addresses_is_made_anew_when_they_change() -> None:
    addresses = [{"address": "10.0.1.1", "type": "InternalIP"}]
    there = node("a", "10.120.0.0/24", addresses=addresses)

    def changes(before: V1NodeAddress, *, depends: bool) -> int:
        current = route("a", "10.120.0.0/24", target_node_addresses=(before,), enable_node_addresses=depends)
        plan = plan_routes([there], [current], NETWORKS)
        assert len(plan.delete) == len(plan.create)
        return len(plan.create)

    assert changes(OTHER_ADDRESS, depends=True) == 1
    assert changes(ADDRESS, depends=True) == 0
    assert changes(OTHER_ADDRESS, depends=False) == 0


@pytest.mark.parametrize(
    ("cidr", "ours"),
    [
        ("10.120.3.0/24", True),
        ("10.120.0.0/16", True),
        ("10.119.0.0/15", False),
        ("10.0.0.0/8", False),
        ("10.121.0.0/24", False),
        ("ace:cab:deca::/48", True),
        ("ace:cbb:deca::/48", False),
        ("not a network", False),
    ],
)
def test_routes_into_the_clusters_network_are_ours(cidr: str, ours: bool) -> None:
    assert is_responsible_for(route("a", cidr), NETWORKS) == ours


async def test_a_route_that_cannot_be_made_is_told_and_tried_again() -> None:
    world = World(node("a", "10.120.0.0/24"), node("b", "10.120.1.0/24"))
    world.cloud.errors["create_route"] = [OSError("no quota")]

    await world.sync()
    assert sorted(world.told.values()) == [CREATED, MISSING]
    (event,) = world.recorder.events
    assert event.startswith("Warning FailedToCreateRoute")
    assert event.endswith("after 0.000s: no quota")
    world.requests.clear()
    world.sent.clear()
    await world.sync()
    assert world.there == {("a", "10.120.0.0/24"), ("b", "10.120.1.0/24")}
    assert set(world.told.values()) == {CREATED}


async def test_a_route_that_cannot_be_deleted_keeps_nothing_else() -> None:
    world = World(node("a", "10.120.0.0/24"), routes=(route("gone", "10.120.5.0/24"),))
    world.cloud.errors["delete_route"] = [OSError("no quota")]

    await world.sync()
    assert ("a", "10.120.0.0/24") in world.there
    await world.sync()
    assert world.there == {("a", "10.120.0.0/24")}


async def test_a_route_of_an_uncached_existing_node_stays() -> None:
    there = node("late", "10.120.0.0/24")
    world = World(there, routes=(route("late", "10.120.0.0/24"), route("gone", "10.120.1.0/24")))
    world.uncache(there)

    await world.sync()

    assert world.there == {("late", "10.120.0.0/24")}


async def test_an_unreadable_cloud_is_asked_again_and_nothing_is_done() -> None:
    world = World(node("a", "10.120.0.0/24"))
    world.cloud.errors["list_routes"] = [OSError("down")]

    with pytest.raises(SyncError, match="error listing routes: down"):
        await world.sync()

    assert not world.there
    assert not world.told


def test_a_cloud_that_was_long_unreadable_is_asked_again_after_one_period() -> None:
    """Kubernetes asks in every round, with no back-off."""
    limiter: Any = World().routes.controller.queue._limiter

    assert {limiter.when("routes") for _ in range(30)} == {7.0}


@pytest.mark.parametrize(
    ("cidrs", "routed", "condition", "told"),
    [
        (("10.120.0.0/24",), False, CREATED, None),
        (("10.120.0.0/24",), False, MISSING, CREATED),
        (("10.120.0.0/24",), False, ("False", "CalicoIsUp"), CREATED),
        (("10.120.0.0/24",), False, None, CREATED),
        ((), True, MISSING, None),
        ((), True, CREATED, MISSING),
        ((), False, ("False", "CalicoIsUp"), None),
        ((), False, None, None),
    ],
)
async def test_a_node_is_told_what_it_does_not_say_yet(
    cidrs: tuple[str, ...], routed: bool, condition: tuple[str, str] | None, told: tuple[str, str] | None
) -> None:
    routes = (route("a", "10.120.0.0/24"),) if routed else ()
    world = World(node("a", *cidrs, condition=condition), routes=routes)

    await world.sync()

    assert world.told == ({"a": told} if told else {})


@pytest.mark.parametrize("error", [conflict(), not_found()])
async def test_a_node_that_cannot_be_told_is_told_with_the_next_round(error: Exception) -> None:
    world = World(node("a", "10.120.0.0/24"))
    world.errors["patch Node"] = [error]

    await world.sync()
    world.requests.clear()
    world.sent.clear()
    await world.sync()

    assert world.told == {"a": CREATED}


async def test_at_most_so_many_routes_are_made_at_once() -> None:
    world = World(*(node(f"n{number}", f"10.120.{number}.0/24") for number in range(250)))
    world.cloud.seconds = 1.0

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.sync)
        await turn(world.clock, 1.5)
        assert world.cloud.calls["create_route"] == AT_ONCE
        await turn(world.clock, 2.0)
    assert len(world.there) == 250


def test_a_change_of_a_nodes_cidrs_or_addresses_is_worth_a_round() -> None:
    world = World()
    queue, before = world.routes.controller.queue, node("a")

    world.routes._node_changed(before, node("a", condition=MISSING))
    world.clock.turn(5)
    assert queue.get_nowait() == "routes"
    queue.done("routes")
    assert not len(queue)
    for changed in (node("a", "10.120.0.0/24"), node("a", addresses=[{"address": "1.2.3.4", "type": "InternalIP"}])):
        world.routes._node_changed(before, changed)
        world.clock.turn(5)
        assert queue.get_nowait() == "routes"
        queue.done("routes")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, ControllerDisabled),
        ({"cloud_provider": "fake"}, ControllerDisabled),
        ({"cloud_provider": "fake", "allocate_node_cidrs": True, "configure_cloud_routes": False}, ControllerDisabled),
        ({"cloud_provider": "fake", "allocate_node_cidrs": True}, OptionError),
    ],
)
def test_without_a_cloud_or_a_network_it_does_not_run(options: dict[str, Any], error: type[Exception]) -> None:
    world = Cluster()

    with pytest.raises(error):
        make_controller(ControllerContext(world.client, world.informers, options))
