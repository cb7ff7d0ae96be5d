from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kinformer.client.errors import Status, error_from_status
from kinformer.models import V1Endpoints, V1EndpointSubset, V1Service, from_dict
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.endpoint.controller import LEADER_ANNOTATION, EndpointController
from tests.controllers.objects import FakeContext, drained
from tests.controllers.shared.services.world import NAMESPACE_TERMINATING, World, make_pod, make_service, stamp
from tests.metrics import metric_value

TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


class Endpoints(World):
    """A world with the controller in it."""

    def __init__(self, *objects: Any) -> None:
        super().__init__()
        controller = EndpointController(FakeContext(self, self, self.recorder, clock=self.clock))
        self.sync_key: Callable[[str], Awaitable[float | None]] = controller.sync
        self.queue: RateLimitingQueue[str] = controller.controller.queue
        self.put(*objects)

    async def sync(self, name: str = "web") -> float | None:
        return await self.sync_key(f"ns/{name}")

    async def queued(self) -> list[str]:
        return drained(self.queue)


def ips(subsets: list[V1EndpointSubset]) -> list[tuple[list[str], ...]]:
    """Of each subset: ready IPs, IPs that are not ready."""
    return [tuple([it.ip for it in some or ()] for some in (one.addresses, one.not_ready_addresses)) for one in subsets]


@pytest.mark.parametrize(
    "service",
    [make_service(selector={}), make_service(type="ExternalName", externalName="elsewhere")],
    ids=["none", "name"],
)
async def test_a_service_that_selects_nothing_is_left_alone(service: V1Service) -> None:
    world = Endpoints(service, make_pod("a", "10.1.0.1"))
    await world.sync()

    assert world.writes == []


async def test_a_service_that_is_gone_takes_its_endpoints_with_it() -> None:
    service = make_service()
    world = Endpoints(service)
    await world.sync()
    await world.queued()
    world.remove(service)
    await world.sync()
    await world.sync()

    assert world.writes == ["create Endpoints/web", "delete Endpoints/web", "delete Endpoints/web"]
    assert await world.queued() == ["ns/web"]


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"ipFamilies": ["IPv4"]}, ["10.1.0.1"]),
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["fd00::1"]),
        ({"ipFamilies": None}, ["10.1.0.1"]),
        ({"ipFamilies": None, "clusterIP": "fd00::10"}, ["fd00::1"]),
        ({"ipFamilies": None, "clusterIP": "None"}, ["10.1.0.1"]),
    ],
    ids=["first", "first is six", "of its IP", "of its IP six", "of the pod"],
)
async def test_of_a_pods_addresses_the_one_of_the_services_family_is_listed(
    spec: dict[str, Any], want: list[str]
) -> None:
    world = Endpoints(make_service(**spec), make_pod("a", ["10.1.0.1", "fd00::1"]))
    await world.sync()

    assert ips(world.endpoints().subsets) == [(want, [])]


@pytest.mark.parametrize("cluster_ip", ["None", ""])
@pytest.mark.parametrize(("primary", "listed"), [("10.1.0.1", "10.1.0.1"), ("fd00::1", "fd00::1"), ("", "10.1.0.1")])
async def test_without_families_a_service_lists_the_primary_ips_family(
    cluster_ip: str, primary: str, listed: str
) -> None:
    pod = make_pod("a", ["10.1.0.1", "fd00::1"])
    pod.status.pod_ip = primary
    service = make_service(clusterIP=cluster_ip, ipFamilies=None)
    world = Endpoints(service, pod, make_pod("b", "fd00::2"), make_pod("c", "10.1.0.3"))
    await world.sync()

    [subset] = world.endpoints().subsets
    assert [address.ip for address in subset.addresses] == sorted([listed, "10.1.0.3", "fd00::2"])


