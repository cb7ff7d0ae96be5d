"""How many pods a metric asks for, beside the cases of Kubernetes in `test_replica_cases.py`."""

from __future__ import annotations

import pytest

from kinformer.models import V1Pod
from kinformer_controllers.horizontalpodautoscaler.replicas import (
    PodMetric,
    Proposal,
    ReplicaError,
    replicas_by_average,
    replicas_by_ratio,
    replicas_by_total,
    replicas_by_utilization,
)
from tests.controllers.horizontalpodautoscaler.pods import TERMS, metrics, pod, pods


def by_utilization(
    there: list[V1Pod], measured: dict[str, PodMetric], target: int, container: str = "", resource: str = "cpu"
) -> Proposal:
    return replicas_by_utilization(
        there,
        measured,
        len(there),
        target,
        resource=resource,
        container=container,
        terms=TERMS,
    )


def by_average(there: list[V1Pod], measured: dict[str, PodMetric], target: int) -> Proposal:
    return replicas_by_average(there, measured, len(there), target, terms=TERMS)


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, True),
        ({"ready": None}, False),
        ({"started": None}, False),
        ({"phase": "Pending"}, False),
        ({"started": 200, "since": 100}, True),
        ({"started": 200, "since": 60}, False),
        ({"started": 200, "since": 100, "ready": False}, False),
        ({"started": 400, "since": 371, "ready": False}, False),
        ({"started": 400, "since": 370, "ready": False}, True),
    ],
    ids=str,
)
def test_a_sample_counts_once_the_pod_has_been_ready_for_a_window(fields: dict[str, object], counts: bool) -> None:
    there = [pod("p0", **fields)]  # type: ignore[arg-type]
    if counts:
        assert by_utilization(there, metrics(500, age=10), 50) == Proposal(1, 500, 50)
    else:
        with pytest.raises(ReplicaError, match=r"did not receive metrics for targeted pods \(pods might be unready\)"):
            by_utilization(there, metrics(500, age=10), 50)


def test_a_sample_without_a_time_does_not_count_for_new_pods() -> None:
    there, measured = pods(2, started=200, since=100), metrics(500, 900) | {"p1": PodMetric(900)}

    assert by_utilization(there, measured, 50) == Proposal(2, 500, 50)
    assert by_utilization(pods(2), measured, 50) == Proposal(3, 700, 70)


def test_pods_that_go_or_have_failed_do_not_count() -> None:
    there = [*pods(2), pod("p2", gone=True), pod("p3", phase="Failed")]

    assert by_average(there, metrics(3000, 3000, 9000, 9000), 1000) == Proposal(6, 3000)


def test_what_is_missing_is_named() -> None:
    def error(*args: object, **more: object) -> str:
        with pytest.raises(ReplicaError) as raised:
            by_utilization(*args, **more)  # type: ignore[arg-type]
        return str(raised.value)

    assert error([], {}, 50) == "no pods returned by selector while calculating replica count"
    assert error(pods(1, cpu=None), metrics(5), 50) == "missing request for cpu in container c of Pod p0"
    assert error(pods(1), metrics(5), 50, "x") == "container x not found in Pod p0"
    assert error(pods(1), {"other": PodMetric(5)}, 50) == "no metrics returned matched known pods"
    assert error(pods(1, cpu="0"), metrics(5), 50) == "no metrics returned matched known pods"


def test_requests_of_sidecars_and_of_the_pod_as_a_whole_count() -> None:
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
    own = {"requests": {"cpu": "500m"}}

    assert by_utilization(pods(1, initContainers=[sidecar]), metrics(2000), 50).utilization == 50
    assert by_utilization(pods(1, initContainers=[sidecar]), metrics(2000), 50, "c").utilization == 200
    assert by_utilization(pods(1, resources=own, overhead={"cpu": "500m"}), metrics(500), 50).utilization == 50
    with pytest.raises(ReplicaError, match="missing pod-level request for memory in Pod p0"):
        by_utilization(pods(1, resources=own), metrics(500), 50, resource="memory")


def test_an_objects_value_counts_for_the_pods_that_are_ready() -> None:
    there = [*pods(3), pod("p3", ready=False), pod("p4", phase="Pending")]

    assert replicas_by_ratio(there, 5, 20_000, 10_000, terms=TERMS) == Proposal(6, 20_000)
    assert replicas_by_ratio(there, 5, 10_500, 10_000, terms=TERMS) == Proposal(5, 10_500)
    with pytest.raises(ReplicaError, match="unable to calculate ready pods: no pods returned by selector"):
        replicas_by_ratio([], 5, 20_000, 10_000, terms=TERMS)


def test_a_value_for_each_pod_divides_the_whole() -> None:
    assert replicas_by_total(3, 8_600, 2_000, terms=TERMS) == Proposal(5, 2_867)
    assert replicas_by_total(4, 8_600, 2_000, terms=TERMS) == Proposal(4, 2_150)
    assert replicas_by_total(0, 8_600, 2_000, terms=TERMS) == Proposal(5, 8_600)
