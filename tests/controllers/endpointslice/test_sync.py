from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from kinformer.client.errors import Status, error_from_status
from kinformer.models import V1Endpoint, V1EndpointSlice, V1Service
from kinformer_controllers.endpointslice.tracking import MIN_SYNC_DELAY
from tests.controllers.endpointslice.worlds import Slices
from tests.controllers.shared.services.world import (
    NAMESPACE_TERMINATING,
    make_node,
    make_pod,
    make_service,
    stamp,
)
from tests.metrics import metric_value

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
REFUSED = error_from_status(Status(code=500, reason="InternalError", message="no"))


def conditions(endpoint: V1Endpoint) -> tuple[bool, bool, bool]:
    said = endpoint.conditions
    return said.ready, said.serving, said.terminating


async def test_a_slice_names_its_owner_manager_and_contents() -> None:
    world = Slices(
        make_node("n1", zone="east"),
        make_service(labels={"team": "x", MANAGED_BY: "me"}, created=5),
        make_pod("a", "10.1.0.1"),
    )
    await world.sync()

    meta = world.slice.metadata
    assert meta.labels == {
        "team": "x",
        "kubernetes.io/service-name": "web",
        MANAGED_BY: "endpointslice-controller.k8s.io",
    }
    assert (meta.generate_name, meta.namespace) == ("web-", "ns")
    assert meta.annotations == {"endpoints.kubernetes.io/last-change-trigger-time": stamp(5)}
    [owner] = meta.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Service", "web", "uid-web", True)
    assert world.slice.address_type == "IPv4"
    [port] = world.slice.ports
    assert (port.name, port.port, port.protocol) == ("", 8080, "TCP")
    endpoint = world.endpoint("a")
    assert (endpoint.addresses, endpoint.node_name, endpoint.zone) == (["10.1.0.1"], "n1", "east")
    assert (endpoint.target_ref.kind, endpoint.target_ref.uid) == ("Pod", "uid-a")


async def test_conditions_are_ready_serving_and_terminating() -> None:
    world = Slices(
        make_service(),
        make_service("all", selector={"app": "web"}, publishNotReadyAddresses=True),
        make_pod("ready", "10.1.0.1"),
        make_pod("starting", "10.1.0.2", ready=False),
        make_pod("leaving", "10.1.0.3", deleting=True),
        make_pod("done", "10.1.0.4", phase="Succeeded"),
        make_pod("new"),
    )
    await world.sync()

    assert world.addresses() == ["10.1.0.1", "10.1.0.2", "10.1.0.3"]
    assert conditions(world.endpoint("ready")) == (True, True, False)
    assert conditions(world.endpoint("starting")) == (False, False, False)
    assert conditions(world.endpoint("leaving")) == (False, True, True)

    world.objects.clear()
    await world.sync("all")
    assert conditions(world.endpoint("starting")) == (True, False, False)
    assert conditions(world.endpoint("leaving")) == (True, True, True)


@pytest.mark.parametrize(
    "service", [make_service(selector={}), make_service(type="ExternalName", externalName="x")], ids=["none", "name"]
)
async def test_a_service_that_selects_nothing_is_left_alone(service: V1Service) -> None:
    world = Slices(service, make_pod("a", "10.1.0.1"))
    await world.sync()

    assert world.writes == []


async def test_a_service_without_endpoints_has_one_empty_slice() -> None:
    pod = make_pod("a", "10.1.0.1")
    world = Slices(make_service(), pod)
    await world.sync()
    world.remove(pod)
    await world.sync()
    await world.sync()

    # Written over the slice that was there.
    assert world.verbs == ["create", "update"]
    assert (world.slice.endpoints, world.slice.ports) == (None, None)
    world.put(pod)
    await world.sync()
    assert world.verbs == ["create", "update", "update"]
    assert world.addresses() == ["10.1.0.1"]


async def test_a_headless_service_without_ports_has_a_slice_without_ports() -> None:
    world = Slices(make_service(ports=[], clusterIP="None"), make_pod("a", "10.1.0.1", hostname="h", subdomain="web"))
    await world.sync()

    assert world.slice.metadata.labels["service.kubernetes.io/headless"] == ""
    assert (world.addresses(), world.slice.ports) == (["10.1.0.1"], None)
    assert world.endpoint("a").hostname == "h"
    await world.sync()
    assert world.verbs == ["create"]


