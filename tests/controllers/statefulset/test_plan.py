"""What a sync does with each pod."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.models import V1Pod, V1StatefulSet
from kinformer_controllers.statefulset.plan import Step, lay_out, may_remove, pods_to_update, step_for
from kinformer_controllers.statefulset.pods import Version, ordinal_of, revision_of
from tests.controllers.statefulset.objects import NOW, make_pod, make_set, stamp


def layout(statefulset: V1StatefulSet, *pods: V1Pod) -> Any:
    return lay_out(Version("r1", statefulset), Version("r2", statefulset), statefulset, pods, NOW)


def test_missing_pods_are_planned_and_those_out_of_range_condemned_highest_first() -> None:
    found = layout(make_set(2), make_pod(4), make_pod(1), make_pod(3), make_pod(name="web-x"))

    assert [pod.metadata.name for pod in found.replicas] == ["web-0", "web-1"]
    assert [pod.metadata.name for pod in found.condemned] == ["web-4", "web-3"]
    assert found.replicas[0].status is None


def test_the_largest_number_of_replicas_is_laid_out_without_making_them_all() -> None:
    most = (1 << 31) - 1
    found = layout(make_set(most), make_pod(0), make_pod(1, ready=False))

    assert len(found.replicas) == most
    assert found.replicas[-1].metadata.name == f"web-{most - 1}"
    assert [pod.metadata.name for pod in found.there] == ["web-0", "web-1"]
    assert found.first_unavailable.metadata.name == "web-1"


def test_with_a_start_ordinal_lower_pods_are_condemned_too() -> None:
    found = layout(make_set(2, ordinals={"start": 2}), make_pod(0), make_pod(2))

    assert [pod.metadata.name for pod in found.replicas] == ["web-2", "web-3"]
    assert [pod.metadata.name for pod in found.condemned] == ["web-0"]


def test_the_first_unavailable_is_the_lowest_staying_or_else_going() -> None:
    assert layout(make_set(1), make_pod(0, ready=False), make_pod(1, ready=False)).first_unavailable.metadata.name == (
        "web-0"
    )
    found = layout(make_set(1), make_pod(0), make_pod(2, ready=False), make_pod(1, deleting=True))
    assert found.first_unavailable.metadata.name == "web-1"
    assert layout(make_set(1), make_pod(0)).first_unavailable is None


@pytest.mark.parametrize(
    ("spec", "revisions"),
    [
        ({}, ["r2", "r2", "r2"]),
        ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}, ["r1", "r1", "r2"]),
        ({"updateStrategy": {"type": "RollingUpdate"}, "status": {"currentReplicas": 1}}, ["r1", "r2", "r2"]),
        ({"updateStrategy": {"type": "OnDelete"}, "status": {"currentReplicas": 3}}, ["r2", "r2", "r2"]),
    ],
    ids=["no partition", "partition 2", "as many as are current", "on delete"],
)
def test_a_missing_pod_is_made_from_the_revision_of_its_ordinal(spec: dict[str, Any], revisions: list[str]) -> None:
    assert [revision_of(pod) for pod in layout(make_set(**spec)).replicas] == revisions


@pytest.mark.parametrize(
    ("pod", "ordered", "parallel"),
    [
        ({"phase": ""}, Step.CREATE, Step.CREATE),
        ({"phase": "Failed"}, Step.DELETE, Step.DELETE),
        ({"phase": "Succeeded"}, Step.DELETE, Step.DELETE),
        ({"phase": "Failed", "deleting": True}, Step.WAIT, Step.WAIT),
        ({"phase": "Pending", "ready": False}, Step.WAIT, Step.KEEP),
        ({"ready": False}, Step.WAIT, Step.KEEP),
        ({"deleting": True}, Step.WAIT, Step.KEEP),
        ({}, Step.KEEP, Step.KEEP),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_in_order_each_pod_waits_for_the_one_before(pod: dict[str, Any], ordered: Step, parallel: Step) -> None:
    made = make_pod(0, **pod)

    assert step_for(make_set(), made, ordered=True, now=NOW) is ordered
    assert step_for(make_set(), made, ordered=False, now=NOW) is parallel


def test_a_pod_is_waited_for_until_it_was_ready_for_long_enough() -> None:
    pod = make_pod(0, ready_since=stamp(NOW - timedelta(seconds=9)))

    assert step_for(make_set(minReadySeconds=10), pod, ordered=True, now=NOW) is Step.WAIT
    assert step_for(make_set(minReadySeconds=9), pod, ordered=True, now=NOW) is Step.KEEP
    assert layout(make_set(1, minReadySeconds=10), pod).first_unavailable is pod


def test_without_min_ready_seconds_a_ready_pod_is_available_at_once() -> None:
    pod = make_pod(0, ready_since=stamp(NOW))

    assert step_for(make_set(), pod, ordered=True, now=NOW) is Step.KEEP
    assert layout(make_set(1), pod).first_unavailable is None


@pytest.mark.parametrize(
    ("pod", "ordered", "parallel"),
    [
        ({}, True, True),
        ({"deleting": True}, False, False),
        ({"ready": False}, False, True),
        ({"phase": "Pending", "ready": False}, False, True),
    ],
    ids=str,
)
def test_in_order_a_pod_to_be_removed_waits_until_available(pod: dict[str, Any], ordered: bool, parallel: bool) -> None:
    made = make_pod(5, **pod)

    assert may_remove(make_set(), made, make_pod(0), ordered=True, now=NOW) is ordered
    assert may_remove(make_set(), made, make_pod(0), ordered=False, now=NOW) is parallel


def test_the_first_that_is_not_available_may_go_itself() -> None:
    pod = make_pod(5, ready=False)

    assert may_remove(make_set(), pod, pod, ordered=True, now=NOW)


def test_a_pod_to_be_removed_is_unavailable_before_min_ready_seconds() -> None:
    pod = make_pod(5, ready_since=stamp(NOW - timedelta(seconds=9)))

    assert not may_remove(make_set(minReadySeconds=10), pod, None, ordered=True, now=NOW)


def updated(statefulset: V1StatefulSet, *pods: V1Pod) -> list[int]:
    return [ordinal_of(pod) for pod in pods_to_update(statefulset, pods, "r2", NOW)]


def old(*ordinals: int, **pod: Any) -> list[V1Pod]:
    return [make_pod(ordinal, **pod) for ordinal in ordinals]


def new(*ordinals: int, **pod: Any) -> list[V1Pod]:
    return [make_pod(ordinal, revision="r2", **pod) for ordinal in ordinals]


def rolling(**update: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, **update}}


def test_an_update_replaces_the_highest_old_pod_and_waits_for_it() -> None:
    assert updated(make_set(), *old(0, 1, 2)) == [2]
    assert updated(make_set(), *old(0, 1), *new(2)) == [1]
    assert updated(make_set(), *old(0, 1), *new(2, ready=False)) == []
    assert updated(make_set(), *old(0, 1), *old(2, deleting=True)) == []
    assert updated(make_set(), *new(0, 1, 2)) == []


def test_an_old_pod_that_is_not_available_is_replaced_all_the_same() -> None:
    assert updated(make_set(), *old(0, 1), *old(2, ready=False)) == [2]


def test_an_update_waits_until_the_new_pod_was_ready_for_long_enough() -> None:
    fresh = new(2, ready_since=stamp(NOW - timedelta(seconds=5)))

    assert updated(make_set(minReadySeconds=10), *old(0, 1), *fresh) == []
    assert updated(make_set(minReadySeconds=5), *old(0, 1), *fresh) == [1]


def test_pods_below_the_partition_keep_their_revision() -> None:
    partition = make_set(updateStrategy=rolling(partition=2))

    assert updated(partition, *old(0, 1, 2)) == [2]
    assert updated(partition, *old(0, 1), *new(2)) == []
    assert updated(make_set(updateStrategy=rolling(partition=7)), *old(0, 1, 2)) == []


def test_on_delete_nothing_is_replaced() -> None:
    assert updated(make_set(updateStrategy={"type": "OnDelete"}), *old(0, 1, 2)) == []


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 2), ("50%", 2), ("10%", 1), ("100%", 5), (9, 5)], ids=str)
def test_with_max_unavailable_as_many_are_replaced_at_once(limit: int | str, count: int) -> None:
    statefulset = make_set(5, updateStrategy=rolling(maxUnavailable=limit))

    assert updated(statefulset, *old(0, 1, 2, 3, 4)) == [4, 3, 2, 1, 0][:count]


def test_pods_that_are_not_available_count_against_max_unavailable() -> None:
    statefulset = make_set(4, updateStrategy=rolling(maxUnavailable=2))

    assert updated(statefulset, *old(0, ready=False), *old(1, 2, 3)) == [3]
    assert updated(statefulset, *old(0, 1), *new(2, 3, ready=False)) == []
    assert updated(statefulset, *old(0, 1), *new(2), *new(3, ready=False)) == [1]


def test_a_max_unavailable_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="neither an integer nor a percentage"):
        updated(make_set(updateStrategy=rolling(maxUnavailable="ten")), *old(0))