async def test_a_primary_ip_of_the_other_family_is_a_change() -> None:
    world = Endpoints(make_service(clusterIP="None", ipFamilies=None), make_pod("a", ["10.1.0.1", "fd00::1"]))
    await world.sync()
    await world.queued()
    other = make_pod("a", ["10.1.0.1", "fd00::1"])
    other.status.pod_ip = "fd00::1"
    world.put(other)

    assert await world.queued() == ["ns/web"]


async def test_labels_are_the_services_and_annotations_those_that_are_there() -> None:
    world = Endpoints(make_service(labels={"team": "x", "service.kubernetes.io/headless": "no"}))
    there = {"metadata": {"name": "web", "namespace": "ns", "resourceVersion": "v", "labels": {"old": "y"}}}
    there["metadata"]["annotations"] = {"mine": "z"}  # type: ignore[assignment]  # of another type than the labels
    endpoints = from_dict(V1Endpoints, there)
    world.objects["Endpoints", "web"] = endpoints
    world.put(endpoints)
    await world.sync()

    assert world.endpoints().metadata.labels == {
        "team": "x",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
    }
    assert world.endpoints().metadata.annotations == {"mine": "z", TRIGGER: stamp(0)}
    assert endpoints.metadata.labels == {"old": "y"}


async def test_nothing_is_written_when_nothing_has_changed() -> None:
    service = make_service(labels={"team": "x"}, clusterIP="None")
    world = Endpoints(service, make_pod("a", "10.1.0.1"), make_pod("b", "10.1.0.2", ready=False))
    await world.sync()
    world.put(make_pod("a", "10.1.0.1", ready_at=7))
    await world.sync()

    assert world.writes == ["create Endpoints/web"]


async def test_what_says_the_same_in_another_form_is_left_as_it_is() -> None:
    world = Endpoints(make_service(), make_pod("a", "10.1.0.1"), make_pod("b", "10.1.0.2"))
    await world.sync()
    said = world.endpoints()
    one, two = said.subsets[0].addresses
    ports = said.subsets[0].ports
    one.target_ref.resource_version = "7"
    said.subsets = [V1EndpointSubset(addresses=[two], ports=ports), V1EndpointSubset(addresses=[one], ports=ports)]
    world.put(said)
    await world.sync()

    assert world.writes == ["create Endpoints/web"]


async def test_the_trigger_time_is_the_changes_and_goes_without_one() -> None:
    pod = make_pod("a", "10.1.0.1", ready=False, ready_at=10)
    world = Endpoints(make_service(created=5), pod)
    await world.sync()
    first = world.endpoints().metadata.annotations[TRIGGER]
    world.put(make_pod("a", "10.1.0.1", ready_at=20))
    await world.sync()
    second = world.endpoints().metadata.annotations[TRIGGER]
    world.remove(pod)
    await world.sync()

    assert (first, second) == (stamp(5), stamp(20))
    assert world.endpoints().metadata.annotations == {}


async def test_more_than_a_thousand_addresses_are_cut_and_it_says_so() -> None:
    pods = [make_pod(f"p{i:04}", f"10.1.{i // 250}.{i % 250}", ready=i % 3 > 0) for i in range(1500)]
    world = Endpoints(make_service(), *pods)
    await world.sync()

    [(ready, not_ready)] = ips(world.endpoints().subsets)
    assert (len(ready), len(not_ready)) == (1000, 0)
    assert world.endpoints().metadata.annotations["endpoints.kubernetes.io/over-capacity"] == "truncated"

    await world.sync()
    assert world.writes == ["create Endpoints/web"]
    for pod in pods[:600]:
        world.remove(pod)
    await world.sync()
    assert [[len(each) for each in both] for both in ips(world.endpoints().subsets)] == [[600, 300]]
    assert "endpoints.kubernetes.io/over-capacity" not in world.endpoints().metadata.annotations