async def test_a_service_of_two_families_has_slices_of_two_types() -> None:
    world = Slices(make_service(ipFamilies=["IPv4", "IPv6"]), make_pod("a", ["10.1.0.1", "fd00::1"]))
    await world.sync()

    said = {one.address_type: [each.addresses for each in one.endpoints] for one in world.slices()}
    assert said == {"IPv4": [["10.1.0.1"]], "IPv6": [["fd00::1"]]}

    world.put(make_service(ipFamilies=["IPv4"]))
    await world.sync()
    assert world.verbs == ["create", "create", "delete"]
    assert world.slice.address_type == "IPv4"


async def test_a_pod_without_a_familys_address_is_not_in_its_slice() -> None:
    world = Slices(make_service(ipFamilies=["IPv4", "IPv6"]), make_pod("a", "10.1.0.1"))
    await world.sync()
    await world.sync()

    said = {one.address_type: len(one.endpoints or ()) for one in world.slices()}
    assert (said, world.verbs) == ({"IPv4": 1, "IPv6": 0}, ["create", "create"])


async def test_all_addresses_of_a_family_are_one_endpoint_in_a_fixed_order() -> None:
    world = Slices(make_service(), make_pod("a", ["10.1.0.2", "10.1.0.1"]))
    await world.sync()
    world.put(make_pod("a", ["10.1.0.1", "10.1.0.2"]))
    await world.sync()

    assert world.endpoint("a").addresses == ["10.1.0.1", "10.1.0.2"]
    assert world.verbs == ["create"]


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"clusterIP": "10.0.0.1"}, ["IPv4"]),
        ({"clusterIP": "fd00::1"}, ["IPv6"]),
        ({"clusterIP": "None"}, ["IPv4", "IPv6"]),
    ],
    ids=["four", "six", "headless"],
)
async def test_a_service_from_before_there_were_families_has_slices_of_this_type(
    spec: dict[str, Any], want: list[str]
) -> None:
    world = Slices(make_service(ipFamilies=None, **spec))
    await world.sync()

    assert sorted(one.address_type for one in world.slices()) == want


async def test_nothing_is_written_when_nothing_has_changed() -> None:
    world = Slices(make_service(), *(make_pod(f"p{n}", f"10.1.0.{n}") for n in range(25)), max_per_slice=10)
    await world.sync()
    world.put(make_pod("p3", "10.1.0.3", ready_at=7))
    await world.sync()

    assert world.verbs == ["create"] * 3
    assert sorted(len(one.endpoints) for one in world.slices()) == [5, 10, 10]


async def test_a_readiness_that_changes_is_one_write_of_its_slice() -> None:
    world = Slices(make_service(), *(make_pod(f"p{n}", f"10.1.0.{n}") for n in range(25)), max_per_slice=10)
    await world.sync()
    world.put(make_pod("p13", "10.1.0.13", ready=False, ready_at=9))
    await world.sync()

    assert world.verbs == ["create"] * 3 + ["update"]
    assert conditions(world.endpoint("p13")) == (False, False, False)
    annotated = [one.metadata.annotations.values() for one in world.slices()]
    assert sorted(map(list, annotated)) == [[stamp(0)], [stamp(0)], [stamp(9)]]


async def test_a_pod_that_was_made_anew_under_its_name_is_another() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"))
    await world.sync()
    world.put(make_pod("a", "10.1.0.1", uid="another"))
    await world.sync()

    assert world.endpoint("a").target_ref.uid == "another"


async def test_labels_of_the_service_that_change_are_written_to_all_its_slices() -> None:
    pods = [make_pod(f"p{n}", f"10.1.0.{n}") for n in range(25)]
    world = Slices(make_service(labels={"team": "x"}), *pods, max_per_slice=10)
    await world.sync()
    world.put(make_service(labels={"team": "y"}))
    await world.sync()

    assert world.verbs == ["create"] * 3 + ["update"] * 3
    assert {one.metadata.labels["team"] for one in world.slices()} == {"y"}


