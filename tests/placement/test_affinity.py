from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1Node, V1PodSpec, from_dict
from kinformer.placement.affinity import NodeSelectorError, matches_node


def node(name: str = "n1", **labels: str) -> V1Node:
    return from_dict(V1Node, {"metadata": {"name": name, "labels": labels}})


def spec(*terms: dict[str, Any], node_selector: dict[str, str] | None = None) -> V1PodSpec:
    required = {"nodeSelectorTerms": list(terms)}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}} if terms else {}
    return from_dict(V1PodSpec, {"containers": [], "nodeSelector": node_selector or {}, "affinity": affinity})


def term(key: str, operator: str, *values: str, fields: bool = False) -> dict[str, Any]:
    return {
        "matchFields" if fields else "matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]
    }


def test_a_pod_that_asks_for_nothing_may_run_anywhere() -> None:
    assert matches_node(spec(), node())
    assert matches_node(from_dict(V1PodSpec, {"containers": []}), node())


def test_a_node_has_to_have_all_labels_of_the_selector() -> None:
    assert matches_node(spec(node_selector={"a": "1"}), node(a="1", b="2"))
    assert not matches_node(spec(node_selector={"a": "1", "b": "1"}), node(a="1", b="2"))
    assert not matches_node(spec(node_selector={"a": "1"}), node())


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ("4", "5"), True),
        ("In", ("6",), False),
        ("NotIn", ("6",), True),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("4",), True),
        ("Gt", ("5",), False),
        ("Lt", ("6",), True),
    ],
)
def test_a_label_is_compared_as_the_operator_says(operator: str, values: tuple[str, ...], matches: bool) -> None:
    assert matches_node(spec(term("size", operator, *values)), node(size="5")) is matches


def test_one_matching_term_is_enough_beside_the_node_selector() -> None:
    either = (term("a", "Exists"), term("b", "Exists"))

    assert matches_node(spec(*either), node(b="1"))
    assert not matches_node(spec(*either), node())
    assert not matches_node(spec(*either, node_selector={"c": "1"}), node(b="1"))


def test_a_term_without_requirements_is_met_by_no_node() -> None:
    assert not matches_node(spec({}), node())


def test_a_node_is_known_by_its_name() -> None:
    assert matches_node(spec(term("metadata.name", "In", "n1", fields=True)), node("n1"))
    assert not matches_node(spec(term("metadata.name", "In", "n2", fields=True)), node("n1"))
    assert matches_node(spec(term("metadata.name", "NotIn", "n2", fields=True)), node("n1"))
    assert not matches_node(spec(term("metadata.uid", "In", "u", fields=True)), node("n1"))


def test_a_term_that_cannot_be_understood_matters_only_where_no_other_matches() -> None:
    odd = term("a", "Sometimes")

    assert matches_node(spec(odd, term("b", "Exists")), node(b="1"))
    with pytest.raises(NodeSelectorError, match="'Sometimes' is not a valid node selector operator"):
        matches_node(spec(odd, term("b", "Exists")), node())
    with pytest.raises(NodeSelectorError, match="must have one element"):
        matches_node(spec(term("metadata.name", "In", "n1", "n2", fields=True)), node())
    with pytest.raises(NodeSelectorError, match="want In or NotIn"):
        matches_node(spec(term("metadata.name", "Exists", fields=True)), node())
