from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.controllerutil.ranking import (
    DELETION_COST,
    colocation_ranks,
    deletion_cost,
    pods_to_delete,
    sort_for_deletion,
)
from kinformer.models import V1Pod, from_dict
from tests.metrics import metric_value

NOW = FakeClock().now()


def pod(
    name: str, node: str = "", phase: str = "Pending", ready: float | None = None, age: float = 60, **status: Any
) -> V1Pod:
    """A pod that became ready, and was made, so many seconds ago."""
    conditions = []
    if ready is not None:
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(ready)}]
    return from_dict(
        V1Pod,
        {
            "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "creationTimestamp": stamp(age)},
            "spec": {"containers": [], "nodeName": node or None},
            "status": {"phase": phase, "conditions": conditions, **status},
        },
    )


def stamp(seconds_ago: float) -> str:
    return (NOW - timedelta(seconds=seconds_ago)).isoformat()


def names(pods: list[V1Pod]) -> list[str]:
    return [each.metadata.name for each in pods]


def test_unassigned_go_before_pending_before_unready_before_ready() -> None:
    pods = [
        pod("ready", "n1", "Running", ready=10),
        pod("unready", "n1", "Running"),
        pod("pending", "n1"),
        pod("unassigned"),
    ]

    assert names(sort_for_deletion(pods, [0] * 4, NOW)) == ["unassigned", "pending", "unready", "ready"]


def test_pods_that_share_a_node_go_before_those_that_do_not() -> None:
    alone, first, second = (
        pod("alone", "n2", "Running", ready=10),
        pod("first", "n1", "Running", ready=10),
        pod("second", "n1", "Running", ready=10),
    )

    chosen = pods_to_delete([alone, first, second], [alone, first, second], 2, NOW)

    assert sorted(names(chosen)) == ["first", "second"]


def test_pods_that_have_ended_do_not_count_as_company() -> None:
    one, ended = pod("one", "n1", "Running"), pod("ended", "n1", "Succeeded")

    assert colocation_ranks([one], [one, ended]) == [1]


def test_how_much_older_ready_pods_go_than_the_youngest_is_measured() -> None:
    def observed() -> tuple[float, float]:
        metric = "replicaset_controller_sorting_deletion_age_ratio"
        return metric_value(f"{metric}_count") or 0, metric_value(f"{metric}_sum") or 0

    count, total = observed()
    pods = [pod("young", "n1", "Running", ready=1, age=10), pod("old", "n1", "Running", ready=500, age=35), pod("new")]

    pods_to_delete(pods, [], 2, NOW)

    assert observed() == (count + 1, total + 1)


def test_when_all_are_to_go_they_are_not_sorted() -> None:
    pods = [pod("b", "n1", "Running", ready=1), pod("a")]

    assert names(pods_to_delete(pods, pods, 2, NOW)) == ["b", "a"]


def test_ages_of_one_magnitude_are_equal_and_the_uid_decides() -> None:
    pods = [
        pod("b", "n1", "Running", ready=1000),
        pod("a", "n1", "Running", ready=900),
        pod("c", "n1", "Running", ready=1),
    ]

    assert names(sort_for_deletion(pods, [0] * 3, NOW)) == ["c", "a", "b"]


def test_a_container_without_a_count_of_restarts_has_not_restarted() -> None:
    blank, restarted = (
        {"name": "c", "image": "", "imageID": "", "ready": False, **count} for count in ({}, {"restartCount": 1})
    )
    pods = [pod("blank", containerStatuses=[blank]), pod("restarted", containerStatuses=[restarted])]

    assert names(sort_for_deletion(pods, [0, 0], NOW)) == ["restarted", "blank"]


def test_sidecars_that_restarted_more_break_a_tie_of_containers() -> None:
    restarted = from_dict(
        V1Pod,
        {
            "metadata": {"name": "restarted", "creationTimestamp": stamp(60)},
            "spec": {"containers": [], "initContainers": [{"name": "s", "restartPolicy": "Always"}]},
            "status": {
                "phase": "Pending",
                "initContainerStatuses": [
                    {"name": "s", "restartCount": 2, "image": "", "imageID": "", "ready": False},
                    {"name": "not-a-sidecar", "restartCount": 9, "image": "", "imageID": "", "ready": False},
                ],
            },
        },
    )

    assert names(sort_for_deletion([pod("calm"), restarted], [0, 0], NOW)) == ["restarted", "calm"]


def test_many_pods_are_sorted_by_the_same_rules() -> None:
    pods = [pod(f"p{n}", "n1", "Running", ready=2.0**n) for n in range(30)]

    assert names(sort_for_deletion(pods[::-1], [0] * 30, NOW)) == names(pods)


@pytest.mark.parametrize(
    ("text", "cost"),
    [("5", 5), ("-5", -5), ("0", 0), ("+5", 0), ("05", 0), ("-05", -5), ("five", 0), ("", 0), ("2147483648", 0)],
)
def test_a_cost_that_is_no_plain_number_is_no_cost(text: str, cost: int) -> None:
    annotated = from_dict(V1Pod, {"metadata": {"name": "p", "annotations": {DELETION_COST: text}}})

    assert deletion_cost(annotated) == cost