async def test_an_earlier_services_slice_is_deleted_and_not_overwritten() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"))
    await world.sync()
    service = make_service()
    service.metadata.uid = "another"
    world.put(service)
    await world.sync()

    assert world.verbs == ["create", "create", "delete"]
    assert world.slice.metadata.owner_references[0].uid == "another"


async def test_no_slices_are_made_for_a_service_that_is_being_deleted() -> None:
    service = make_service()
    service.metadata.deletion_timestamp = service.metadata.creation_timestamp
    world = Slices(service, make_pod("a", "10.1.0.1"))
    await world.sync()

    assert world.writes == []


async def test_slices_that_somebody_else_looks_after_are_left_alone() -> None:
    world = Slices(make_service())
    await world.sync()
    taken = copy.deepcopy(world.slice)
    taken.metadata.labels[MANAGED_BY] = "me"
    await world.resource(V1EndpointSlice).update(taken)
    await world.sync()

    assert world.verbs == ["create", "update", "create"]


async def test_a_pod_on_an_unknown_node_is_left_out_until_known() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"), make_pod("b", "10.1.0.2", nodeName="n2"))
    with pytest.raises(ExceptionGroup, match="slices of ns/web") as raised:
        await world.sync()
    await world.queued()

    problem = "skipping Pod b for Service ns/web: Node n2 Not Found"
    assert [str(each) for each in raised.value.exceptions] == [problem]
    assert world.recorder.events == [
        f"Warning FailedToUpdateEndpointSlices web: Error updating Endpoint Slices for Service ns/web: {problem}"
    ]
    assert world.addresses() == ["10.1.0.1"]

    world.put(make_node("n2"))
    assert await world.queued() == ["ns/web"]
    await world.sync()
    assert world.addresses() == ["10.1.0.1", "10.1.0.2"]


async def test_an_event_names_each_pod_without_a_node_once() -> None:
    # As k8s.io/apimachinery's Aggregate: a Service with two families has each error twice.
    service = make_service(ipFamilies=["IPv4", "IPv6"], clusterIPs=["10.0.0.1", "fd00::1"])
    world = Slices(service, *(make_pod(name, "10.1.0.1", nodeName="n2") for name in "ba"))
    with pytest.raises(ExceptionGroup):
        await world.sync()

    each = "skipping Pod {} for Service ns/web: Node n2 Not Found"
    [event] = world.recorder.events
    assert event.endswith(f"Slices for Service ns/web: [{each.format('a')}, {each.format('b')}]")


async def test_a_pod_waiting_for_a_node_is_forgotten_with_its_service() -> None:
    first, second = make_service(), make_service("other", selector={"app": "web"})
    pod = make_pod("a", "10.1.0.1", nodeName="missing")
    world = Slices(first, second, pod, make_pod("b", "10.1.0.2", nodeName="never"))
    for name in ("web", "other"):
        with pytest.raises(ExceptionGroup):
            await world.sync(name)
    world.remove(second)
    await world.sync("other")
    world.remove(make_pod("b"))
    with pytest.raises(ExceptionGroup):
        await world.sync()
    await world.queued()

    assert world.nodes.awaited == {"missing": ["ns/web"]}
    world.put(make_node("missing"))
    assert await world.queued() == ["ns/web"]
    assert world.nodes.awaited == {}


async def test_a_service_that_publishes_all_does_not_ask_for_nodes() -> None:
    world = Slices(make_service(publishNotReadyAddresses=True), make_pod("b", "10.1.0.2", nodeName="n2"))
    await world.sync()

    assert world.addresses() == ["10.1.0.2"]


@pytest.mark.parametrize(
    ("distribution", "annotations", "want"),
    [
        ("PreferClose", {}, (["east"], [])),
        ("PreferSameZone", {}, (["east"], [])),
        ("PreferSameNode", {}, (["east"], ["n1"])),
        ("Whatever", {}, ([], [])),
        ("PreferClose", {"service.kubernetes.io/topology-mode": "Auto"}, ([], [])),
    ],
    ids=["close", "zone", "node", "unknown", "topology"],
)
async def test_a_traffic_distribution_gives_hints_to_ready_endpoints(
    distribution: str, annotations: dict[str, str], want: tuple[list[str], list[str]]
) -> None:
    service = make_service(trafficDistribution=distribution)
    service.metadata.annotations = annotations
    world = Slices(
        make_node("n1", zone="east"), service, make_pod("a", "10.1.0.1"), make_pod("b", "10.1.0.2", ready=False)
    )
    await world.sync()

    hints = world.endpoint("a").hints
    zones = [zone.name for zone in (hints and hints.for_zones) or ()]
    assert (zones, [node.name for node in (hints and hints.for_nodes) or ()]) == want
    assert world.endpoint("b").hints is None

    world.put(make_service())
    await world.sync()
    assert world.endpoint("a").hints is None
    await world.sync()
    assert world.verbs == ["create", "update"] if any(want) else ["create"]


