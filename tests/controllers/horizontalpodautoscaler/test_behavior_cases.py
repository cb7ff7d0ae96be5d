"""Kubernetes' own cases of how fast a target may be scaled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from kinformer.models import V2HorizontalPodAutoscalerBehavior, from_dict
from kinformer_controllers.horizontalpodautoscaler.behavior import Change, History, limited_replicas

NOW = 10_000.0


class Rate(NamedTuple):
    """
    A case of TestScalingWithRules.

    :param up: policies, as ``Pods 2/60`` (in 60 seconds); empty for the defaults
    :param ups: changes that are spread over the last two minutes
    """

    current: int
    wanted: int
    limits: tuple[int, int]
    replicas: int
    reason: str
    up: str = ""
    down: str = ""
    ups: tuple[int, ...] = ()
    downs: tuple[int, ...] = ()


RATES = (
    Rate(5, 7, (3, 8), 7, "DesiredWithinRange"),
    Rate(3, 1, (2, 8), 2, "TooFewReplicas"),
    Rate(1, 0, (0, 10), 0, "DesiredWithinRange"),
    Rate(20, 1000, (1, 10), 10, "TooManyReplicas"),
    Rate(100, 1000, (100, 150), 150, "TooManyReplicas"),
    Rate(3, 1000, (1, 2000), 4, "ScaleUpLimit", up="Percent 1/60"),
    Rate(1000, 3, (3, 2000), 980, "ScaleDownLimit", down="Pods 20/60"),
    Rate(10, 50, (1, 1000), 20, "ScaleUpLimit"),
    Rate(10, 500, (1, 1000), 110, "ScaleUpLimit", up="Pods 100/60, Percent 100/60"),
    Rate(10, 500, (1, 1000), 20, "ScaleUpLimit", up="Pods 2/60, Percent 100/60"),
    Rate(10, 50, (1, 1000), 50, "DesiredWithinRange", up="Pods 100/60"),
    Rate(10, 50, (1, 1000), 50, "DesiredWithinRange", up="Pods 10000/60"),
    Rate(10, 50, (1, 1000), 40, "ScaleUpLimit", up="Pods 30/60"),
    Rate(10, 50, (1, 1000), 30, "ScaleUpLimit", up="Percent 200/60"),
    Rate(100, 2, (1, 1000), 80, "ScaleDownLimit", down="Pods 20/60, Percent 1/60"),
    Rate(100, 2, (1, 1000), 98, "ScaleDownLimit", down="Pods 2/60, Percent 1/60"),
    Rate(10, 0, (1, 1000), 1, "TooFewReplicas", down="Pods 100/60"),
    Rate(10, 2, (5, 1000), 5, "TooFewReplicas", down="Percent 100/60"),
    Rate(10, 2, (1, 1000), 5, "ScaleDownLimit", down="Pods 5/60"),
    Rate(10, 5, (1, 1000), 5, "DesiredWithinRange", down="Percent 50/60"),
    Rate(100, 500, (1, 200), 200, "TooManyReplicas", up="Pods 300/60", ups=(1, 5, 9)),
    Rate(100, 500, (1, 200), 200, "TooManyReplicas", up="Percent 10000/60", ups=(1, 5, 9)),
    Rate(100, 500, (1, 1000), 100, "ScaleUpLimit", up="Pods 5/120", ups=(1, 5, 9)),
    Rate(100, 500, (1, 1000), 235, "ScaleUpLimit", up="Pods 150/120", ups=(1, 5, 9)),
    Rate(100, 500, (1, 1000), 255, "ScaleUpLimit", up="Percent 200/120", ups=(1, 5, 9)),
    Rate(6, 24, (1, 1000), 16, "ScaleUpLimit", up="Percent 300/300", ups=(4,), downs=(2,)),
    Rate(10, 5, (1, 1000), 5, "DesiredWithinRange", downs=(1, 5, 9)),
    Rate(100, 0, (1, 1000), 1, "TooFewReplicas", down="Pods 115/120", downs=(1, 5, 9)),
    Rate(100, 0, (5, 1000), 5, "TooFewReplicas", down="Pods 130/120", downs=(1, 5, 9)),
    Rate(100, 2, (5, 1000), 5, "TooFewReplicas", down="Percent 100/120", downs=(1, 5, 9)),
    Rate(100, 2, (1, 1000), 100, "ScaleDownLimit", down="Pods 5/120", downs=(1, 5, 9)),
    Rate(100, 0, (1, 1000), 56, "ScaleDownLimit", down="Percent 50/120", downs=(2, 4, 6)),
    Rate(10, 1, (1, 1000), 6, "ScaleDownLimit", down="Percent 50/180", ups=(2,), downs=(4,)),
    Rate(100, 0, (1, 1000), 100, "ScaleDownLimit", down="Percent 10/120", downs=(10, 10, 10)),
    Rate(10, 5, (1, 1000), 5, "DesiredWithinRange", down="Percent 1000/120", downs=(10, 10, 10)),
    Rate(100, 200, (1, 1000), 200, "DesiredWithinRange", up="Pods 1000/60", ups=(8, 12, 9, 11)),
    Rate(100, 200, (1, 1000), 200, "DesiredWithinRange", up="Pods 1000/120, Percent 100/60", ups=(8, 12, 9, 11)),
    Rate(100, 200, (1, 1000), 200, "DesiredWithinRange", up="Pods 1000/30, Percent 100/60", ups=(8, 12, 9, 11)),
    Rate(100, 5, (1, 1000), 5, "DesiredWithinRange", down="Pods 1000/60", downs=(8, 12, 9, 11)),
    Rate(100, 5, (1, 1000), 5, "DesiredWithinRange", down="Pods 1000/120, Percent 100/60", downs=(8, 12, 9, 11)),
    Rate(100, 5, (1, 1000), 5, "DesiredWithinRange", down="Pods 1000/30, Percent 100/60", downs=(8, 12, 9, 11)),
)


def behavior(up: str, down: str, windows: tuple[int, int] = (0, 0)) -> V2HorizontalPodAutoscalerBehavior:
    def rules(policies: str, window: int) -> dict[str, Any]:
        found = []
        for policy in policies.split(", "):
            kind, _, rest = policy.partition(" ")
            value, _, period = rest.partition("/")
            found.append({"type": kind, "value": int(value), "periodSeconds": int(period)})
        return {"stabilizationWindowSeconds": window, "selectPolicy": "Max", "policies": found}

    sides = {"scaleUp": rules(up or "Pods 4/15, Percent 100/15", windows[0])}
    return from_dict(
        V2HorizontalPodAutoscalerBehavior, {**sides, "scaleDown": rules(down or "Percent 100/15", windows[1])}
    )


def spread(pods: Sequence[int]) -> list[Change]:
    """Changes in the middle of equal parts of the last two minutes."""
    part = 120 / len(pods) if pods else 0
    return [Change(count, NOW - 120 + part * (index + 0.5)) for index, count in enumerate(pods)]


@pytest.mark.parametrize("case", RATES, ids=str)
def test_policies_limit_a_change_as_in_kubernetes(case: Rate) -> None:
    found = limited_replicas(
        History([], spread(case.ups), spread(case.downs)),
        behavior(case.up, case.down),
        current=case.current,
        wanted=case.wanted,
        least=case.limits[0],
        most=case.limits[1],
        window=300.0,
        now=NOW,
    )

    assert (found.replicas, found.limit.reason) == (case.replicas, case.reason)


#: Recommendations and minutes ago, what is wanted at what size, windows up and down, the result, what is kept.
STABLE: tuple[tuple[str, int, int, tuple[int, int], int, str], ...] = (
    ("", 100, 5, (0, 0), 5, "5"),
    ("4@2 5@1", 100, 3, (0, 180), 5, "4 5 3"),
    ("4@2 5@1", 1, 7, (300, 0), 4, "4 5 7"),
    ("1@2 2@1", 100, 3, (300, 0), 3, "1 2 3"),
    ("4@2 5@1", 1, 3, (0, 300), 3, "4 5 3"),
    ("10@10 9@9", 100, 3, (0, 0), 3, "10 3"),
    ("10@10 9@9", 1, 100, (0, 0), 100, "10 100"),
    ("10@10 4@1 5@2 9@9", 100, 3, (0, 180), 5, "10 4 5 3"),
    ("10@100 6@1 5@2 9@3", 1, 100, (300, 0), 5, "100 6 5 9"),
    ("2@100 3@3", 2, 1, (300, 300), 2, "1 3"),
    ("2@100 1@3", 2, 3, (300, 300), 2, "3 1"),
)


def remembered(text: str) -> History:
    pairs = [one.split("@") for one in text.split()]
    return History([(int(replicas), NOW - 60 * int(minutes)) for replicas, minutes in pairs])


@pytest.mark.parametrize(("before", "current", "wanted", "windows", "replicas", "after"), STABLE)
def test_recommendations_stabilize_as_in_kubernetes(
    before: str, current: int, wanted: int, windows: tuple[int, int], replicas: int, after: str
) -> None:
    history, free = remembered(before), "Pods 1000/15"
    found = limited_replicas(
        history,
        behavior(free, free, windows),
        current=current,
        wanted=wanted,
        least=0,
        most=1000,
        window=300.0,
        now=NOW,
    )

    assert found.replicas == replicas
    assert [one for one, _ in history.recommendations] == [int(one) for one in after.split()]


@pytest.mark.parametrize(
    ("before", "replicas", "kept"),
    [
        ("", 5, "5"),
        ("4@2 5@1", 5, "4 5 3"),
        ("1@2 2@1", 3, "1 2 3"),
        ("10@10 9@9", 3, "10 3"),
        ("10@10 4@1 5@2 9@9", 5, "10 4 5 3"),
    ],
)
def test_the_highest_recommendation_counts_as_in_kubernetes(before: str, replicas: int, kept: str) -> None:
    history, wanted = remembered(before), 3 if before else 5
    found = limited_replicas(history, None, current=100, wanted=wanted, least=0, most=100, window=300.0, now=NOW)

    assert found.replicas == replicas
    assert [one for one, _ in history.recommendations] == [int(one) for one in kept.split()]


@pytest.mark.parametrize(
    ("before", "policies", "lately", "after"),
    [
        ("", "Pods 10/60, Percent 100/60", 0, "5"),
        ("7@61", "", 0, "7"),
        ("7@61", "Pods 10/60, Percent 100/60", 0, "5"),
        ("7@58", "Pods 10/60, Percent 100/60", 7, "7 5"),
        ("7@61 6@59", "Pods 10/60", 6, "5 6"),
        ("8@29 6@59 7@61 9@61", "Pods 10/60, Percent 100/30", 14, "8 6 7 5"),
        ("7@58 6@59", "Pods 10/120, Percent 100/30", 13, "7 6 5"),
    ],
)
@pytest.mark.parametrize("up", [True, False])
def test_changes_are_noted_as_in_kubernetes(before: str, policies: str, lately: int, after: str, up: bool) -> None:
    pairs = [one.split("@") for one in before.split()]
    changes = [Change(int(pods), NOW - int(seconds)) for pods, seconds in pairs]
    history = History(ups=changes) if up else History(downs=changes)
    rules = behavior(policies, policies) if policies else None
    least_change = behavior("Pods 1000/60", "Pods 1000/60")
    # What was changed in the last minute is what the policy does not allow any more.
    wanted = 5000 if up else 0
    found = limited_replicas(
        history, least_change, current=2000, wanted=wanted, least=0, most=5000, window=0.0, now=NOW
    )
    assert abs(found.replicas - 2000) == 1000 - lately

    history.scaled(rules, 10, 15 if up else 5, NOW)

    assert [change.pods for change in (history.ups if up else history.downs)] == [int(one) for one in after.split()]
