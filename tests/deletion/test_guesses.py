"""What a virtual owner is tried as next, when the server has none as which it was looked for."""

from __future__ import annotations

import pytest

from kinformer.deletion.graph import Identity, Kind, Node, Phase, _next_guess
from kinformer.deletion.heads import Reference

IN_NS1 = Identity("v1", "Parent", "ns1", "name", "uid")
IN_NS2 = IN_NS1._replace(namespace="ns2")
CLUSTER_WIDE = IN_NS1._replace(namespace="")

ORDERED = [
    Identity(version, kind, "ns1", name, "uid")
    for version, kind, name in (
        ("v1", "Bother", "a"),
        ("v1", "Bother", "b"),
        ("v2", "Bother", "a"),
        ("v1", "Cother", "a"),
        ("v1", "Cother", "b"),
    )
]


def child(namespace: str, *owners: Identity) -> Node:
    """A dependent that names these."""
    references = [Reference(one.api_version, one.kind, one.name, one.uid) for one in owners]
    return Node(Kind("v1", "Child"), namespace, "child", "c", references, Phase.LIVING)


@pytest.mark.parametrize("changed", [{"api_version": "v2"}, {"kind": "Other"}, {"name": "other"}])
def test_another_version_kind_or_name_is_tried(changed: dict[str, str]) -> None:
    other = IN_NS1._replace(**changed)

    assert _next_guess([child("ns1", IN_NS1), child("ns1", other)], IN_NS1) == other


def test_another_namespace_is_tried() -> None:
    assert _next_guess([child("ns1", IN_NS1), child("ns2", IN_NS2)], IN_NS1) == IN_NS2


@pytest.mark.parametrize("changed", [{"api_version": "v2"}, {"kind": "Other"}])
def test_another_version_or_kind_may_still_be_namespaced(changed: dict[str, str]) -> None:
    other = CLUSTER_WIDE._replace(**changed)

    found = _next_guess([child("ns1", CLUSTER_WIDE), child("ns1", other)], CLUSTER_WIDE)
    assert found == other._replace(namespace="ns1")


def test_a_cluster_scoped_kind_is_tried_in_no_other_namespace() -> None:
    assert _next_guess([child("ns1", CLUSTER_WIDE), child("ns2", CLUSTER_WIDE)], CLUSTER_WIDE) is None
    other = CLUSTER_WIDE._replace(name="other")
    assert _next_guess([child("ns1", CLUSTER_WIDE, other)], CLUSTER_WIDE) == other


@pytest.mark.parametrize("namespace", ["ns1", ""])
def test_guesses_are_tried_in_order_and_start_again_after_the_last(namespace: str) -> None:
    ordered = [one._replace(namespace=namespace) for one in ORDERED]
    dependent = child(namespace, *reversed(ordered))

    assert _next_guess([dependent], ordered[-2]) == ordered[-1]
    assert _next_guess([dependent], ordered[-1]) == ordered[0]


def test_references_to_others_and_to_itself_are_no_guesses() -> None:
    other = Identity("v1", "Parent", "ns1", "name", "another")

    assert _next_guess([child("ns1", IN_NS1, other, IN_NS1)], IN_NS1) is None


def test_a_guess_that_is_made_twice_is_one() -> None:
    other = CLUSTER_WIDE._replace(kind="Other")

    assert _next_guess([child("", CLUSTER_WIDE, other, other)], CLUSTER_WIDE) == other
