from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from ttl_cleaner import TTL, make_configmaps_controller, make_namespaces_controller, parse_ttl

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import eventually, running
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1ConfigMap, V1Namespace, V1ObjectMeta


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def manager(operator_client: Client, clock: FakeClock) -> AsyncIterator[Manager]:
    known = {"ttl-configmaps": make_configmaps_controller, "ttl-namespaces": make_namespaces_controller}
    async with running(Manager(operator_client, known=known, clock=clock)) as manager:
        yield manager


def short_lived(ttl: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name="trial", namespace="default", annotations={TTL: ttl}))


async def until_gone(client: Client, clock: FakeClock, within: float) -> float:
    """The seconds of the clock that it took."""
    began = clock.monotonic()

    async def is_gone() -> bool:
        found = (await client.resource(V1ConfigMap).list("default")).items
        return all(obj.metadata.name != "trial" for obj in found)

    await eventually(is_gone, clock=clock, seconds=within)
    return clock.monotonic() - began


async def test_an_object_is_deleted_when_its_time_is_over(
    kinformer_client: Client, manager: Manager, clock: FakeClock
) -> None:
    await kinformer_client.resource(V1ConfigMap).create(short_lived("1h30m"))

    assert 5399 <= await until_gone(kinformer_client, clock, 6000) <= 5460


async def test_the_annotation_may_change_meanwhile(
    kinformer_client: Client, manager: Manager, clock: FakeClock
) -> None:
    maps = kinformer_client.resource(V1ConfigMap)
    await maps.create(short_lived("7d"))
    await maps.patch("trial", {"metadata": {"annotations": {TTL: "10m"}}}, "default")

    assert await until_gone(kinformer_client, clock, 1000) <= 660


async def test_namespaces_go_as_well_and_what_has_no_ttl_stays(
    kinformer_client: Client, manager: Manager, clock: FakeClock
) -> None:
    namespaces, maps = kinformer_client.resource(V1Namespace), kinformer_client.resource(V1ConfigMap)
    await namespaces.create(V1Namespace(metadata=V1ObjectMeta(name="pr-17", annotations={TTL: "10m"})))
    await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name="kept", namespace="default")))

    async def is_gone() -> bool:
        return all(found.metadata.name != "pr-17" for found in (await namespaces.list()).items)

    await eventually(is_gone, clock=clock, seconds=900)
    assert (await maps.get("kept", "default")).metadata.deletion_timestamp is None


async def test_an_annotation_that_is_no_duration_is_told_once_and_can_be_mended(
    kinformer_client: Client, manager: Manager, clock: FakeClock
) -> None:
    maps = kinformer_client.resource(V1ConfigMap)
    await maps.create(short_lived("soon"))

    async def is_told() -> None:
        (event,) = (await kinformer_client.resource(CoreV1Event).list("default")).items
        assert event.reason == "BadTtl"
        assert event.message == "example.com/ttl is 'soon': want a duration such as 90m, 1h30m or 7d"
        assert event.count in (None, 1)

    await eventually(is_told, clock=clock)
    await maps.patch("trial", {"metadata": {"annotations": {TTL: "1m"}}}, "default")
    await until_gone(kinformer_client, clock, 120)


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("1h30m", 5400), ("7d", 604800), ("0s", 0)])
def test_durations_are_read(text: str, seconds: int) -> None:
    assert parse_ttl(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "soon", "10", "-1h", "1.5h", "1h "])
def test_what_is_no_duration_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="want a duration such as"):
        parse_ttl(text)