async def told_of(world: Slices) -> list[str]:
    """What is queued when the delay is over, that was not before."""
    assert await world.queued() == []
    world.clock.turn(MIN_SYNC_DELAY)
    return await world.queued()


@pytest.mark.parametrize("verb", ["create", "update"])
async def test_a_slice_deleted_before_its_writes_answer_is_made_again(verb: str) -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"))
    if verb == "update":
        await world.sync()
        world.put(make_pod("b", "10.1.0.2"))
    world.before_answer = world.undo
    await world.sync()
    world.before_answer = lambda _: None

    assert await world.sync() is None
    assert world.verbs[-2:] == [verb, "create"]
    assert await world.sync() is None
    assert world.tracker.expected("ns/web") == {world.slice.metadata.uid}


async def test_the_tracker_keeps_nothing_of_slices_that_are_gone() -> None:
    service = make_service()
    world = Slices(service, make_pod("a", "10.1.0.1"), max_per_slice=1)
    await world.sync()
    for number in range(5):
        world.put(make_pod(f"p{number}", f"10.1.1.{number}"))
        await world.sync()
        world.remove(make_pod(f"p{number}"))
        await world.sync()

    assert "delete" in world.verbs
    assert world.tracker.expected("ns/web") == {one.metadata.uid for one in world.slices()}


async def test_a_delete_that_fails_is_not_waited_for() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"), make_pod("b", "10.1.0.2"), max_per_slice=1)
    await world.sync()
    world.remove(make_pod("b"))
    world.errors = [REFUSED]
    with pytest.raises(ExceptionGroup):
        await world.sync()

    assert await world.sync() is None
    assert world.verbs == ["create", "create", "delete"]


async def test_a_slice_that_somebody_else_has_deleted_first_is_no_failure() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"), make_pod("b", "10.1.0.2"), max_per_slice=1)
    await world.sync()
    world.remove(make_pod("b"))
    world.objects.clear()
    await world.sync()

    assert world.recorder.events == []


async def test_a_slice_that_a_finalizer_keeps_from_going_is_made_again_meanwhile() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"))
    await world.sync()
    await world.queued()
    going = copy.deepcopy(world.slice)
    going.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    going.metadata.generation += 1
    world.put(going)
    await world.clock.advance(MIN_SYNC_DELAY)
    assert await world.queued() == ["ns/web"]

    assert await world.sync() is None
    assert world.verbs == ["create", "create"]
    await world.clock.advance(MIN_SYNC_DELAY)
    await world.queued()
    world.remove(going)
    await world.clock.advance(MIN_SYNC_DELAY)
    assert await world.queued() == []


async def test_all_slices_of_a_lost_family_are_deleted_despite_an_error() -> None:
    pods = [make_pod(f"p{number}", [f"10.1.0.{number}", f"fd00::{number}"]) for number in range(1, 4)]
    world = Slices(make_service(ipFamilies=["IPv4", "IPv6"]), *pods, max_per_slice=1)
    await world.sync()
    assert len(world.slices()) == 6
    world.put(make_service(ipFamilies=["IPv4"]))
    world.errors = [REFUSED]
    with pytest.raises(ExceptionGroup, match="slices of ns/web"):
        await world.sync()

    assert world.verbs[6:] == ["delete", "delete"]
    assert len([one for one in world.slices() if one.address_type == "IPv6"]) == 1


async def test_its_own_writes_are_no_news() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"))
    world.cache_follows = False
    await world.sync()
    await world.queued()
    world.show()

    assert await told_of(world) == []


