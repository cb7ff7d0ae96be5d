"""Hints by the size of zones: which zone each endpoint gets, and when."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

from kinformer.models import V1Node, from_dict
from kinformer_controllers.endpointslice.zones import Allocation, allocate, is_overloaded
from tests.controllers.endpointslice.worlds import Slices
from tests.controllers.shared.services.world import make_pod, make_service
from tests.metrics import metric_value

MODE = "service.kubernetes.io/topology-mode"
ENABLED = "Normal TopologyAwareHintsEnabled web: Topology Aware Hints has been enabled, addressType: IPv4"
DISABLED = "Warning TopologyAwareHintsDisabled web: Topology Aware Hints has been disabled, addressType: IPv4"
UNKNOWN = (
    "Warning TopologyAwareHintsDisabled web: Insufficient Node information: allocatable CPU or zone not specified on "
    "one or more nodes, addressType: IPv4"
)


def node(zone: str, cpu: str | None = "4", *, ready: str = "True", label: str = "", name: str = "") -> V1Node:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return from_dict(
        V1Node,
        {
            "metadata": {"name": name or f"in-{zone}", "labels": {**labels, **({label: ""} if label else {})}},
            "status": {
                "conditions": [{"type": "Ready", "status": ready}],
                "allocatable": {"cpu": cpu} if cpu else {"memory": "1Gi"},
            },
        },
    )


def service(**annotations: str) -> Any:
    made = make_service()
    made.metadata.annotations = annotations
    return made


def world(*pods: str, nodes: tuple[V1Node, ...] = (node("a"), node("b"), node("c")), **more: Any) -> Slices:
    """Pods are named by their zones: a1, a2, b1."""
    addressed = [make_pod(pod, f"10.1.0.{n}", nodeName=f"in-{pod[0]}") for n, pod in enumerate(pods, 1)]
    return Slices(*nodes, service(**{MODE: "Auto"}), *addressed, **more)


def hints(it: Slices) -> Counter[str]:
    """How many endpoints each zone has: ``a>b`` for one of zone a that zone b has."""
    endpoints = [each for one in it.slices() for each in one.endpoints or ()]
    zones = [(each.zone, [zone.name for zone in each.hints.for_zones] if each.hints else ["-"]) for each in endpoints]
    return Counter(own if [own] == given else f"{own}>{','.join(given)}" for own, given in zones)


@pytest.mark.parametrize(
    ("ratios", "endpoints", "want"),
    [
        ({"a": 0.25, "b": 0.75}, 4, {"a": Allocation(1, 1, 1), "b": Allocation(3, 3, 3)}),
        (
            {"a": 0.1, "b": 0.1, "c": 0.8},
            3,
            "Unable to allocate minimum required endpoints to each zone without exceeding",
        ),
        ({"a": 0.5, "b": 0.5}, 1, r"Insufficient number of endpoints \(1 endpoints, 2 zones\)"),
        (None, 4, "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"),
        (
            {"a": 0.4, "b": 0.35, "c": 0.25},
            50,
            {"a": Allocation(20, 17, 24), "b": Allocation(17.5, 15, 22), "c": Allocation(12.5, 11, 18)},
        ),
    ],
)
def test_each_zone_may_have_endpoints_by_its_part_of_the_cpus(
    ratios: dict[str, float] | None, endpoints: int, want: dict[str, Allocation] | str
) -> None:
    found, problem = allocate(ratios, endpoints)
    if isinstance(want, str):
        assert (found, want.replace("\\", "") in problem) == ({}, True)
    else:
        assert (found, problem) == (want, "")


@pytest.mark.parametrize(
    ("given", "ratios", "want"),
    [
        ({}, {"a": 1.0}, False),
        ({"a": 1}, None, True),
        ({"a": 1, "b": 1}, {"a": 0.5, "b": 0.5}, False),
        ({"a": 5, "b": 6}, {"a": 0.5, "b": 0.5}, False),
        ({"a": 4, "b": 8}, {"a": 0.5, "b": 0.5}, True),
        ({"a": 4}, {"a": 0.5, "b": 0.5}, True),
    ],
)
def test_an_endpoint_is_overloaded_by_more_than_a_fifth(
    given: dict[str, int], ratios: dict[str, float] | None, want: bool
) -> None:
    assert is_overloaded(given, ratios) == want


async def test_endpoints_get_their_own_zones_and_an_event_says_so_once() -> None:
    it = world("a1", "a2", "b1", "b2", "c1", "c2")
    labels = {"topology": "Auto", "traffic_distribution": ""}
    name = "endpoint_slice_controller_endpointslices_changed_per_sync_count"
    before = metric_value(name, labels) or 0
    await it.sync()
    await it.sync()

    assert hints(it) == {"a": 2, "b": 2, "c": 2}
    assert it.recorder.events == [ENABLED]
    assert it.verbs == ["create"]
    assert metric_value(name, labels) == before + 2


async def test_a_zone_with_too_many_endpoints_gives_to_those_with_too_few() -> None:
    it = world("a1", "a2", "a3", "a4", "b1", "b2", nodes=(node("a"), node("b"), node("c", "4000m")))
    await it.sync()

    assert hints(it) == {"a": 2, "a>c": 2, "b": 2}


async def test_unready_endpoints_have_no_hint_and_do_not_count() -> None:
    it = world("a1", "b1", nodes=(node("a"), node("b")))
    it.put(make_pod("a2", "10.1.0.9", nodeName="in-a", ready=False))
    await it.sync()

    assert hints(it) == {"a": 1, "b": 1, "a>-": 1}


async def test_control_planes_and_unready_nodes_have_no_part() -> None:
    others = (
        node("c", ready="False"),
        node("d", label="node-role.kubernetes.io/control-plane"),
        node("", label="node-role.kubernetes.io/master", name="old"),
    )
    it = world("a1", "b1", nodes=(node("a"), node("b"), *others))
    await it.sync()

    assert hints(it) == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    "nodes",
    [
        (node("a"), node("b", None)),
        (node("a"), node("b"), node("", name="nowhere")),
        (node("a"), node("a", name="in-b")),
    ],
    ids=["no CPU", "no zone", "one zone"],
)
async def test_nodes_that_do_not_suffice_mean_no_hints(nodes: tuple[V1Node, ...]) -> None:
    it = world("a1", "b1", nodes=nodes)
    await it.sync()

    assert set(hints(it)) <= {"a>-", "b>-"}
    assert it.recorder.events == [UNKNOWN]


async def test_hints_go_when_an_endpoint_has_no_zone() -> None:
    it = world("a1", "a2", "b1", nodes=(node("a"), node("b")))
    await it.sync()
    it.put(make_pod("x", "10.1.0.9"))  # its node n1 is not ready, and has no zone
    await it.sync()

    assert hints(it) == {"a>-": 2, "b>-": 1, "None>-": 1}
    assert it.recorder.events[1:] == [
        "Warning TopologyAwareHintsDisabled web: One or more endpoints do not have a zone specified, addressType: IPv4"
    ]


async def test_a_slice_whose_hints_fit_is_not_written() -> None:
    it = world("a1", "a2", "b1", "b2", nodes=(node("a"), node("b")), max_per_slice=2)
    await it.sync()
    it.writes.clear()
    it.put(make_pod("a3", "10.1.0.9", nodeName="in-a"), make_pod("b3", "10.1.0.10", nodeName="in-b"))
    await it.sync()

    assert it.verbs == ["create"]
    assert hints(it) == {"a": 3, "b": 3}


async def test_hints_that_somebody_has_removed_are_given_again() -> None:
    it = world("a1", "b1", nodes=(node("a"), node("b")))
    await it.sync()
    changed = copy.deepcopy(it.slice)
    for endpoint in changed.endpoints:
        endpoint.hints = None
    it.put(changed)
    await it.sync()

    assert hints(it) == {"a": 1, "b": 1}
    assert it.verbs == ["create", "update"]


async def test_without_the_annotation_hints_go_and_an_event_says_so() -> None:
    it = world("a1", "b1", nodes=(node("a"), node("b")))
    await it.sync()
    it.put(service(**{MODE: "Disabled"}))
    await it.sync()
    await it.sync()

    assert hints(it) == {"a>-": 1, "b>-": 1}
    assert it.recorder.events == [ENABLED, DISABLED]


async def test_the_older_annotation_wins() -> None:
    it = world("a1", "b1", nodes=(node("a"), node("b")))
    it.put(service(**{MODE: "Auto", "service.kubernetes.io/topology-aware-hints": "Disabled"}))
    await it.sync()

    assert hints(it) == {"a>-": 1, "b>-": 1}


async def test_a_service_whose_hints_no_longer_fit_the_nodes_is_synced() -> None:
    it = world("a1", "a2", "a3", "b1", "b2", "b3", nodes=(node("a"), node("b")))
    await it.sync()
    await it.queued()
    it.put(node("a", name="also-in-a"))  # a has two thirds of the CPUs now, and half of the endpoints
    queued = await it.queued()
    await it.sync()

    assert queued == ["ns/web"]
    assert hints(it) == {"a": 3, "b>a": 1, "b": 2}


async def test_a_change_of_nodes_that_changes_no_shares_syncs_nothing() -> None:
    it = world("a1", "b1", nodes=(node("a"), node("b")))
    await it.sync()
    await it.queued()
    it.put(node("a"), node("c", ready="False"))

    assert await it.queued() == []


async def test_a_service_that_is_gone_is_not_synced_for_its_hints() -> None:
    it = world("a1", "b1", nodes=(node("a"), node("b")))
    await it.sync()
    gone = service()
    it.remove(gone)
    await it.sync()
    await it.queued()
    it.remove(node("b"))

    assert await it.queued() == []