@pytest.mark.parametrize("quick", [True, False], ids=["watch first", "answer first"])
async def test_endpoints_that_somebody_deletes_are_made_again(quick: bool) -> None:
    world = Endpoints(make_service())
    world.cache_follows = quick
    await world.sync()
    world.show()
    await world.queued()
    world.remove(world.objects.pop(("Endpoints", "web")))

    assert await world.queued() == ["ns/web"]
    await world.sync()
    assert world.writes == ["create Endpoints/web"] * 2


async def test_endpoints_deleted_before_the_creates_answer_are_created_again() -> None:
    world = Endpoints(make_service(), make_pod("a", "10.1.0.1"))
    await world.queued()
    world.before_answer = world.undo
    await world.sync()
    assert await world.queued() == ["ns/web"]
    world.before_answer = lambda _: None

    assert await world.sync() is None
    assert world.writes == ["create Endpoints/web"] * 2


async def test_endpoints_that_a_list_finds_gone_are_created_again() -> None:
    world = Endpoints(make_service())
    world.cache_follows = False
    await world.sync()
    world.show()
    await world.queued()
    # A list does not say when they went, and what it has besides them is older.
    world.find_gone(world.objects.pop(("Endpoints", "web")))
    meta = {"name": "old", "namespace": "ns", "uid": "old", "resourceVersion": "1"}
    world.put(from_dict(V1Endpoints, {"metadata": meta}))

    assert await world.queued() == ["ns/web"]
    assert await world.sync() is None
    assert world.writes == ["create Endpoints/web"] * 2


async def test_endpoints_that_are_left_over_are_looked_at_at_the_start() -> None:
    world = Endpoints()
    for name, notes in [("web", {}), ("leader", {LEADER_ANNOTATION: "{}"})]:
        meta = {"name": name, "namespace": "ns", "annotations": notes}
        world.objects["Endpoints", name] = from_dict(V1Endpoints, {"metadata": meta})
        world.put(world.endpoints(name), initial=True)
    assert await world.queued() == ["ns/web"]

    await world.sync()
    assert list(world.objects) == [("Endpoints", "leader")]


async def test_a_cached_service_waits_until_its_event_was_handled() -> None:
    world = Endpoints(make_service(), make_pod("a", "10.1.0.1"))
    world.informer_for(V1Service).indexer.add(make_service(selector={"app": "other"}))
    await world.sync()

    assert world.writes == []


async def test_that_a_namespace_is_going_is_no_error() -> None:
    world = Endpoints(make_service())
    world.errors = [NAMESPACE_TERMINATING]
    await world.sync()

    assert (world.writes, world.recorder.events) == ([], [])


@pytest.mark.parametrize("there", [False, True], ids=["create", "update"])
async def test_a_refused_write_fails_the_sync_and_is_told(there: bool) -> None:
    world = Endpoints(make_service())
    if there:
        await world.sync()
        world.put(make_pod("a", "10.1.0.1"))
    world.errors = [error_from_status(Status(code=500, reason="InternalError", message="disk full"))]
    with pytest.raises(Exception, match="disk full"):
        await world.sync()

    [event] = world.recorder.events
    verb = "Update endpoint" if there else "Create endpoint for service"
    reason = "FailedToUpdateEndpoint" if there else "FailedToCreateEndpoint"
    assert event.startswith(f"Warning {reason} web: Failed to {verb[0].lower()}{verb[1:]} ns/web: ")


async def test_metrics_count_syncs_changes_and_addresses() -> None:

    def value(name: str, **labels: str) -> float:
        return metric_value(f"endpoint_controller_{name}", labels) or 0.0

    before = value("syncs", result="success"), value("changes", operation="create")
    service = make_service()
    world = Endpoints(service, make_pod("a", "10.1.0.1"), make_pod("b", "10.1.0.2", ready=False))
    await world.sync()
    assert value("endpoints_desired") == 2
    assert (value("syncs", result="success"), value("changes", operation="create")) == (before[0] + 1, before[1] + 1)

    world.remove(service)
    await world.sync()
    assert value("endpoints_desired") == 0
