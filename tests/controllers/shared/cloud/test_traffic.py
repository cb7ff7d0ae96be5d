"""Who may come in through a load balancer, and how nodes are checked."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1Service, from_dict
from kinformer_controllers.shared.cloud.traffic import (
    allows_all,
    health_check,
    needs_health_check,
    requests_only_local_traffic,
    source_ranges,
)

ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges"


def service(ranges: list[str] | None = None, annotation: str | None = None, **spec: Any) -> V1Service:
    metadata = {"name": "s", "annotations": {ANNOTATION: annotation} if annotation is not None else None}
    return from_dict(V1Service, {"metadata": metadata, "spec": {"loadBalancerSourceRanges": ranges, **spec}})


@pytest.mark.parametrize(
    ("there", "ranges"),
    [
        (service(["192.168.0.1/32"]), ["192.168.0.1/32"]),
        (service(["192.168.0.1/24", " 10.1.0.0/16 "]), ["192.168.0.0/24", "10.1.0.0/16"]),
        (service(annotation="192.168.0.1/32,192.168.0.2/32"), ["192.168.0.1/32", "192.168.0.2/32"]),
        (service(annotation="  192.168.0.1/32  "), ["192.168.0.1/32"]),
        (service(["10.0.0.0/8"], annotation="192.168.0.1/32"), ["10.0.0.0/8"]),
        (service(), ["0.0.0.0/0"]),
        (service(annotation=""), ["0.0.0.0/0"]),
        (service(annotation="   "), ["0.0.0.0/0"]),
    ],
)
def test_the_ranges_are_those_of_the_spec_or_else_of_the_annotation_or_else_all(
    there: V1Service, ranges: list[str]
) -> None:
    assert [str(network) for network in source_ranges(there)] == ranges


@pytest.mark.parametrize("text", ["foo.bar", "10.0.0.1", "1.2.3.4/33", "10.0.0.1/32,"])
def test_what_is_no_range_is_refused_and_the_field_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=f"{ANNOTATION}: .* is not valid"):
        source_ranges(service(annotation=text))
    with pytest.raises(ValueError, match=r"service\.Spec\.LoadBalancerSourceRanges: .* is not valid"):
        source_ranges(service(text.split(",")))


def test_one_range_of_all_lets_everybody_in() -> None:
    assert allows_all(source_ranges(service()))
    assert allows_all(source_ranges(service(["10.0.0.0/8", "0.0.0.0/0"])))
    assert not allows_all(source_ranges(service(["10.0.0.0/8"])))


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
    there = service(type=type_, externalTrafficPolicy=policy, healthCheckNodePort=30000)

    assert requests_only_local_traffic(there) == local
    assert needs_health_check(there) == checked
    assert health_check(there) == (("/healthz", 30000) if checked else None)
    assert health_check(service(type=type_, externalTrafficPolicy=policy)) is None
