from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.meta import GroupResource, Quantity, QuantityError
from kinformer.meta.resourcelist import dump, total
from kinformer.models import ResourceV1ResourceClaim, V1Pod, V1Service, decode, decoder_for, encode, from_dict
from kinformer_controllers.shared.quota import CREATE, Evaluator, Request
from kinformer_controllers.shared.quota import pods as pods_module
from kinformer_controllers.shared.quota.counting import (
    claim_evaluator,
    device_claim_evaluator,
    object_count_evaluator,
    service_evaluator,
)
from kinformer_controllers.shared.quota.evaluator import UPDATE, UsageStatsOptions
from kinformer_controllers.shared.quota.limits import ScopeError, ScopeRequirement, scopes_of
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator, pod_matches_scope
from kinformer_controllers.shared.quota.views import UnreadableObject

RECORDED = Path(__file__).parents[3] / "golden" / "functions" / "quota_pods.ndjson"


def pod(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": containers, **spec}, "status": {}}


class Listed:
    """A source with these objects."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects

    async def list(self, namespace: str) -> Any:
        return self.objects

    def version(self) -> str:
        return "7"


def test_a_pod_measures_equally_as_json_bytes_or_model() -> None:
    evaluator = PodEvaluator()
    untouched = decoder_for(V1Pod).decode(encode(pod("250m")))
    read = from_dict(V1Pod, pod("250m"))
    assert read.spec.containers[0].name == "c"

    for one in (pod("250m"), untouched, read):
        assert dump(evaluator.usage(one)) == {
            "count/pods": "1", "pods": "1", "cpu": "250m", "requests.cpu": "250m",
        }  # fmt: skip


def test_measuring_a_model_leaves_what_nobody_has_read_as_it_came() -> None:
    untouched = decoder_for(V1Pod).decode(encode(pod()))

    PodEvaluator().usage(untouched)

    assert type(V1Pod.__lazy_fields__["spec"].peek(untouched)).__name__ == "Raw"


def test_what_is_no_pod_cannot_be_measured_as_one() -> None:
    evaluator = PodEvaluator()
    with pytest.raises(UnreadableObject, match="expect V1Pod, got V1Service"):
        evaluator.usage(V1Service())
    with pytest.raises(UnreadableObject, match=r"not a V1Pod: .*containers"):
        evaluator.usage({"metadata": {}, "spec": {"containers": 3}})
    with pytest.raises(QuantityError, match="'lots' is not a quantity"):
        evaluator.usage(pod("lots"))


def test_a_pod_stops_being_tracked_the_moment_its_grace_is_over() -> None:
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    evaluator = PodEvaluator(clock=clock)
    going = pod()
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}

    assert "pods" in evaluator.usage(going)
    clock.turn(30.0)
    assert "pods" in evaluator.usage(going)
    clock.turn(0.001)
    assert dump(evaluator.usage(going)) == {"count/pods": "1"}
    # In Go, so long a time wraps around and is a second in the past.
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:31Z", "deletionGracePeriodSeconds": 2**63 - 1}
    assert dump(evaluator.usage(going)) == {"count/pods": "1"}


def test_a_pods_update_counts_only_if_its_scope_changes() -> None:
    evaluator = PodEvaluator()

    def update(new: Any, old: Any, subresource: str = "") -> Request:
        return Request(UPDATE, PODS, "ns", "p", new, old, subresource)

    assert evaluator.handles(Request(CREATE, PODS, "ns", "p", pod()))
    assert not evaluator.handles(update(pod(), pod()))
    assert evaluator.handles(update(pod(activeDeadlineSeconds=5), pod()))
    assert evaluator.handles(update(pod(), pod(), "resize"))
    assert not evaluator.handles(update(pod(), pod(), "status"))
    assert not evaluator.handles(update(3, pod()))


def test_priority_class_operators_mean_what_label_selectors_mean() -> None:
    high, none = pod(priorityClassName="high"), pod()

    def matches(operator: str, *values: str) -> tuple[bool, bool]:
        requirement = ScopeRequirement("PriorityClass", operator, values)
        return pod_matches_scope(requirement, high), pod_matches_scope(requirement, none)

    assert matches("Exists") == (True, False)
    assert matches("DoesNotExist") == (False, True)
    assert matches("In", "high", "low") == (True, False)
    assert matches("NotIn", "high") == (False, True)
    assert matches("NotIn", "low") == (True, True)
    with pytest.raises(ScopeError, match='"Near" is not a valid scope selector operator'):
        matches("Near", "high")
    with pytest.raises(ScopeError, match="values set can't be empty"):
        matches("In")
    with pytest.raises(ScopeError, match="values set must be empty"):
        matches("DoesNotExist", "high")


def test_a_pod_with_terms_for_other_namespaces_uses_cross_namespace_affinity() -> None:
    here = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}
    there = {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {"namespaceSelector": {}}}]}
    scope = ScopeRequirement("CrossNamespacePodAffinity")

    assert not pod_matches_scope(scope, pod(affinity={"podAffinity": here}))
    assert pod_matches_scope(scope, pod(affinity={"podAffinity": here, "podAntiAffinity": there}))


def test_claims_are_in_the_scope_of_all_their_attributes_classes() -> None:
    matches = claim_evaluator().matches_scope
    claim = {
        "metadata": {"name": "c"},
        "spec": {"volumeAttributesClassName": "gold"},
        "status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "silver"}},
    }

    assert matches(ScopeRequirement("VolumeAttributesClass", "In", ("silver",)), claim)
    assert matches(ScopeRequirement("VolumeAttributesClass"), claim)
    assert not matches(ScopeRequirement("VolumeAttributesClass", "In", ("bronze",)), claim)
    assert not matches(ScopeRequirement("VolumeAttributesClass"), {"metadata": {}, "spec": {}})
    assert not matches(ScopeRequirement("Terminating"), claim)


def test_a_resource_claim_is_charged_for_each_classs_possible_devices() -> None:
    def exactly(device_class: str, **how: Any) -> dict[str, Any]:
        return {"name": "r", "exactly": {"deviceClassName": device_class, **how}}

    alternatives = [
        {"name": "a", "deviceClassName": "big", "allocationMode": "ExactCount", "count": 1},
        {"name": "b", "deviceClassName": "small", "allocationMode": "ExactCount", "count": 4},
        {"name": "c", "deviceClassName": "small", "allocationMode": "ExactCount", "count": 2},
    ]
    requests = [
        exactly("big", allocationMode="ExactCount", count=2),
        exactly("big"),
        exactly("any", allocationMode="All"),
        exactly("odd", allocationMode="Later", count=3),
        {"name": "f", "firstAvailable": alternatives},
        {"name": "g", "somethingOfLaterVersions": {}},
    ]
    claim = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": requests}}}
    evaluator = device_claim_evaluator()
    want = {
        "count/resourceclaims.resource.k8s.io": "1",
        "big.deviceclass.resource.k8s.io/devices": "4",
        "small.deviceclass.resource.k8s.io/devices": "4",
        "any.deviceclass.resource.k8s.io/devices": "32",
        "odd.deviceclass.resource.k8s.io/devices": "0",
    }

    assert dump(evaluator.usage(claim)) == want
    assert dump(evaluator.usage(decode(ResourceV1ResourceClaim, encode(claim)))) == want
    assert dump(evaluator.usage({"metadata": {}, "spec": {}})) == {"count/resourceclaims.resource.k8s.io": "1"}
    assert evaluator.matching_resources([*want, "pods", "x.deviceclass.resource.k8s.io/others"]) == sorted(want)
    assert evaluator.handles(Request(UPDATE, evaluator.group_resource, "ns", "c", claim, claim))
    assert not evaluator.handles(Request(UPDATE, evaluator.group_resource, "ns", "c", claim, claim, "status"))


def test_every_kind_can_be_counted_and_four_have_a_shorter_name() -> None:
    widgets = object_count_evaluator(GroupResource("example.com", "widgets"))
    secrets = object_count_evaluator(GroupResource("", "secrets"))

    assert dump(widgets.usage({})) == {"count/widgets.example.com": "1"}
    assert secrets.matching_resources(["secrets", "count/secrets", "pods"]) == ["count/secrets", "secrets"]
    assert not widgets.handles(Request(UPDATE, widgets.group_resource, "ns", "w", {}, {}))


async def test_counting_starts_at_zero_and_leaves_out_what_is_in_no_scope() -> None:
    source = Listed(pod("1"), pod("2", activeDeadlineSeconds=1), pod("4"))
    options = UsageStatsOptions("ns", scopes_of(["NotTerminating"]), ["cpu", "limits.cpu"])

    stats = await PodEvaluator(source).usage_stats(options)

    assert stats.version == "7"
    assert stats.used["cpu"] == Quantity.of(5)
    assert not stats.used["limits.cpu"]


async def test_a_scoped_quota_matches_no_kind_without_scopes() -> None:
    services = service_evaluator(Listed({"metadata": {}, "spec": {}}))
    counts = object_count_evaluator(GroupResource("", "secrets"), Listed({}, {}))
    scoped = UsageStatsOptions("ns", scopes_of(["Terminating"]), ["services", "secrets"])

    assert not (await services.usage_stats(scoped)).used["services"]
    assert not (await counts.usage_stats(scoped)).used["secrets"]
    assert (await counts.usage_stats(UsageStatsOptions("ns"))).used["secrets"] == Quantity.of(2)


async def test_an_evaluator_of_ones_own_is_a_few_functions() -> None:
    seats = Evaluator(
        GroupResource("example.com", "buses"),
        ["seats"],
        lambda bus: {"seats": Quantity.of(bus["seats"])},
        source=Listed({"seats": 12}, {"seats": 30}),
    )

    assert (await seats.usage_stats(UsageStatsOptions("ns", (), ["seats"]))).used == {"seats": Quantity.of(42)}
    assert seats.matches(["seats", "pods"], (), {})
    assert not seats.matches(["pods"], (), {})


async def test_a_pod_is_remembered_by_version_until_it_is_to_end() -> None:
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))

    def version(cpu: str, version: str, **metadata: Any) -> V1Pod:
        data = pod(cpu)
        data["metadata"] |= {"uid": "1", "resourceVersion": version, **metadata}
        return from_dict(V1Pod, data)

    source = Listed(version("1", "1"), version("2", "2"), version("2", "2"))
    evaluator = PodEvaluator(source, clock)
    options = UsageStatsOptions("ns", scopes_of(["NotBestEffort"]), ["cpu"])
    assert (await evaluator.usage_stats(options)).used["cpu"] == Quantity.of(5)

    source.objects = (version("3", "3", deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=5),)
    assert (await evaluator.usage_stats(options)).used["cpu"] == Quantity.of(3)
    clock.turn(6.0)
    assert (await evaluator.usage_stats(options)).used["cpu"] == Quantity.of(0)


@pytest.mark.parametrize("scopes", [(), ("BestEffort",), ("NotTerminating", "PriorityClass")], ids=str)
async def test_pods_that_are_measured_together_use_what_each_of_them_does(scopes: tuple[str, ...]) -> None:
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    recorded = [json.loads(line)["in"]["pod"] for line in RECORDED.read_text().splitlines()]
    models = []
    for number, one in enumerate(recorded * 2):
        one["metadata"] |= {"uid": str(number), "resourceVersion": str(number)}
        models.append(decode(V1Pod, encode(one)))
        if number % 3 == 0:
            assert models[-1].status is not None, "read, and bytes no longer"
    required = scopes_of(scopes)
    each = PodEvaluator(clock=clock)
    alone = total(each.usage(pod) for pod in recorded * 2 if all(pod_matches_scope(scope, pod) for scope in required))

    evaluator = PodEvaluator(Listed(*models), clock)

    for _ in range(2):
        together = (await evaluator.usage_stats(UsageStatsOptions("ns", required))).used
        assert together == alone


async def test_what_is_remembered_of_pods_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods_module, "_PODS_KNOWN", 7)
    monkeypatch.setattr(pods_module, "_SHAPES_KNOWN", 3)
    every = []
    for number in range(20):
        data = pod(f"{number % 10}")
        data["metadata"] |= {"uid": str(number), "resourceVersion": "1"}
        every.append(from_dict(V1Pod, data))
    evaluator = PodEvaluator(Listed(*every))

    for _ in range(2):
        used = (await evaluator.usage_stats(UsageStatsOptions("ns", (), ["cpu"]))).used
        assert used["cpu"] == Quantity.of(90)
        assert len(evaluator._measured) <= 7
        assert len(evaluator._shapes) <= 3
