from __future__ import annotations

import pytest

from kinformer.models import V1Taint, V1Toleration
from kinformer.placement.taints import find_untolerated, matching_tolerations, min_toleration_seconds


def test_what_merely_advises_against_keeps_nobody_away() -> None:
    taints = [V1Taint(key="a", effect="PreferNoSchedule"), V1Taint(key="b", effect="NoSchedule")]

    assert find_untolerated(taints, None) is taints[1]
    assert find_untolerated(taints, [V1Toleration(key="b", operator="Exists")]) is None
    assert find_untolerated(None, None) is None


def test_each_taint_gets_its_first_toleration_or_none() -> None:
    taints = [V1Taint(key="a", effect="NoExecute"), V1Taint(key="b", effect="NoExecute")]
    everything, only_a = V1Toleration(operator="Exists"), V1Toleration(key="a", operator="Exists")

    assert matching_tolerations(taints, [only_a, everything]) == [only_a, everything]
    assert matching_tolerations(taints, [only_a]) is None
    assert matching_tolerations([], None) == []


def test_comparisons_tolerate_nothing() -> None:
    taint = V1Taint(key="a", value="5", effect="NoExecute")

    assert find_untolerated([taint], [V1Toleration(key="a", operator="Gt", value="3")]) is taint


def test_the_shortest_time_counts_and_none_below_zero() -> None:
    assert min_toleration_seconds([]) == 0
    assert min_toleration_seconds([V1Toleration(), V1Toleration(toleration_seconds=30)]) == 30
    assert min_toleration_seconds([V1Toleration(toleration_seconds=-5), V1Toleration(toleration_seconds=30)]) == 0
    assert min_toleration_seconds([V1Toleration()]) is None


@pytest.mark.parametrize(
    ("seconds", "tolerated"),
    [(9223372036, 9223372036), (9223372037, None), (10**10, None), (2**63 - 1, None), (18446744074, 0)],
)
def test_a_toleration_of_more_than_292_years_wraps_around_as_in_go(seconds: int, tolerated: int | None) -> None:
    assert min_toleration_seconds([V1Toleration(toleration_seconds=seconds)]) == tolerated