async def test_slices_changed_deleted_or_added_by_others_are_checked_soon() -> None:
    world = Slices(make_service(), make_pod("a", "10.1.0.1"))
    world.cache_follows = False
    await world.sync()
    await world.queued()
    world.show()
    world.cache_follows = True

    changed = await world.resource(V1EndpointSlice).update(world.slice)
    assert await told_of(world) == ["ns/web"]
    changed = copy.deepcopy(changed)
    changed.metadata.name = "another"
    await world.resource(V1EndpointSlice).create(changed)
    assert await told_of(world) == ["ns/web"]
    world.remove(world.objects.pop(("EndpointSlice", "another")))
    assert await told_of(world) == []
    world.remove(world.slice)
    assert await told_of(world) == ["ns/web"]


async def test_a_slice_that_is_given_to_another_service_concerns_both() -> None:
    world = Slices(make_service())
    await world.sync()
    await world.queued()
    world.clock.turn(MIN_SYNC_DELAY)
    await world.queued()
    given = copy.deepcopy(world.slice)
    given.metadata.labels["kubernetes.io/service-name"] = "db"
    await world.resource(V1EndpointSlice).update(given)

    assert sorted(await told_of(world)) == ["ns/db", "ns/web"]
    await world.sync()
    assert world.verbs == ["create", "update", "create"]


async def test_a_deleted_service_is_forgotten_and_its_slices_left_to_collection() -> None:
    service = make_service()
    world = Slices(service, make_pod("a", "10.1.0.1"))
    await world.sync()
    world.remove(service)
    await world.sync()

    assert world.verbs == ["create"]


async def test_that_a_namespace_is_going_is_no_error() -> None:
    world = Slices(make_service())
    world.errors = [NAMESPACE_TERMINATING]
    await world.sync()

    assert (world.writes, world.recorder.events) == ([], [])


async def test_what_the_server_refuses_is_told_and_the_other_type_is_written() -> None:
    world = Slices(make_service(ipFamilies=["IPv4", "IPv6"]))
    world.errors = [error_from_status(Status(code=500, reason="InternalError", message="disk full"))]
    with pytest.raises(ExceptionGroup):
        await world.sync()

    assert world.slice.address_type == "IPv6"
    [event] = world.recorder.events
    assert event.startswith(
        "Warning FailedToUpdateEndpointSlices web: Error updating Endpoint Slices for Service ns/web: "
        "failed to create EndpointSlice for Service ns/web: "
    )
    assert "disk full" in event


async def test_an_event_says_which_write_of_a_slice_failed() -> None:
    pods = [make_pod(name, [f"10.1.0.{n}", f"fd00::{n}"]) for n, name in enumerate("ab", 1)]
    world = Slices(make_service(ipFamilies=["IPv4", "IPv6"]), *pods, max_per_slice=1)
    await world.sync()
    a, b = sorted(one.metadata.name for one in world.slices() if one.address_type == "IPv4")
    c, d = sorted(one.metadata.name for one in world.slices() if one.address_type == "IPv6")

    async def failed() -> str:
        world.errors = [REFUSED] * 3
        with pytest.raises(ExceptionGroup):
            await world.sync()
        world.errors = []
        return world.recorder.events[-1]

    world.remove(pods[1])
    assert f"[failed to delete {b} EndpointSlice for Service ns/web: " in await failed()
    world.put(make_service(ipFamilies=["IPv4"]), make_pod("a", "10.1.0.1", ready=False))
    told = await failed()

    assert f"failed to update {a} EndpointSlice for Service ns/web: " in told
    assert all(f"error deleting {name} EndpointSlice for Service ns/web: " in told for name in (c, d))


async def test_metrics_count_endpoints_slices_and_the_slices_needed() -> None:

    def value(name: str) -> float:
        return metric_value(f"endpoint_slice_controller_{name}") or 0.0

    service = make_service()
    world = Slices(service, *(make_pod(f"p{n}", f"10.1.0.{n}") for n in range(25)), max_per_slice=10)
    await world.sync()
    assert (value("endpoints_desired"), value("num_endpoint_slices"), value("desired_endpoint_slices")) == (25, 3, 3)
    world.remove(service)
    await world.sync()
    assert (value("endpoints_desired"), value("num_endpoint_slices"), value("desired_endpoint_slices")) == (0, 0, 0)
