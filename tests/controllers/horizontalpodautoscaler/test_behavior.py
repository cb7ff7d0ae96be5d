"""How fast a target may be scaled, beside the cases of Kubernetes in `test_behavior_cases.py`."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V2HorizontalPodAutoscalerBehavior, from_dict
from kinformer_controllers.horizontalpodautoscaler.behavior import History, Limited, limited_replicas


def rules(**fields: Any) -> dict[str, Any]:
    defaults = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }
    return {**defaults, **fields}


def behavior(up: dict[str, Any] | None = None, down: dict[str, Any] | None = None) -> V2HorizontalPodAutoscalerBehavior:
    return from_dict(V2HorizontalPodAutoscalerBehavior, {"scaleUp": up or rules(), "scaleDown": down or rules()})


def by_the_minute(policies: list[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"type": type_, "value": value, "periodSeconds": 60} for type_, value in policies]


def limited(
    history: History, current: int, wanted: int, *, now: float, behavior: Any = None, least: int = 1, most: int = 100
) -> Limited:
    return limited_replicas(
        history, behavior, current=current, wanted=wanted, least=least, most=most, window=300.0, now=now
    )


def test_without_a_behavior_a_target_grows_to_four_or_twice_as_many() -> None:
    assert [limited(History(), current, 50, now=0).replicas for current in (1, 2, 10)] == [4, 4, 20]


def test_a_window_for_scaling_up_takes_the_lowest_recommendation() -> None:
    slow = behavior(up=rules(stabilizationWindowSeconds=60))
    history = History()
    history.begin(4, 0)

    assert limited(history, 4, 8, now=10, behavior=slow).able.reason == "ScaleUpStabilized"
    assert limited(history, 4, 6, now=59, behavior=slow).replicas == 4
    assert limited(history, 4, 7, now=61, behavior=slow).replicas == 6
    assert limited(history, 6, 7, now=200, behavior=slow).able.reason == "ReadyForNewScale"


@pytest.mark.parametrize(("select", "up", "down"), [("Max", 14, 6), ("Min", 13, 7), ("Disabled", 10, 10)])
def test_of_several_policies_the_selected_one_limits(select: str, up: int, down: int) -> None:
    side = rules(selectPolicy=select, policies=by_the_minute([("Percent", 25), ("Pods", 4)]))
    both = behavior(up=side, down=side)

    assert limited(History(), 10, 50, now=0, behavior=both).replicas == up
    assert limited(History(), 10, 1, now=0, behavior=both).replicas == down


def test_a_policy_counts_what_was_changed_within_its_period() -> None:
    steps = behavior(up=rules(policies=[{"type": "Pods", "value": 4, "periodSeconds": 60}]))
    history = History()
    history.scaled(steps, 10, 13, 0)

    assert limited(history, 13, 50, now=30, behavior=steps).replicas == 14
    assert limited(history, 14, 50, now=60, behavior=steps).replicas == 18
    history.scaled(steps, 14, 12, 70)  # two pods less count as two that may be added
    assert limited(history, 12, 50, now=80, behavior=steps).replicas == 18
