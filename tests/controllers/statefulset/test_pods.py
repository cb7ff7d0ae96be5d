"""The pods that a StatefulSet asks for, and its status."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.models import V1StatefulSetStatus, from_dict, to_dict
from kinformer_controllers.statefulset.pods import Version, has_identity, new_pod
from kinformer_controllers.statefulset.status import complete_rolling_update, count_pods, needs_writing
from tests.controllers.statefulset.objects import NOW, make_pod, make_set, stamp


def test_a_pod_has_the_templates_labels_its_identity_its_revision_and_its_owner() -> None:
    statefulset = make_set(volumes=("data",))

    pod = to_dict(new_pod(Version("web-abc", statefulset), 1))

    assert pod["metadata"] == {
        "name": "web-1",
        "generateName": "web-",
        "namespace": "ns",
        "labels": {
            "app": "web",
            "statefulset.kubernetes.io/pod-name": "web-1",
            "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": "web-abc",
        },
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": "web",
                "uid": "uid-web",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-1", "svc")
    assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}]
    assert has_identity(statefulset, new_pod(Version("r", statefulset), 1))


def test_making_a_pod_leaves_the_set_as_it_is() -> None:
    statefulset = make_set(volumes=("data",))
    before = to_dict(statefulset)

    new_pod(Version("r", statefulset), 1)

    assert to_dict(statefulset) == before


def status_of(statefulset: Any, *pods: Any, leaving: Any = ()) -> dict[str, Any]:
    counted = count_pods(statefulset, pods, current="r1", update="r2", collisions=0, now=NOW, leaving=leaving)
    return {key: value for key, value in to_dict(counted).items() if "eplicas" in key}


def test_the_status_counts_pods_by_how_far_they_are_and_by_revision() -> None:
    pods = [
        make_pod(0),
        make_pod(1, revision="r2"),
        make_pod(2, ready=False),
        make_pod(3, phase=""),
        make_pod(4, deleting=True),
        make_pod(5, phase="Failed", ready=False),
    ]

    assert status_of(make_set(), *pods) == {
        "replicas": 5,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 1,
    }


def test_a_ready_pod_is_available_after_min_ready_seconds() -> None:
    pod = make_pod(0, ready_since=stamp(NOW - timedelta(seconds=5)))

    assert status_of(make_set(minReadySeconds=6), pod)["availableReplicas"] == 0
    assert status_of(make_set(minReadySeconds=5), pod)["availableReplicas"] == 1


def test_a_pod_that_was_just_deleted_for_an_update_is_not_current_any_more() -> None:
    first, second = make_pod(0), make_pod(1)

    assert status_of(make_set(), first, second, leaving=[second])["currentReplicas"] == 1


def status(**fields: Any) -> V1StatefulSetStatus:
    return from_dict(V1StatefulSetStatus, {"replicas": 0, **fields})


ALL_NEW = {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "updateRevision": "r2", "currentRevision": "r1"}


@pytest.mark.parametrize(
    ("change", "strategy", "revision"),
    [
        ({}, "RollingUpdate", "r2"),
        ({"readyReplicas": 2}, "RollingUpdate", "r1"),
        ({"updatedReplicas": 2}, "RollingUpdate", "r1"),
        ({"replicas": 4}, "RollingUpdate", "r1"),
        ({}, "OnDelete", "r1"),
    ],
    ids=["all new and ready", "one not ready", "one old", "one too many", "on delete"],
)
def test_an_update_is_complete_when_all_pods_are_new_and_ready(
    change: dict[str, Any], strategy: str, revision: str
) -> None:
    changed = status(**(ALL_NEW | change))

    complete_rolling_update(make_set(updateStrategy={"type": strategy}), changed)

    assert changed.current_revision == revision


@pytest.mark.parametrize(
    ("change", "writes"),
    [
        ({}, False),
        ({"collisionCount": 4}, False),
        ({"observedGeneration": 6}, True),
        ({"observedGeneration": 4}, False),
        ({"replicas": 2}, True),
        ({"readyReplicas": 2}, True),
        ({"availableReplicas": 2}, True),
        ({"currentReplicas": 2}, True),
        ({"updatedReplicas": 2}, True),
        ({"currentRevision": "r2"}, True),
        ({"updateRevision": "r1"}, True),
    ],
    ids=str,
)
def test_a_status_is_written_if_it_says_something_new(change: dict[str, Any], writes: bool) -> None:
    there = ALL_NEW | {"observedGeneration": 5, "availableReplicas": 3, "currentReplicas": 3}

    assert needs_writing(make_set(status=there), status(**(there | change))) is writes
