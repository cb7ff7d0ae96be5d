from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kinformer.controllerutil.conditions import get_condition, put_condition, without_condition
from kinformer.models import V1ReplicationControllerCondition

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def condition(
    type_: str, reason: str = "", message: str = "", status: str = "True", since: datetime = NOON
) -> V1ReplicationControllerCondition:
    return V1ReplicationControllerCondition(
        type=type_, status=status, reason=reason, message=message, last_transition_time=since
    )


def test_one_is_found_by_its_type() -> None:
    conditions = [condition("A"), condition("B")]

    assert get_condition(conditions, "B") is conditions[1]
    assert get_condition(conditions, "C") is None
    assert get_condition(None, "A") is None


def test_a_changed_condition_replaces_its_type_and_leaves_the_list_alone() -> None:
    conditions = [condition("A", "Old"), condition("B")]

    assert put_condition(conditions, condition("A", "New")) == [condition("B"), condition("A", "New")]
    assert conditions[0].reason == "Old"
    assert put_condition(None, condition("A")) == [condition("A")]


def test_one_that_says_the_same_is_left_as_it_was() -> None:
    assert put_condition([condition("A", "Why", "first")], condition("A", "Why", "second")) == [
        condition("A", "Why", "first")
    ]


def test_one_can_be_taken_out() -> None:
    assert without_condition([condition("A"), condition("B")], "A") == [condition("B")]
    assert without_condition(None, "A") == []


def test_one_whose_status_stays_keeps_the_time_of_its_last_transition() -> None:
    later = NOON + timedelta(hours=1)

    (kept,) = put_condition([condition("A", "Old")], condition("A", "New", since=later))
    (turned,) = put_condition([condition("A", "Old")], condition("A", "New", status="False", since=later))

    assert (kept.reason, kept.last_transition_time) == ("New", NOON)
    assert (turned.reason, turned.last_transition_time) == ("New", later)
