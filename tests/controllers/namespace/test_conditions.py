"""The conditions of a terminating namespace."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from kinformer.meta import GroupResource
from kinformer.models import V1NamespaceCondition
from kinformer_controllers.namespace.conditions import Condition, Findings, conditions_of, updated

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE = NOW - timedelta(hours=1)


def condition(type_: str, status: str = "False", reason: str = "r", message: str = "m") -> V1NamespaceCondition:
    return V1NamespaceCondition(type=type_, status=status, reason=reason, message=message, last_transition_time=BEFORE)


def said(found: Findings) -> dict[str, str]:
    return {one.type: one.message for one in conditions_of(found) if one.status == "True"}


def test_where_nothing_stands_in_the_way_all_five_say_so() -> None:
    conditions = conditions_of(Findings())

    assert [one.status for one in conditions] == ["False"] * 5
    assert [one.type for one in conditions] == [
        "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceDeletionContentFailure",
        "NamespaceContentRemaining",
        "NamespaceFinalizersRemaining",
    ]


def test_what_is_left_is_said_in_an_order_that_does_not_change() -> None:
    remaining = {GroupResource("apps", "deployments"): 2, GroupResource("", "secrets"): 1, GroupResource("x", "y"): 0}
    found = Findings(remaining=remaining, finalizers=Counter({"b": 1, "a": 3}), failures=["two", "one"])

    assert said(found) == {
        "NamespaceDeletionContentFailure": "Failed to delete all resource types, 2 remaining: one, two",
        "NamespaceContentRemaining": (
            "Some resources are remaining: deployments.apps has 2 resource instances, secrets. has 1 resource instances"
        ),
        "NamespaceFinalizersRemaining": (
            "Some content in the namespace has finalizers remaining: a in 3 resource instances, "
            "b in 1 resource instances"
        ),
    }


def test_finalizers_are_said_also_without_the_objects_that_have_them() -> None:
    assert list(said(Findings(finalizers=Counter({"a": 1})))) == ["NamespaceFinalizersRemaining"]


def test_conditions_of_others_stay_and_those_that_are_there_keep_their_place() -> None:
    there = [condition("Other", "True"), condition("B"), condition("A")]
    found = updated(there, [Condition("A", "True", "x", "y"), Condition("B", "False", "r", "m")], NOW)

    assert found is not None
    assert [one.type for one in found] == ["Other", "B", "A"]
    assert found[0] is there[0]
    assert found[1] is there[1]
    assert (found[2].status, found[2].reason, found[2].message) == ("True", "x", "y")
    assert there[2].status == "False"


def test_the_time_is_that_of_the_last_change_of_the_status() -> None:
    for status, since in (("False", BEFORE), ("True", NOW)):
        found = updated([condition("A")], [Condition("A", status, "other", "m")], NOW)
        assert found is not None
        assert found[0].last_transition_time == since


def test_a_condition_that_was_not_there_begins_now() -> None:
    found = updated([], [Condition("A", "False", "r", "m")], NOW)

    assert found is not None
    assert found[0].last_transition_time == NOW


def test_where_all_is_said_already_there_is_nothing_to_write() -> None:
    assert updated([condition("A")], [Condition("A", "False", "r", "m")], NOW) is None
