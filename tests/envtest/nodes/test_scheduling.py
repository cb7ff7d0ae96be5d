"""Which node the fake nodes' scheduler takes."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.envtest.nodes.scheduling import first_fitting, obstacle
from kinformer.models import V1Node, V1PodSpec, from_dict

CORDONED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


def node(name: str = "n", labels: dict[str, str] | None = None, **spec: Any) -> V1Node:
    return from_dict(V1Node, {"metadata": {"name": name, "labels": labels or {}}, "spec": spec})


def spec(**fields: Any) -> V1PodSpec:
    return from_dict(V1PodSpec, {"containers": [], **fields})


def test_the_first_node_that_fits_is_taken() -> None:
    nodes = [None, node("a", unschedulable=True), node("b"), node("c")]

    assert first_fitting(spec(), nodes) == "b"


def test_what_keeps_a_pod_away_is_counted_by_reason() -> None:
    nodes = [node("a", unschedulable=True), node("b", unschedulable=True), node("c", {"disk": "hdd"})]

    assert first_fitting(spec(nodeSelector={"disk": "ssd"}), nodes) == {
        "node(s) were unschedulable": 2,
        "node(s) didn't match Pod's node affinity/selector": 1,
    }


@pytest.mark.parametrize(
    ("fields", "on"),
    [
        ({"tolerations": [CORDONED]}, node(unschedulable=True)),
        ({"nodeSelector": {"disk": "ssd"}}, node(labels={"disk": "ssd"})),
        ({"tolerations": [{"operator": "Exists"}]}, node(taints=[{"key": "gpu", "effect": "NoExecute"}])),
        ({}, node(taints=[{"key": "busy", "effect": "PreferNoSchedule"}])),
    ],
)
def test_nothing_keeps_a_pod_away_that_tolerates_and_matches(fields: dict[str, Any], on: V1Node) -> None:
    assert obstacle(spec(**fields), on) is None


def test_an_untolerated_taint_is_named() -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}

    assert obstacle(spec(), node(taints=[taint])) == "node(s) had untolerated taint(s) {gpu: yes}"


def test_an_affinity_that_cannot_be_understood_fits_no_node() -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "Like", "values": ["ssd"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}

    assert obstacle(spec(affinity={"nodeAffinity": required}), node()) is not None
