"""What a daemon pod looks like, and which node it is for."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1Affinity, V1Pod, from_dict, to_dict
from kinformer_controllers.daemonset.template import (
    affinity_for,
    daemon_template,
    is_updated,
    target_node,
    template_for_node,
    template_generation,
)
from tests.controllers.daemonset.objects import make_daemonset, make_pod

GENERATION = "deprecated.daemonset.template.generation"


def test_a_counted_pod_has_its_templates_hash_and_generation() -> None:
    plain = daemon_template(make_daemonset(), "abc")
    counted = daemon_template(make_daemonset(annotations={GENERATION: "7"}), "abc")

    assert plain.metadata.labels == {"app": "agent", "controller-revision-hash": "abc"}
    assert counted.metadata.labels == {**plain.metadata.labels, "pod-template-generation": "7"}
    assert daemon_template(make_daemonset(), "").metadata.labels == {"app": "agent"}


def test_a_daemon_pod_tolerates_what_befalls_its_node() -> None:
    def tolerated(**template: Any) -> list[tuple[str | None, str | None]]:
        spec = daemon_template(make_daemonset(template=template), "abc").spec
        assert spec is not None
        return [(one.key, one.effect) for one in spec.tolerations or ()]

    always = [
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]
    assert tolerated() == always
    assert tolerated(hostNetwork=True) == [*always, ("node.kubernetes.io/network-unavailable", "NoSchedule")]
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    assert tolerated(tolerations=[{"key": "k", "operator": "Exists"}, own]) == [("k", None), *always]


def test_a_toleration_for_a_while_becomes_one_for_ever() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}

    spec = daemon_template(make_daemonset(template={"tolerations": [own]}), "abc").spec

    assert spec is not None
    assert spec.tolerations is not None
    assert spec.tolerations[0].toleration_seconds is None


def test_making_a_template_leaves_the_daemonset_as_it_is() -> None:
    daemonset = make_daemonset()
    before = to_dict(daemonset)

    template_for_node(daemon_template(daemonset, "abc"), "n1")

    assert to_dict(daemonset) == before


REQUIRED = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
PREFERRED = [{"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}}]
OTHER_TERMS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}, {}]}
POD_AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
ONLY = {"requiredDuringSchedulingIgnoredDuringExecution": REQUIRED}


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        (None, {"nodeAffinity": ONLY}),
        ({}, {"nodeAffinity": ONLY}),
        ({"nodeAffinity": {}}, {"nodeAffinity": ONLY}),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": OTHER_TERMS}}, {"nodeAffinity": ONLY}),
        (
            {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": PREFERRED}},
            {"nodeAffinity": {**ONLY, "preferredDuringSchedulingIgnoredDuringExecution": PREFERRED}},
        ),
        ({"podAffinity": POD_AFFINITY}, {"podAffinity": POD_AFFINITY, "nodeAffinity": ONLY}),
    ],
    ids=["none", "empty", "empty for nodes", "other terms", "preferences", "affinity to pods"],
)
def test_the_node_is_required_in_the_place_of_other_terms(affinity: Any, expected: Any) -> None:
    given = from_dict(V1Affinity, affinity) if affinity is not None else None

    assert to_dict(affinity_for(given, "n1")) == expected
    assert given is None or to_dict(given) == affinity


def pod_for(**spec: Any) -> V1Pod:
    return from_dict(V1Pod, {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [], **spec}})


def requiring(*fields: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchFields": list(fields)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


NAME = {"key": "metadata.name", "operator": "In"}


@pytest.mark.parametrize(
    ("spec", "node"),
    [
        ({"nodeName": "n1"}, "n1"),
        (requiring({**NAME, "values": ["n2"]}), "n2"),
        ({"nodeName": "n1", **requiring({**NAME, "values": ["n2"]})}, "n1"),
        (requiring({**NAME, "values": ["n1", "n2"]}), None),
        (requiring({"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}), None),
        (requiring({"key": "metadata.uid", "operator": "In", "values": ["n1"]}), None),
        ({"affinity": {"nodeAffinity": {}}}, None),
        ({}, None),
    ],
    ids=["bound", "required", "bound wins", "two names", "not in", "another field", "nothing required", "nothing"],
)
def test_a_pod_belongs_to_the_node_it_is_bound_to_or_requires(spec: dict[str, Any], node: str | None) -> None:
    assert target_node(pod_for(**spec)) == node


@pytest.mark.parametrize(
    ("labels", "hash_", "generation", "updated"),
    [
        ({"controller-revision-hash": "abc"}, "abc", None, True),
        ({"controller-revision-hash": "abc"}, "other", None, False),
        ({"pod-template-generation": "7"}, "other", 7, True),
        ({"pod-template-generation": "6"}, "other", 7, False),
        ({"pod-template-generation": "6", "controller-revision-hash": "abc"}, "abc", 7, True),
        ({"pod-template-generation": "7"}, "", None, False),
        ({"controller-revision-hash": ""}, "", None, False),
        ({}, "abc", 7, False),
    ],
    ids=str,
)
def test_a_pod_is_of_the_current_template_by_hash_or_by_generation(
    labels: dict[str, str], hash_: str, generation: int | None, updated: bool
) -> None:
    assert is_updated(make_pod(labels=labels), hash_, generation) is updated


@pytest.mark.parametrize(
    ("text", "generation"),
    [("7", 7), ("-1", -1), ("x", None), ("", None), ("1_0", None), (" 1", None), ("9" * 99, None)],
)
def test_a_generation_that_is_no_number_counts_as_none(text: str, generation: int | None) -> None:
    assert template_generation(make_daemonset(annotations={GENERATION: text, "a": "b"})) == generation


def test_without_the_annotation_there_is_no_generation() -> None:
    assert template_generation(make_daemonset()) is None
