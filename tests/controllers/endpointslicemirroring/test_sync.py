"""Slices say what Endpoints say that users write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from prometheus_client import REGISTRY

from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.loops import WITHOUT_KUBELET
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1Endpoints, V1EndpointSlice, V1Service, from_dict, to_dict
from kinformer_controllers.endpointslicemirroring.controller import MirroringController
from kinformer_controllers.endpointslicemirroring.metrics import SIZES, sums_of
from kinformer_controllers.endpointslicemirroring.mirror import MANAGED_BY, MANAGER, SERVICE_NAME, mirror, should_mirror
from kinformer_controllers.shared.gauges import SummedGauges
from tests.turning import eventually, turn

CHANGED = "endpoint_slice_mirroring_controller_changes_total"
LEADER = "control-plane.alpha.kubernetes.io/leader"


def endpoints(
    *subsets: dict[str, Any], labels: Any = None, annotations: Any = None, uid: str = "uid-e", name: str = "e"
) -> V1Endpoints:
    metadata = {"name": name, "namespace": "default", "uid": uid, "labels": labels, "annotations": annotations}
    return from_dict(V1Endpoints, {"metadata": metadata, "subsets": list(subsets)})


def subset(*ips: str, not_ready: tuple[str, ...] = (), ports: Any = ({"port": 80, "name": "http"},)) -> dict[str, Any]:
    found: dict[str, Any] = {"ports": [{"protocol": "TCP", **port} for port in ports]}
    if ips:
        found["addresses"] = [{"ip": ip} for ip in ips]
    if not_ready:
        found["notReadyAddresses"] = [{"ip": ip} for ip in not_ready]
    return found


def named(slice_: V1EndpointSlice, name: str) -> V1EndpointSlice:
    """A slice as the server has it once it was created."""
    slice_ = from_dict(V1EndpointSlice, to_dict(slice_))
    slice_.metadata.name, slice_.metadata.resource_version = name, "7"
    return slice_


def addresses(slice_: V1EndpointSlice) -> list[str]:
    return sorted(each.addresses[0] for each in slice_.endpoints or ())


# What is to be done


def test_there_is_a_slice_for_each_family_and_each_set_of_ports() -> None:
    found = mirror(
        endpoints(
            subset("10.0.0.1", "10.0.0.2", "fd00::1"),
            subset("10.0.1.1", ports=({"port": 3000, "name": "http"}, {"port": 3001, "name": "https"})),
        ),
        [],
        1000,
    )

    by_key = {(it.address_type, tuple(port.port for port in it.ports or ())): addresses(it) for it in found.create}
    assert by_key == {
        ("IPv4", (80,)): ["10.0.0.1", "10.0.0.2"],
        ("IPv6", (80,)): ["fd00::1"],
        ("IPv4", (3000, 3001)): ["10.0.1.1"],
    }
    assert not found.update
    assert not found.delete


def test_changes_of_endpoints_are_counted_as_kubernetes_does() -> None:
    two_more = {"port": 81, "name": "http"}
    first = endpoints(subset("10.0.0.1", "10.0.0.2", "10.0.0.3"), subset("10.0.1.1", ports=[two_more]))
    made = mirror(first, [], 1000)
    slices = [named(it, f"s{number}") for number, it in enumerate(made.create)]
    then = mirror(endpoints(subset("10.0.0.2", "10.0.0.4", not_ready=("10.0.0.3",))), slices, 1000)
    sizes = SummedGauges(*SIZES)
    for plan in (made, then):
        sizes.set("default/e", *sums_of(plan.sizes, 2))
    sizes.set("default/other", *sums_of(made.sizes, 2))

    assert (made.added, made.updated, made.removed) == (4, 0, 0)
    # The slice of the port that is gone is not counted, as in Kubernetes.
    assert (then.added, then.updated, then.removed) == (1, 1, 1)
    prefix = "endpoint_slice_mirroring_controller_"
    names = ("endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices")
    assert [REGISTRY.get_sample_value(prefix + name) for name in names] == [7, 3, 5]
    sizes.forget("default/other")
    assert [REGISTRY.get_sample_value(prefix + name) for name in names] == [3, 1, 2]


def test_a_slice_copies_labels_and_annotations_and_belongs_to_its_endpoints() -> None:
    annotations = {
        "mine": "kept",
        "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    (slice_,) = mirror(endpoints(subset("10.0.0.1"), labels={"a": "b"}, annotations=annotations), [], 1000).create

    meta = slice_.metadata
    assert meta.labels == {"a": "b", SERVICE_NAME: "e", MANAGED_BY: MANAGER}
    assert meta.annotations == {"mine": "kept"}
    assert meta.generate_name == "e-"
    (owner,) = meta.owner_references or ()
    assert (owner.api_version, owner.kind, owner.name, owner.uid, owner.controller) == (
        "v1",
        "Endpoints",
        "e",
        "uid-e",
        True,
    )


@pytest.mark.parametrize(("uid", "updated"), [(None, 0), ("uid-e", 0), ("uid-earlier", 1)])
def test_a_slice_is_written_again_only_for_an_owner_that_is_gone(uid: str | None, updated: int) -> None:
    (slice_,) = mirror(endpoints(subset("10.0.0.1"), uid=uid or "uid-e"), [], 1000).create
    slice_ = named(slice_, "s")
    if uid is None:
        slice_.metadata.owner_references = None

    found = mirror(endpoints(subset("10.0.0.1")), [slice_], 1000)

    assert (len(found.create), len(found.update), len(found.delete)) == (0, updated, 0)


def test_unready_addresses_stay_unready_and_keep_their_details() -> None:
    address = {
        "ip": "10.0.0.1",
        "hostname": "h",
        "nodeName": "n",
        "targetRef": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u"},
    }
    (slice_,) = mirror(endpoints({"addresses": [address], "notReadyAddresses": [{"ip": "10.0.0.2"}]}), [], 1000).create

    first, second = sorted(slice_.endpoints or (), key=lambda each: each.addresses[0])
    assert (first.hostname, first.node_name, first.target_ref.name) == ("h", "n", "p")  # type: ignore[union-attr]
    assert first.conditions is not None
    assert second.conditions is not None
    assert (first.conditions.ready, second.conditions.ready) == (True, False)
    assert slice_.ports is None


@pytest.mark.parametrize(
    "changed",
    [
        endpoints(subset("10.0.0.1", "10.0.0.2")),
        endpoints(subset("10.0.0.2")),
        endpoints(subset(not_ready=("10.0.0.1",))),
        endpoints(subset("10.0.0.1"), labels={"a": "b"}),
        endpoints(subset("10.0.0.1"), annotations={"a": "b"}),
        endpoints(subset("10.0.0.1"), uid="uid-of-the-next"),
    ],
    ids=["an address more", "another address", "readiness", "labels", "annotations", "made anew"],
)
def test_a_slice_that_says_something_else_is_updated_as_it_was_seen(changed: V1Endpoints) -> None:
    there = named(mirror(endpoints(subset("10.0.0.1")), [], 1000).create[0], "e-1")

    found = mirror(changed, [there], 1000)

    assert [(it.metadata.name, it.metadata.generate_name) for it in found.update] == [("e-1", None)]
    assert found.update[0].metadata.resource_version == "7"
    assert not found.create
    assert not found.delete


def test_a_slice_that_says_what_it_should_is_left_alone() -> None:
    same = endpoints(subset("10.0.0.1", "10.0.0.2", not_ready=("10.0.0.3",)), labels={"a": "b"}, annotations={"c": "d"})
    there = named(mirror(same, [], 1000).create[0], "e-1")
    there.endpoints = list(reversed(there.endpoints or ()))

    found = mirror(same, [there], 1000)

    assert (found.create, found.update, found.delete) == ([], [], [])


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        ({"kind": "Pod", "name": "a", "uid": "1"}, {"kind": "VirtualMachine", "name": "a", "uid": "1"}, True),
        ({"kind": "Pod", "name": "a", "uid": "1"}, {"kind": "Pod", "name": "a", "uid": "2"}, True),
        ({"kind": "Pod", "name": "a", "fieldPath": "x"}, {"kind": "Pod", "name": "a", "fieldPath": "y"}, True),
        ({"kind": "Pod", "name": "a"}, None, True),
        ({"kind": "Pod", "name": "a", "resourceVersion": "1"}, {"kind": "Pod", "name": "a"}, False),
    ],
    ids=["kind", "uid", "field", "none", "version"],
)
def test_a_slice_follows_the_target_of_an_address(before: Any, after: Any, written: bool) -> None:
    """As EndpointsEqualBeyondHash() in k8s.io/endpointslice/util."""

    def pointing(target: Any) -> V1Endpoints:
        return endpoints({"addresses": [{"ip": "10.0.0.1", **({"targetRef": target} if target else {})}]})

    there = named(mirror(pointing(before), [], 1000).create[0], "e-1")

    found = mirror(pointing(after), [there], 1000)

    assert bool(found.update) == written
    if before["name"] == (after or {}).get("name"):
        # It is the same endpoint, whatever else is said of its target.
        assert (found.added, found.updated, found.removed) == (0, int(written), 0)


@pytest.mark.parametrize("field", ["serving", "terminating", "zone"])
def test_what_somebody_adds_to_an_endpoint_is_taken_back(field: str) -> None:
    there = named(mirror(endpoints(subset("10.0.0.1")), [], 1000).create[0], "e-1")
    (endpoint,) = there.endpoints or ()
    if field == "zone":
        endpoint.zone = "z"
    else:
        setattr(endpoint.conditions, field, False)

    assert mirror(endpoints(subset("10.0.0.1")), [there], 1000).update


@pytest.mark.parametrize(
    ("text", "family", "ip"),
    [
        ("010.000.0.01", "IPv4", "10.0.0.1"),
        ("::ffff:10.0.0.1", "IPv4", "10.0.0.1"),
        ("fd00::0001", "IPv6", "fd00::1"),
    ],
)
def test_addresses_are_read_as_kubernetes_reads_them(text: str, family: str, ip: str) -> None:
    (slice_,) = mirror(endpoints(subset(text)), [], 1000).create

    assert (slice_.address_type, addresses(slice_)) == (family, [ip])


def test_an_address_with_a_zone_is_none() -> None:
    assert mirror(endpoints(subset("fe80::1%eth0")), [], 1000).invalid == 1


def test_a_slice_of_other_ports_is_rewritten_and_a_surplus_deleted() -> None:
    there = [named(mirror(endpoints(subset("10.0.0.1")), [], 1000).create[0], name) for name in ("e-1", "e-2")]

    found = mirror(endpoints(subset("10.0.0.1", ports=({"port": 81, "name": "http"},))), there, 1000)

    # As Kubernetes' recycleSlices(): it is the slice that would be made, with a name.
    assert [(it.metadata.name, it.metadata.generate_name) for it in found.update] == [("e-1", "e-")]
    assert [it.metadata.name for it in found.delete] == ["e-2"]
    assert not found.create


def test_without_addresses_there_are_no_slices() -> None:
    there = named(mirror(endpoints(subset("10.0.0.1")), [], 1000).create[0], "e-1")

    assert mirror(endpoints(), [there], 1000).delete == [there]


def test_addresses_that_are_none_and_those_above_the_limit_are_counted() -> None:
    found = mirror(endpoints(subset("10.0.0.1", "10.0.0.2", "a-nonsense", not_ready=("10.0.0.3",))), [], 3)

    assert addresses(found.create[0]) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert (found.invalid, found.skipped) == (1, 1)
    assert mirror(endpoints(subset("10.0.0.1", "10.0.0.2", "10.0.0.3")), [], 2).skipped == 1


@pytest.mark.parametrize(
    ("there", "mirrored"),
    [
        (endpoints(), True),
        (endpoints(labels={"endpointslice.kubernetes.io/skip-mirror": "true"}), False),
        (endpoints(labels={"endpointslice.kubernetes.io/skip-mirror": "false"}), True),
        (endpoints(annotations={LEADER: "{}"}), False),
    ],
)
def test_endpoints_are_mirrored_unless_they_say_no_or_are_a_lock(there: V1Endpoints, mirrored: bool) -> None:
    assert should_mirror(there) == mirrored


# With a server


class Live:
    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client, self.clock = client, clock
        self.endpoints, self.services = client.resource(V1Endpoints), client.resource(V1Service)
        self.slices = client.resource(V1EndpointSlice)

    async def service(self, **spec: Any) -> None:
        metadata = {"name": "e", "namespace": "default"}
        fields = {"metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}
        await self.services.create(from_dict(V1Service, fields))

    async def mirrored(self) -> list[list[str]]:
        listed = await self.slices.list("default", label_selector=f"{MANAGED_BY}={MANAGER}")
        return sorted(addresses(slice_) for slice_ in listed.items)

    async def comes_to(self, *wanted: list[str]) -> None:
        async def is_so() -> bool:
            return await self.mirrored() == list(wanted)

        await eventually(is_so, self.clock)


@asynccontextmanager
async def live(**options: Any) -> AsyncIterator[Live]:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, controllers=WITHOUT_KUBELET) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        manager = Manager(client, known={"mirroring": MirroringController}, options=options, clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            yield Live(client, clock)
            tasks.cancel_scope.cancel()


async def test_slices_follow_endpoints_and_go_with_them() -> None:
    async with live() as world:
        await world.service()
        await world.endpoints.create(endpoints(subset("10.0.0.1", "fd00::1")))
        await world.comes_to(["10.0.0.1"], ["fd00::1"])
        there = await world.endpoints.get("e", "default")
        there.subsets = endpoints(subset("10.0.0.2")).subsets
        await world.endpoints.update(there)
        await world.comes_to(["10.0.0.2"])
        await world.endpoints.delete("e", "default")
        await world.comes_to()


async def test_endpoints_without_a_service_or_with_a_selector_are_not_mirrored() -> None:
    async with live() as world:
        await world.endpoints.create(endpoints(subset("10.0.0.1")))
        await turn(world.clock, 5)
        assert await world.mirrored() == []
        await world.service()
        await world.comes_to(["10.0.0.1"])
        service = await world.services.get("e", "default")
        service.spec.selector = {"app": "web"}
        before = REGISTRY.get_sample_value(CHANGED, {"operation": "delete"})
        await world.services.update(service)
        await world.comes_to()
        # Kubernetes' deleteEndpoints() does not count what it deletes.
        assert REGISTRY.get_sample_value(CHANGED, {"operation": "delete"}) == before


async def test_a_slice_that_somebody_deletes_or_changes_is_put_right() -> None:
    async with live() as world:
        await world.service()
        await world.endpoints.create(endpoints(subset("10.0.0.1")))
        await world.comes_to(["10.0.0.1"])
        (slice_,) = (await world.slices.list("default")).items
        slice_.endpoints = []
        await world.slices.update(slice_)
        await world.comes_to(["10.0.0.1"])
        (slice_,) = (await world.slices.list("default")).items
        await world.slices.delete(slice_.metadata.name, "default")
        await world.comes_to(["10.0.0.1"])


async def test_the_user_is_told_of_addresses_that_are_left_out() -> None:
    async with live(mirroring_max_endpoints_per_subset=2) as world:
        await world.service()
        await world.endpoints.create(endpoints(subset("10.0.0.1", "10.0.0.2", "10.0.0.3")))
        await world.comes_to(["10.0.0.1", "10.0.0.2"])
        await turn(world.clock, 5)

        events = (await world.client.resource(CoreV1Event).list("default")).items
        assert [event.message for event in events] == [
            "A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 addresses were skipped"
        ]
