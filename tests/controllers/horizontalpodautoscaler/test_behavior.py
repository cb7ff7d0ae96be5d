"""How fast a target may be scaled."""

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


def test_without_a_behavior_a_target_at_most_doubles() -> None:
    assert limited(History(), 1, 50, now=0)[0] == 4
    found = limited(History(), 10, 50, now=0)

    assert (found.replicas, found.is_limited, found.limit.reason) == (20, True, "ScaleUpLimit")
    assert limited(History(), 10, 50, now=0, most=15).limit.reason == "TooManyReplicas"
    assert limited(History(), 10, 0, now=0, least=2).limit.reason == "TooFewReplicas"
    assert limited(History(), 10, 12, now=0).limit.reason == "DesiredWithinRange"


def test_the_highest_recommendation_of_the_window_counts_before_scaling_down() -> None:
    history = History()
    history.begin(10, 0)

    assert limited(history, 10, 2, now=100).able.reason == "ScaleDownStabilized"
    assert limited(history, 10, 4, now=299).replicas == 10
    assert limited(history, 10, 3, now=301).replicas == 4
    assert limited(history, 4, 3, now=600).replicas == 3


def test_a_window_for_scaling_up_takes_the_lowest_recommendation() -> None:
    slow = behavior(up=rules(stabilizationWindowSeconds=60))
    history = History()
    history.begin(4, 0)

    assert limited(history, 4, 8, now=10, behavior=slow).able.reason == "ScaleUpStabilized"
    assert limited(history, 4, 6, now=59, behavior=slow).replicas == 4
    assert limited(history, 4, 7, now=61, behavior=slow).replicas == 6
    assert limited(history, 6, 7, now=200, behavior=slow).able.reason == "ReadyForNewScale"


@pytest.mark.parametrize(
    ("policies", "select", "replicas"),
    [
        ([("Pods", 4)], "Max", 14),
        ([("Percent", 25)], "Max", 13),
        ([("Percent", 25), ("Pods", 4)], "Max", 14),
        ([("Percent", 25), ("Pods", 4)], "Min", 13),
        ([("Pods", 4)], "Disabled", 10),
    ],
)
def test_policies_limit_how_many_pods_are_added(policies: list[tuple[str, int]], select: str, replicas: int) -> None:
    up = rules(
        selectPolicy=select,
        policies=[{"type": type_, "value": value, "periodSeconds": 60} for type_, value in policies],
    )

    assert limited(History(), 10, 50, now=0, behavior=behavior(up=up)).replicas == replicas


@pytest.mark.parametrize(
    ("policies", "select", "replicas"),
    [
        ([("Pods", 4)], "Max", 6),
        ([("Percent", 25)], "Max", 7),
        ([("Percent", 25), ("Pods", 4)], "Max", 6),
        ([("Percent", 25), ("Pods", 4)], "Min", 7),
        ([("Pods", 4)], "Disabled", 10),
    ],
)
def test_policies_limit_how_many_pods_go(policies: list[tuple[str, int]], select: str, replicas: int) -> None:
    down = rules(
        selectPolicy=select,
        policies=[{"type": type_, "value": value, "periodSeconds": 60} for type_, value in policies],
    )

    assert limited(History(), 10, 1, now=0, behavior=behavior(down=down)).replicas == replicas


def test_a_policy_counts_what_was_changed_within_its_period() -> None:
    steps = behavior(up=rules(policies=[{"type": "Pods", "value": 4, "periodSeconds": 60}]))
    history = History()
    history.scaled(steps, 10, 13, 0)

    assert limited(history, 13, 50, now=30, behavior=steps).replicas == 14
    assert limited(history, 14, 50, now=60, behavior=steps).replicas == 18
    history.scaled(steps, 14, 12, 70)  # two pods less count as two that may be added
    assert limited(history, 12, 50, now=80, behavior=steps).replicas == 18


def test_the_history_does_not_grow() -> None:
    history, steps = History(), behavior()
    for second in range(0, 3000, 10):
        limited(history, 10, 10 + second % 7, now=second)
        history.scaled(steps, 10, 11, second)

    assert len(history.recommendations) <= 32
    assert len(history.ups) <= 3
