"""What a sync does on each node, and what the status says then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.models import V1DaemonSet, V1Pod
from kinformer_controllers.daemonset.placement import Placements
from kinformer_controllers.daemonset.plan import Plan, oldest_first, plan_nodes, pods_by_node
from kinformer_controllers.daemonset.status import count_nodes, rebased, same_counts
from kinformer_controllers.daemonset.syncing import FailedPodsBackoff
from tests.controllers.daemonset.objects import NOW, make_daemonset, make_node, make_pod, rolling, stamp

SURGE = make_daemonset(strategy=rolling(maxUnavailable=0, maxSurge=1))


def plan(
    *pods: V1Pod,
    daemonset: V1DaemonSet | None = None,
    nodes: Any = None,
    backoff: Any = lambda pod, node: None,
) -> Plan:
    nodes = [make_node("n1")] if nodes is None else nodes
    daemonset = daemonset or make_daemonset()
    return plan_nodes(daemonset, Placements().of(daemonset, nodes), pods_by_node(pods), "new", backoff, NOW)


def names(pods: Any) -> list[str]:
    return [pod.metadata.name for pod in pods]


def test_nodes_without_a_pod_get_one() -> None:
    nodes = [make_node("n1"), make_node("n2"), make_node("n3", taints=[("k", "NoSchedule")])]

    assert plan(make_pod("n1"), nodes=nodes).create == ["n2"]
    assert plan(nodes=[]).create == []


@pytest.mark.parametrize("pod", [{"bound": False, "ready": False, "phase": "Pending"}, {"ready": False}, {}], ids=str)
def test_a_pod_that_is_there_or_on_its_way_is_enough(pod: dict[str, Any]) -> None:
    assert plan(make_pod("n1", **pod)) == Plan()


def test_a_pod_that_is_being_deleted_is_waited_for() -> None:
    assert plan(make_pod("n1", deleting=True)) == Plan()


def test_one_that_has_ended_and_is_being_deleted_is_replaced_at_once() -> None:
    assert plan(make_pod("n1", deleting=True, phase="Failed", ready=False)).create == ["n1"]


def test_of_several_pods_on_a_node_the_oldest_stays() -> None:
    pods = [
        make_pod("n1", name="young", created="2022-01-01T00:00:00Z"),
        make_pod("n1", name="old", created="2021-01-01T00:00:00Z"),
        make_pod("n1", name="unbound", created="2020-01-01T00:00:00Z", bound=False),
    ]

    assert names(plan(*pods).delete) == ["young", "unbound"]
    assert names(oldest_first(pods)) == ["old", "young", "unbound"]


def test_pods_leave_a_node_that_is_not_theirs_any_more() -> None:
    tainted = [make_node("n1", taints=[("k", "NoExecute")])]

    assert names(plan(make_pod("n1", name="a"), make_pod("n1", name="b"), nodes=tainted).delete) == ["a", "b"]
    assert plan(make_pod("n1", deleting=True), nodes=tainted) == Plan()
    assert plan(make_pod("n1"), nodes=[make_node("n1", taints=[("k", "NoSchedule")])]) == Plan()


@pytest.mark.parametrize(("phase", "reason"), [("Failed", "FailedDaemonPod"), ("Succeeded", "SucceededDaemonPod")])
def test_a_pod_that_has_ended_is_deleted_and_told_of(phase: str, reason: str) -> None:
    pod = make_pod("n1", phase=phase, ready=False)

    planned = plan(pod)

    assert planned.delete == [pod]
    assert planned.ended == [(reason, pod, "n1")]
    assert planned.create == []


def test_a_pod_that_fails_again_and_again_is_left_for_a_while() -> None:
    planned = plan(make_pod("n1", phase="Failed", ready=False), backoff=lambda pod, node: 4.0)

    assert (planned.delete, planned.look_again) == ([], 4.0)


def test_pods_for_a_missing_node_go_unless_bound_to_it() -> None:
    waiting = make_pod("gone", name="waiting", bound=False, phase="Pending")

    assert plan(waiting, make_pod("gone", name="bound"), nodes=[]).delete == [waiting]


def test_pods_without_a_node_or_ended_and_going_are_not_counted() -> None:
    nowhere = make_pod("n1", name="nowhere", bound=False)
    assert nowhere.spec is not None
    nowhere.spec.affinity = None
    ended = make_pod("n1", name="ended", deleting=True, phase="Succeeded")
    pods = [nowhere, ended, make_pod("n1", name="there"), make_pod("n2", name="meant", bound=False)]

    assert {node: names(there) for node, there in pods_by_node(pods).items()} == {"n1": ["there"], "n2": ["meant"]}
    assert names(pods_by_node(pods, with_ended=True)["n1"]) == ["ended", "there"]


def surged(*pods: V1Pod, **daemonset: Any) -> list[str]:
    made = make_daemonset(strategy=rolling(maxUnavailable=0, maxSurge=1), **daemonset) if daemonset else SURGE
    return names(plan(*pods, daemonset=made).delete)


OLD = make_pod("n1", name="old", hash_="old")


def test_with_surge_old_and_new_pod_stay_until_the_new_is_available() -> None:
    assert surged(OLD, make_pod("n1", name="new", ready=False)) == []
    assert surged(OLD, make_pod("n1", name="new")) == ["old"]
    assert surged(make_pod("n1", name="old", hash_="old", ready=False), make_pod("n1", name="new", ready=False)) == [
        "old"
    ]
    assert surged(OLD) == []


def test_with_surge_the_new_pod_is_available_after_min_ready_seconds() -> None:
    fresh = make_pod("n1", name="new", ready_since=stamp(NOW - timedelta(seconds=5)))

    assert surged(OLD, fresh, minReadySeconds=10) == []
    assert surged(OLD, fresh, minReadySeconds=5) == ["old"]


def test_with_surge_more_than_one_of_each_are_too_many() -> None:
    pods = [
        make_pod("n1", name=name, hash_=name[:3], created=f"202{age}-01-01T00:00:00Z", ready=name[:3] == "old")
        for age, name in enumerate(["old1", "new1", "old2", "new2"])
    ]

    assert surged(*pods) == ["old2", "new2"]


def test_with_surge_a_node_whose_pods_all_go_gets_a_new_one() -> None:
    assert plan(make_pod("n1", hash_="old", deleting=True), daemonset=SURGE).create == ["n1"]


def test_a_failed_pod_is_replaced_later_each_time() -> None:
    clock = FakeClock()
    backoff = FailedPodsBackoff(clock)
    key = ("uid", 1, "n1")
    assert backoff.failed(key) is None
    assert backoff.failed(key) == 1.0
    for seconds in (1.0, 2.0, 4.0):
        clock.turn(seconds)
        assert backoff.failed(key) is None
    assert backoff.failed(key) == 8.0
    assert backoff.failed(("uid", 2, "n1")) is None
    for _ in range(20):
        clock.turn(900)
        assert backoff.failed(key) is None
    assert backoff.failed(key) == 900.0


def test_failures_are_forgotten_after_half_an_hour() -> None:
    clock = FakeClock()
    backoff = FailedPodsBackoff(clock)
    for number in range(5000):
        backoff.failed(("uid", 1, str(number)))
    clock.turn(1801)

    assert backoff.failed(("uid", 1, "0")) is None
    assert backoff.failed(("uid", 1, "0")) == 1.0
    for number in range(5000, 12000):
        backoff.failed(("uid", 1, str(number)))
    assert len(backoff) < 10000


def counts(daemonset: V1DaemonSet, nodes: Any, *pods: V1Pod, observed: bool = True) -> Any:
    return count_nodes(daemonset, Placements().of(daemonset, nodes), pods_by_node(pods), "new", NOW, observed=observed)


def test_the_status_counts_nodes() -> None:
    nodes = [*(make_node(f"n{number}") for number in range(1, 5)), make_node("n5", taints=[("k", "NoSchedule")])]
    status = counts(
        make_daemonset(),
        nodes,
        make_pod("n1"),
        make_pod("n2", hash_="old"),
        make_pod("n3", ready=False),
        make_pod("n5"),
    )

    assert status.desired_number_scheduled == 4
    assert status.current_number_scheduled == 3
    assert status.number_misscheduled == 1
    assert status.number_ready == 2
    assert status.updated_number_scheduled == 2
    assert (status.number_available, status.number_unavailable) == (2, 2)
    assert status.observed_generation == 1


def test_of_several_pods_on_a_node_the_oldest_counts() -> None:
    young = make_pod("n1", name="young", created="2022-01-01T00:00:00Z")
    old = make_pod("n1", name="old", ready=False, hash_="old")

    status = counts(make_daemonset(), [make_node("n1")], young, old)

    assert (status.number_ready, status.updated_number_scheduled) == (0, 0)


def test_a_generation_that_was_not_acted_upon_is_not_told() -> None:
    daemonset = make_daemonset(status={"observedGeneration": 0})

    assert not counts(daemonset, [], observed=False).observed_generation


def test_an_equal_status_of_the_same_generation_is_not_written() -> None:
    nodes = [make_node("n1")]
    there = {"desiredNumberScheduled": 1, "currentNumberScheduled": 1, "numberReady": 1, "updatedNumberScheduled": 1}
    there |= {"numberAvailable": 1, "observedGeneration": 1}

    def same(**change: Any) -> bool:
        daemonset = make_daemonset(status=there | change)
        return same_counts(daemonset, counts(daemonset, nodes, make_pod("n1")))

    assert same()
    assert same(observedGeneration=2)
    assert not same(observedGeneration=0)
    assert not same(numberReady=0)
    assert not same_counts(make_daemonset(), counts(make_daemonset(), nodes))


def test_counts_on_a_fresh_copy_keep_its_collision_count() -> None:
    status = counts(make_daemonset(), [make_node("n1")])

    moved = rebased(make_daemonset(status={"collisionCount": 3}), status)

    assert (moved.collision_count, moved.desired_number_scheduled) == (3, 1)
    assert status.collision_count is None
