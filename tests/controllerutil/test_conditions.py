from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.controllerutil.conditions import conditions_patch
from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch import strategic_merge_patch
from kinformer.models import V1Condition, V1PodCondition
from kinformer.operator import get_condition, is_condition_true, set_condition, without_condition

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def ready(conditions: list[V1Condition] | None, status: bool | None, now: datetime = NOW, **more: Any) -> Any:
    return set_condition(conditions, "Ready", status, **{"reason": "Because", "now": now, **more})


def test_a_new_condition_comes_last_with_whole_seconds_as_its_time() -> None:
    other = V1Condition(type="Other", status="True", reason="R", message="", last_transition_time=NOW)

    conditions = ready([other], True, NOW.replace(microsecond=5), message="all is well", observed_generation=3)

    assert conditions == [
        other,
        V1Condition(
            type="Ready",
            status="True",
            reason="Because",
            message="all is well",
            observed_generation=3,
            last_transition_time=NOW,
        ),
    ]


@pytest.mark.parametrize(("status", "said"), [(True, "True"), (False, "False"), (None, "Unknown")])
def test_a_status_is_yes_no_or_not_known(status: bool | None, said: str) -> None:
    assert ready(None, status)[0].status == said


def test_a_condition_whose_status_stays_keeps_its_time_and_its_place() -> None:
    before = set_condition(ready(None, True), "Other", True, reason="R", now=NOW)

    after = ready(before, True, NOW + timedelta(hours=1), reason="Still", message="still", observed_generation=2)

    assert [found.type for found in after] == ["Ready", "Other"]
    assert after[0].reason == "Still"
    assert (after[0].last_transition_time, after[0].message, after[0].observed_generation) == (NOW, "still", 2)


def test_a_condition_whose_status_changes_has_the_time_of_that() -> None:
    assert ready(ready(None, True), False, NOW + timedelta(hours=1))[0].last_transition_time == NOW + timedelta(hours=1)


def test_to_say_the_same_again_gives_an_equal_list() -> None:
    before = ready(None, True)

    assert ready(before, True, NOW + timedelta(hours=1)) == before


def test_the_list_that_was_given_stays_as_it_is() -> None:
    before = ready(None, True)

    ready(before, False)

    assert before == ready(None, True)


def test_a_time_without_a_zone_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"condition Ready has the time .* without a zone: want context\.clock\.now\(\)"
    ):
        ready(None, True, NOW.replace(tzinfo=None))


@pytest.mark.parametrize("reason", ["", "two words", "1st", "full.stop"])
def test_a_reason_that_the_api_would_refuse_is_an_error(reason: str) -> None:
    with pytest.raises(ValueError, match="want a word in CamelCase"):
        ready(None, True, reason=reason)


def test_conditions_of_other_kinds_can_be_looked_for_as_well() -> None:
    conditions = [V1PodCondition(type="Ready", status="True"), V1PodCondition(type="Other", status="False")]

    assert get_condition(conditions, "Other") is conditions[1]
    assert get_condition(None, "Other") is None
    assert is_condition_true(conditions, "Ready")
    assert not is_condition_true(conditions, "Other")
    assert not is_condition_true(conditions, "Missing")
    assert without_condition(conditions, "Ready") == conditions[1:]


def test_a_patch_leaves_conditions_in_their_places_and_new_ones_follow() -> None:
    there = [V1PodCondition(type="Ready", status="True"), V1PodCondition(type="PodScheduled", status="True")]
    written = [{"type": "New", "status": "True"}, {"type": "Ready", "status": "False"}]

    patch = {"status": conditions_patch(there, written)}
    pod = {"status": {"conditions": [{"type": each.type, "status": each.status} for each in there]}}

    assert strategic_merge_patch(pod, patch, GroupVersionKind("", "v1", "Pod"))["status"]["conditions"] == [
        {"type": "Ready", "status": "False"},
        {"type": "PodScheduled", "status": "True"},
        {"type": "New", "status": "True"},
    ]
