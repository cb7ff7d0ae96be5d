"""The cloud in memory, and the settings of a Service for its load balancer."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from kinformer.clock import FakeClock
from kinformer.models import V1Service, from_dict
from kinformer_controllers.shared.cloud.interface import (
    Route,
    allows_all,
    health_check,
    needs_health_check,
    requests_only_local_traffic,
    source_ranges,
)
from kinformer_controllers.shared.cloud.loading import FakeCloud
from tests.controllers.servicelb.test_sync import node, service
from tests.turning import turn


async def test_load_balancers_have_documentation_addresses_and_are_forgotten_when_told() -> None:
    cloud = FakeCloud()
    status = await cloud.ensure_load_balancer("c", service(), [node("n")])

    assert [ingress.ip for ingress in status.ingress or ()] == ["192.0.2.7"]
    assert await cloud.get_load_balancer("c", service()) == status
    assert cloud.calls == {"ensure_load_balancer": 1, "get_load_balancer": 1}
    cloud.forget()
    assert await cloud.get_load_balancer("c", service()) is None


async def test_routes_are_there_at_once() -> None:
    cloud = FakeCloud()
    await cloud.create_route("c", "uid", Route("", "n", "10.0.0.0/24"))

    (route,) = await cloud.list_routes("c")
    assert (route.target_node, route.destination_cidr) == ("n", "10.0.0.0/24")
    await cloud.delete_route("c", route)
    assert not await cloud.list_routes("c")


@pytest.mark.parametrize(
    ("name", "exists", "off"), [("a", True, False), ("a-gone", False, False), ("a-off", True, True)]
)
async def test_names_say_what_became_of_an_instance(name: str, exists: bool, off: bool) -> None:
    cloud = FakeCloud()

    assert await cloud.instance_exists(node(name)) == exists
    assert await cloud.instance_shutdown(node(name)) == off


async def test_it_is_slow_and_fails_when_told() -> None:
    clock = FakeClock()
    cloud = FakeCloud(clock)
    cloud.seconds = 5.0
    cloud.errors["list_routes"] = [OSError("down")]
    failed: list[BaseException] = []

    async def ask() -> None:
        try:
            await cloud.list_routes("c")
        except OSError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await turn(clock, 4.0)
        assert not failed
        await turn(clock, 1.0)
    assert str(failed[0]) == "down"


ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges"


def balanced(ranges: list[str] | None = None, annotation: str | None = None, **spec: Any) -> V1Service:
    metadata = {"name": "s", "annotations": {ANNOTATION: annotation} if annotation is not None else None}
    return from_dict(V1Service, {"metadata": metadata, "spec": {"loadBalancerSourceRanges": ranges, **spec}})


@pytest.mark.parametrize(
    ("there", "ranges"),
    [
        (balanced(["192.168.0.1/32"]), ["192.168.0.1/32"]),
        (balanced(["192.168.0.1/24", " 10.1.0.0/16 "]), ["192.168.0.0/24", "10.1.0.0/16"]),
        (balanced(annotation="192.168.0.1/32,192.168.0.2/32"), ["192.168.0.1/32", "192.168.0.2/32"]),
        (balanced(annotation="  192.168.0.1/32  "), ["192.168.0.1/32"]),
        (balanced(["10.0.0.0/8"], annotation="192.168.0.1/32"), ["10.0.0.0/8"]),
        (balanced(), ["0.0.0.0/0"]),
        (balanced(annotation=""), ["0.0.0.0/0"]),
        (balanced(annotation="   "), ["0.0.0.0/0"]),
    ],
)
def test_the_ranges_are_the_specs_the_annotations_or_all(there: V1Service, ranges: list[str]) -> None:
    assert [str(network) for network in source_ranges(there)] == ranges


@pytest.mark.parametrize("text", ["foo.bar", "10.0.0.1", "1.2.3.4/33", "10.0.0.1/32,"])
def test_what_is_no_range_is_refused_and_the_field_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=f"{ANNOTATION}: .* is not valid"):
        source_ranges(balanced(annotation=text))
    with pytest.raises(ValueError, match=r"service\.Spec\.LoadBalancerSourceRanges: .* is not valid"):
        source_ranges(balanced(text.split(",")))


def test_one_range_of_all_lets_everybody_in() -> None:
    assert allows_all(source_ranges(balanced()))
    assert allows_all(source_ranges(balanced(["10.0.0.0/8", "0.0.0.0/0"])))
    assert not allows_all(source_ranges(balanced(["10.0.0.0/8"])))


@pytest.mark.parametrize(
    ("type_", "policy", "local", "checked"),
    [
        ("ClusterIP", None, False, False),
        ("ClusterIP", "Local", False, False),
        ("NodePort", "Cluster", False, False),
        ("NodePort", "Local", True, False),
        ("LoadBalancer", "Cluster", False, False),
        ("LoadBalancer", "Local", True, True),
    ],
)
def test_nodes_of_a_service_that_keeps_traffic_local_are_checked(
    type_: str, policy: str | None, local: bool, checked: bool
) -> None:
    there = balanced(type=type_, externalTrafficPolicy=policy, healthCheckNodePort=30000)

    assert requests_only_local_traffic(there) == local
    assert needs_health_check(there) == checked
    assert health_check(there) == (("/healthz", 30000) if checked else None)
    assert health_check(balanced(type=type_, externalTrafficPolicy=policy)) is None
