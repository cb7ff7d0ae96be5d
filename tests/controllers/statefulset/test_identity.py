"""Who a pod of a StatefulSet is."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer_controllers.statefulset.pods import (
    has_identity,
    is_in_range,
    is_member,
    ordinal_of,
    parent_and_ordinal,
    set_identity,
)
from tests.controllers.statefulset.objects import make_pod, make_set


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


def test_a_pod_is_a_member_of_the_set_that_its_name_begins_with() -> None:
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
