"""What becomes of claims when pods or their StatefulSet go."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kinformer_controllers.statefulset.retention import (
    deletes_on_scale_down,
    has_conflicting_controller,
    is_stale_for,
    owners_match,
    wanted_owners,
)
from tests.controllers.statefulset.objects import make_claim, make_pod, make_set, reference

RETAIN, DELETE = "Retain", "Delete"
POLICIES = list(itertools.product((RETAIN, DELETE), repeat=2))
OTHERS = [{"apiVersion": "v1", "kind": "Pod", "name": f"rand{number}", "uid": f"rand{number}"} for number in (1, 2)]
POD = make_pod(1)


def expected(policy: tuple[str, str], *, condemned: bool) -> str:
    """The kind of the owner that a claim is to have: by the table in Kubernetes' documentation."""
    scaled, deleted = policy
    if scaled == DELETE and condemned:
        return "Pod"
    return "StatefulSet" if deleted == DELETE else ""


@pytest.mark.parametrize("condemned", [False, True], ids=["stays", "is to go"])
@pytest.mark.parametrize("policy", POLICIES, ids="-".join)
@pytest.mark.parametrize("others", [[], OTHERS], ids=["alone", "with other owners"])
def test_a_claim_is_right_with_exactly_its_policys_owner(
    policy: tuple[str, str], condemned: bool, others: list[dict[str, Any]]
) -> None:
    statefulset = make_set(1 if condemned else 2, policy=policy)
    want = expected(policy, condemned=condemned)
    for of_pod, of_set in itertools.product((False, True), repeat=2):
        owners = [reference(POD)] * of_pod + [reference(statefulset)] * of_set
        claim = make_claim("data-web-1", *owners, *others)

        right = (of_pod, of_set) == (want == "Pod", want == "StatefulSet")
        assert owners_match(claim, statefulset, POD) is right

        mended = wanted_owners(claim, statefulset, POD)
        ours = [one for one in mended if one.uid in (POD.metadata.uid, statefulset.metadata.uid)]
        assert [one.kind for one in ours] == ([want] if want else [])
        assert all(one.controller and one.block_owner_deletion for one in ours)
        assert [one.name for one in mended if one not in ours] == [other["name"] for other in others]


@pytest.mark.parametrize("policy", POLICIES, ids="-".join)
def test_an_earlier_namesakes_claim_is_left_to_the_garbage_collector(
    policy: tuple[str, str],
) -> None:
    statefulset = make_set(policy=policy)

    for stale in (reference(statefulset, uid="earlier"), reference(POD, uid="earlier")):
        assert owners_match(make_claim("data-web-1", stale), statefulset, POD)


@pytest.mark.parametrize("policy", POLICIES[1:], ids="-".join)
def test_a_claim_that_something_else_controls_loses_our_owners_and_gets_none(policy: tuple[str, str]) -> None:
    statefulset = make_set(policy=policy)
    other = OTHERS[0] | {"controller": True}

    alone = make_claim("data-web-1", other)
    assert has_conflicting_controller(alone, statefulset, POD)
    assert owners_match(alone, statefulset, POD)

    shared = make_claim("data-web-1", other, reference(statefulset))
    assert not owners_match(shared, statefulset, POD)
    assert [one.name for one in wanted_owners(shared, statefulset, POD)] == ["rand1"]


def test_with_nothing_to_delete_any_controller_is_fine() -> None:
    claim = make_claim("data-web-1", OTHERS[0] | {"controller": True})

    assert not has_conflicting_controller(claim, make_set(policy=(RETAIN, RETAIN)), POD)
    assert not has_conflicting_controller(claim, make_set(), POD)


def test_owners_that_do_not_control_are_no_conflict() -> None:
    statefulset = make_set(policy=(DELETE, DELETE))

    assert not has_conflicting_controller(make_claim("c", *OTHERS), statefulset, POD)
    assert not has_conflicting_controller(make_claim("c", reference(statefulset), reference(POD)), statefulset, POD)
    for stale in (reference(statefulset, uid="earlier"), reference(POD, uid="earlier")):
        assert has_conflicting_controller(make_claim("c", stale), statefulset, POD)


def test_our_own_owner_that_does_not_control_is_mended() -> None:
    statefulset = make_set(policy=(RETAIN, DELETE))
    claim = make_claim("data-web-1", reference(statefulset, controller=False))

    assert not owners_match(claim, statefulset, POD)
    assert [one.controller for one in wanted_owners(claim, statefulset, POD)] == [True]


def test_a_policy_that_nobody_knows_deletes_nothing() -> None:
    statefulset = make_set(policy=("Shred", "Delete"))

    assert owners_match(make_claim(), statefulset, POD)
    assert not owners_match(make_claim("c", reference(statefulset)), statefulset, POD)
    assert wanted_owners(make_claim("c", reference(statefulset)), statefulset, POD) == []


def test_a_claim_is_stale_for_another_pod_than_its_owner() -> None:
    assert is_stale_for(make_claim("c", reference(POD, uid="earlier")), POD)
    assert is_stale_for(make_claim("c", reference(POD)), make_pod(1, uid=""))
    assert not is_stale_for(make_claim("c", reference(POD)), POD)
    assert not is_stale_for(make_claim("c", reference(make_pod(2), uid="earlier")), POD)
    assert not is_stale_for(make_claim("c"), POD)


@pytest.mark.parametrize(("policy", "deletes"), [(None, False), ((RETAIN, DELETE), False), ((DELETE, RETAIN), True)])
def test_claims_go_with_pods_only_where_the_policy_says_so(policy: tuple[str, str] | None, deletes: bool) -> None:
    assert deletes_on_scale_down(make_set(policy=policy)) is deletes
