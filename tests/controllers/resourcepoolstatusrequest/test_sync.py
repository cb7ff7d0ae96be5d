"""The controller with a manager, against the embedded server: questions get one answer, and go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kinformer.manager import ControllerContext, ControllerDisabled
from kinformer.models import (
    ResourceV1ResourceClaim,
    V1alpha3ResourcePoolStatusRequest,
    V1alpha3ResourcePoolStatusRequestStatus,
    V1ResourceSlice,
    from_dict,
)
from kinformer_controllers.resourcepoolstatusrequest.controller import PERIOD, PoolStatusRequests
from tests.controllers.cluster import Cluster as FakeCluster
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import FakeContext, conflict, forbidden
from tests.metrics import metric_value

DRIVER = "d.example.com"
PREFIX = "resourcepoolstatusrequest_controller"
HOUR = 3600
COUNTED = (
    f"{PREFIX}_request_processing_errors_total",
    f"{PREFIX}_requests_processed_total",
    f"{PREFIX}_request_processing_duration_seconds_count",
)


def counted() -> list[float]:
    """How many answers went wrong, how many there were, and how many were timed."""
    return [metric_value(name, {"driver_name": DRIVER}) or 0 for name in COUNTED]


def since(before: list[float]) -> list[float]:
    return [now - then for now, then in zip(counted(), before, strict=True)]


@asynccontextmanager
async def world() -> AsyncIterator[Cluster]:
    make = {"resourcepoolstatusrequest-controller": PoolStatusRequests}
    options = {"feature_gates": "DRAResourcePoolStatus=true"}
    async with cluster(make, options, apis=("resource.k8s.io/v1alpha3",)) as found:
        yield found


def a_request(name: str = "q") -> V1alpha3ResourcePoolStatusRequest:
    body = {"metadata": {"name": name}, "spec": {"driver": DRIVER}}
    return from_dict(V1alpha3ResourcePoolStatusRequest, body)


async def ask(found: Cluster, name: str = "q") -> None:
    await found.client.resource(V1alpha3ResourcePoolStatusRequest).create(a_request(name))
    await found.turn(5)


async def answer(found: Cluster, name: str = "q") -> V1alpha3ResourcePoolStatusRequestStatus | None:
    return (await found.client.resource(V1alpha3ResourcePoolStatusRequest).get(name)).status


async def publish(found: Cluster, name: str, of: int = 1) -> None:
    """The driver publishes a slice with two devices: one of so many of the pool ``p``."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": of}
    spec = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": [{"name": "a"}, {"name": "b"}]}
    await found.client.resource(V1ResourceSlice).create(
        from_dict(V1ResourceSlice, {"metadata": {"name": name}, "spec": spec})
    )


async def use(found: Cluster) -> None:
    """A claim gets a device of the pool ``p``."""
    claims = found.client.resource(ResourceV1ResourceClaim)
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    claim = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"devices": {"requests": [request]}}}
    await claims.create(from_dict(ResourceV1ResourceClaim, claim))
    result = {"request": "r", "driver": DRIVER, "pool": "p", "device": "a"}
    status = {"allocation": {"devices": {"results": [result]}}}
    await claims.patch("c", {"status": status}, "default", subresource="status")


async def names(found: Cluster) -> list[str]:
    return [it.metadata.name for it in (await found.client.resource(V1alpha3ResourcePoolStatusRequest).list()).items]


async def test_a_request_gets_one_answer_that_never_changes() -> None:
    before = counted()
    async with world() as found:
        await publish(found, "one")
        await use(found)
        await ask(found)
        said = await answer(found)
        assert said is not None
        [pool] = said.pools or ()
        assert (pool.total_devices, pool.allocated_devices, pool.available_devices) == (2, 1, 1)

        await publish(found, "two")
        await found.turn(60)
        assert await answer(found) == said
    assert since(before) == [0, 1, 1]


async def test_a_request_waits_until_its_pools_are_complete() -> None:
    async with world() as found:
        await publish(found, "one", of=2)
        await ask(found)
        await found.turn(60)
        assert await answer(found) is None

        await publish(found, "two", of=2)
        await found.turn(120)
        said = await answer(found)
        assert said is not None
        assert [it.total_devices for it in said.pools or ()] == [4]


async def test_answers_go_after_an_hour_and_unanswered_requests_after_a_day() -> None:
    async with world() as found:
        await ask(found, "answered")
        await publish(found, "one", of=2)
        await ask(found, "pending")
        await found.turn(HOUR)
        assert await names(found) == ["answered", "pending"]
        await found.turn(PERIOD)
        assert await names(found) == ["pending"]

        found.clock.turn(23 * HOUR)
        await found.turn(HOUR)
        assert await names(found) == []


def fake() -> tuple[FakeCluster, PoolStatusRequests]:
    world = FakeCluster()
    return world, PoolStatusRequests(
        FakeContext(world.client, world.informers, clock=world.clock, feature_gates="DRAResourcePoolStatus=true")
    )


async def test_an_answer_that_the_server_refuses_is_counted_and_tried_again() -> None:
    there, requests = fake()
    there.put(a_request())
    there.errors["update_status ResourcePoolStatusRequest"] = [conflict()]
    before = counted()

    with pytest.raises(type(conflict())):
        await requests.sync("q")
    assert since(before) == [1, 1, 1]
    await requests.sync("q")
    assert since(before) == [1, 2, 2]


async def test_only_the_request_that_was_looked_at_goes() -> None:
    there, requests = fake()
    request, young = a_request(), a_request("young")
    request.metadata.creation_timestamp = there.clock.now()
    there.clock.turn(25 * HOUR)
    young.metadata.creation_timestamp = there.clock.now()
    for each in (young, request):
        there.put(each)

    there.errors["delete ResourcePoolStatusRequest"] = [conflict(), forbidden()]
    await requests.delete_old()
    await requests.delete_old()
    await requests.delete_old()
    assert there.requests == ["delete ResourcePoolStatusRequest q"] * 3
    for sent in there.sent:
        assert sent.preconditions.uid == request.metadata.uid
        assert sent.preconditions.resource_version == request.metadata.resource_version


def test_without_its_feature_gate_it_does_not_run() -> None:
    world = FakeCluster()
    with pytest.raises(ControllerDisabled, match="DRAResourcePoolStatus"):
        PoolStatusRequests(ControllerContext(world.client, world.informers))
