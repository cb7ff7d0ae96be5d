"""What an answer says of a driver's pools, and for how long it is kept."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.models import (
    ResourceV1ResourceClaim,
    V1alpha3PoolStatus,
    V1alpha3ResourcePoolStatusRequest,
    V1alpha3ResourcePoolStatusRequestStatus,
    V1ResourceSlice,
    decode,
    from_dict,
)
from kinformer_controllers.resourcepoolstatusrequest.counting import IncompletePool, count_pools, is_old

NOW = FakeClock().now()
DRIVER = "d.example.com"
HOUR = timedelta(hours=1)


def a_slice(pool: str = "p", node: str = "n", devices: int = 4, generation: int = 1, of: int = 1, **spec: Any) -> Any:
    spec = {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": of},
        "devices": [{"name": f"dev-{number}"} for number in range(devices)],
        **({"nodeName": node} if node else {"allNodes": True}),
        **spec,
    }
    return from_dict(V1ResourceSlice, {"metadata": {"name": "s"}, "spec": spec})


def a_claim(*pools: str, driver: str = DRIVER) -> ResourceV1ResourceClaim:
    """A claim with a device of each of these pools."""
    results = [{"request": "r", "driver": driver, "pool": pool, "device": "dev-0"} for pool in pools]
    status = {"allocation": {"devices": {"results": results}}} if pools else {}
    metadata = {"name": "c", "namespace": "default"}
    return from_dict(ResourceV1ResourceClaim, {"metadata": metadata, "spec": {}, "status": status})


def a_request(status: dict[str, Any] | None = None, **spec: Any) -> V1alpha3ResourcePoolStatusRequest:
    metadata = {"name": "q", "creationTimestamp": NOW.isoformat()}
    body = {"metadata": metadata, "spec": {"driver": DRIVER, **spec}}
    return from_dict(V1alpha3ResourcePoolStatusRequest, body if status is None else body | {"status": status})


def count(*objects: Any, **spec: Any) -> V1alpha3ResourcePoolStatusRequestStatus:
    slices = [it for it in objects if isinstance(it, V1ResourceSlice)]
    return count_pools(a_request(**spec), slices, [it for it in objects if it not in slices], NOW)


def pools(*objects: Any, **spec: Any) -> list[V1alpha3PoolStatus]:
    return list(count(*objects, **spec).pools or ())


def test_an_answer_has_everything_that_is_known_of_a_pool() -> None:
    found = count(a_slice(devices=3, generation=7, of=2), a_slice(generation=7, of=2), a_claim("p", "p"), a_claim())

    want = V1alpha3PoolStatus(
        driver=DRIVER,
        pool_name="p",
        generation=7,
        node_name="n",
        resource_slice_count=2,
        total_devices=7,
        allocated_devices=2,
        available_devices=5,
        unavailable_devices=0,
    )
    assert found.pools == [want]
    assert found.pool_count == 1
    [only] = found.conditions or ()
    assert (only.type, only.status, only.reason) == ("Complete", "True", "CalculationComplete")
    assert (only.message, only.last_transition_time) == ("Calculated status for 1 pools", NOW)


def test_other_drivers_count_neither_with_slices_nor_with_claims() -> None:
    found = pools(a_slice(), a_slice("q", driver="other"), a_claim("p", driver="other"))

    assert [(it.pool_name, it.total_devices, it.allocated_devices) for it in found] == [("p", 4, 0)]


def test_a_request_for_one_pool_shows_only_this_one() -> None:
    assert [it.pool_name for it in pools(a_slice("p"), a_slice("q"), poolName="q")] == ["q"]


def test_pools_come_by_name_and_up_to_the_limit() -> None:
    found = count(a_slice("r"), a_slice("p"), a_slice("q"), limit=2)

    assert [it.pool_name for it in found.pools or ()] == ["p", "q"]
    assert found.pool_count == 3


def test_a_request_without_a_limit_shows_100_pools() -> None:
    found = count(*(a_slice(f"p{number}") for number in range(101)))

    assert (len(found.pools or ()), found.pool_count) == (100, 101)


def test_without_pools_there_is_an_answer_without_pools() -> None:
    found = count(a_claim("p"))

    assert (found.pools, found.pool_count) == (None, 0)


@pytest.mark.parametrize("order", [1, -1])
def test_only_slices_of_the_newest_generation_count(order: int) -> None:
    slices = [a_slice(devices=8, generation=1), a_slice(generation=2, of=2), a_slice(generation=2, of=2)]

    [only] = pools(*slices[::order])
    assert (only.generation, only.resource_slice_count, only.total_devices) == (2, 2, 8)


@pytest.mark.parametrize(("nodes", "shown"), [("nn", "n"), ("nm", None), (("", ""), None), (("n", ""), None)])
def test_a_pool_has_a_node_if_all_its_slices_have_it(nodes: Any, shown: str | None) -> None:
    [only] = pools(*(a_slice(node=node, of=2) for node in nodes))

    assert only.node_name == shown


def test_more_devices_in_use_than_there_are_leave_none() -> None:
    [only] = pools(a_slice(devices=1), a_claim("p", "p"))

    assert (only.allocated_devices, only.available_devices) == (2, 0)


def test_an_incomplete_pool_is_named() -> None:
    message = "^pool d.example.com/p is incomplete: observed 1/3 slices at generation 2$"
    with pytest.raises(IncompletePool, match=message):
        count(a_slice("o"), a_slice("p", generation=2, of=3))


def test_an_incomplete_pool_beyond_the_limit_does_not_matter() -> None:
    assert [it.pool_name for it in pools(a_slice("o"), a_slice("p", of=3), limit=1)] == ["o"]


def test_slices_as_they_come_from_the_server_are_counted() -> None:
    text = (
        b'{"metadata":{"name":"s"},"spec":{"driver":"d.example.com","pool":{"name":"p","generation":1,'
        b'"resourceSliceCount":1},"devices":[{"name":"a","attributes":{"x":{"int":1}}},{"name":"b"}]}}'
    )
    assert [it.total_devices for it in pools(decode(V1ResourceSlice, text))] == [2]


def ended(type_: str, minutes: float) -> dict[str, Any]:
    since = (NOW + timedelta(minutes=minutes)).isoformat()
    return {"type": type_, "status": "True", "lastTransitionTime": since, "reason": "R", "message": ""}


@pytest.mark.parametrize(
    ("conditions", "after"),
    [
        pytest.param(None, 24 * HOUR, id="no answer"),
        pytest.param([], HOUR, id="an answer without a time"),
        pytest.param([ended("Complete", 30)], 1.5 * HOUR, id="answered later"),
        pytest.param([ended("Failed", 30)], 1.5 * HOUR, id="failed later"),
        pytest.param([ended("Other", 30)], HOUR, id="another condition"),
    ],
)
def test_a_request_goes_when_its_time_is_over_and_not_before(conditions: Any, after: timedelta) -> None:
    request = a_request(None if conditions is None else {"poolCount": 0, "conditions": conditions})

    assert not is_old(request, NOW + after)
    assert is_old(request, NOW + after + timedelta(seconds=1))
