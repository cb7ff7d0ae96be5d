"""The pods of a StatefulSet: their ordinals and names, their claims, and how each is made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.models import V1StatefulSetStatus, from_dict, to_dict
from kinformer_controllers.statefulset.pods import (
    Version,
    claims_of,
    has_identity,
    has_storage,
    is_in_range,
    is_member,
    new_pod,
    ordinal_of,
    parent_and_ordinal,
    set_identity,
    set_storage,
)
from kinformer_controllers.statefulset.status import complete_rolling_update, count_pods, needs_writing
from tests.controllers.statefulset.objects import NOW, make_pod, make_set, stamp


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-1", ("web", 1)),
        ("my-web-12", ("my-web", 12)),
        ("1-bar", ("", -1)),
        ("web", ("", -1)),
        ("web-01", ("web", 1)),
        ("web--1", ("web-", 1)),
        ("web-2147483647", ("web", 2147483647)),
        ("web-2147483648", ("web", -1)),
        ("web-" + "9" * 5000, ("web", -1)),
        ("web-" + "0" * 5000 + "7", ("web", 7)),
        ("web-²", ("", -1)),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_name_ends_with_the_ordinal(name: str, expected: tuple[str, int]) -> None:
    assert parent_and_ordinal(name) == expected


def test_a_pod_is_a_member_of_the_set_in_its_name() -> None:
    assert is_member(make_set(), make_pod(1))
    assert not is_member(make_set(name="other"), make_pod(1))


@pytest.mark.parametrize(
    ("change", "has"),
    [
        ({}, True),
        ({"name": "foo"}, False),
        ({"namespace": "other"}, False),
        ({"labels": {}}, False),
        ({"labels": None}, False),
    ],
    ids=["as made", "another name", "another namespace", "no labels", "labels missing"],
)
def test_identity_is_name_namespace_and_label(change: dict[str, Any], has: bool) -> None:
    assert has_identity(make_set(), make_pod(1, **change)) is has


def test_a_pod_is_given_its_identity_and_keeps_its_other_labels() -> None:
    pod = make_pod(1, labels={"app": "web"}, namespace="other")

    set_identity(make_set(), pod, ordinal_of(pod))

    assert has_identity(make_set(), pod)
    assert pod.metadata.labels == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-1",
        "apps.kubernetes.io/pod-index": "1",
    }


@pytest.mark.parametrize(("ordinal", "inside"), [(1, False), (2, True), (4, True), (5, False)])
def test_ordinals_begin_where_the_set_says(ordinal: int, inside: bool) -> None:
    assert is_in_range(make_set(3, ordinals={"start": 2}), make_pod(ordinal)) is inside


def test_a_set_that_does_not_say_has_one_pod_from_zero_on() -> None:
    one = make_set(replicas=None)  # type: ignore[arg-type]

    assert is_in_range(one, make_pod(0))
    assert not is_in_range(one, make_pod(1))


SET = make_set(volumes=("data", "logs"))


def mount(name: str, claim: str) -> dict[str, object]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def test_a_claim_is_named_after_its_template_its_set_and_the_ordinal() -> None:
    claims = claims_of(SET, make_pod(1))

    assert {name: claim.metadata.name for name, claim in claims.items()} == {"data": "data-web-1", "logs": "logs-web-1"}
    assert {claim.metadata.namespace for claim in claims.values()} == {"ns"}


def test_a_claim_has_its_templates_labels_and_those_that_the_set_selects() -> None:
    templates = [{"metadata": {"name": "data", "labels": {"tier": "db", "app": "x"}, "annotations": {"a": "b"}}}]
    claim = claims_of(make_set(volumeClaimTemplates=templates), make_pod(1))["data"]

    assert claim.metadata.labels == {"tier": "db", "app": "web"}
    assert claim.metadata.annotations == {"a": "b"}
    assert claims_of(SET, make_pod(1))["data"].metadata.labels == {"app": "web"}


def test_making_claims_leaves_the_template_as_it_is() -> None:
    before = to_dict(SET)

    claims_of(SET, make_pod(1))["data"].metadata.name = "changed"

    assert to_dict(SET) == before


def test_storage_is_right_where_each_claim_is_mounted_under_its_templates_name() -> None:
    both = [mount("data", "data-web-1"), mount("logs", "logs-web-1")]

    assert has_storage(SET, make_pod(1, volumes=both))
    assert has_storage(SET, make_pod(1, volumes=[*both, {"name": "tmp", "emptyDir": {}}]))
    assert not has_storage(SET, make_pod(1))
    assert not has_storage(SET, make_pod(1, volumes=both[:1]))
    assert not has_storage(SET, make_pod(1, volumes=[both[0], mount("logs", "other")]))
    assert not has_storage(SET, make_pod(1, volumes=[both[0], {"name": "logs", "emptyDir": {}}]))
    assert not has_storage(SET, make_pod(name="foo", volumes=both))
    assert has_storage(make_set(), make_pod(1))


def test_a_pod_is_given_its_claims_and_keeps_its_other_volumes() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    pod = make_pod(1, volumes=volumes)

    set_storage(SET, pod)

    assert has_storage(SET, pod)
    assert [volume.name for volume in (pod.spec.volumes if pod.spec else None) or ()] == ["data", "logs", "tmp"]


def test_a_claim_template_without_a_name_is_called_nothing() -> None:
    statefulset = make_set(volumes=("data",))
    (statefulset.spec.volume_claim_templates or [])[0].metadata.name = None

    assert list(claims_of(statefulset, make_pod(2))) == [""]
    assert claims_of(statefulset, make_pod(2))[""].metadata.name == "-web-2"


def test_a_pod_has_template_labels_identity_revision_and_owner() -> None:
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


def test_without_a_service_the_templates_subdomain_does_not_count() -> None:
    statefulset = make_set(serviceName="")
    statefulset.spec.template.spec.subdomain = "own"

    assert new_pod(Version("r", statefulset), 1).spec.subdomain is None


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


def test_a_pod_just_deleted_for_an_update_is_not_current() -> None:
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
