from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.models import V1Taint, V1Toleration
from kinformer_controllers.tainteviction.decision import Eviction, decide

NOW = 1000.0


def taints(*keys: str) -> list[V1Taint]:
    return [V1Taint(key=key, effect="NoExecute") for key in keys]


def tolerated(key: str, seconds: int | None = None) -> V1Toleration:
    return V1Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


def test_a_pod_of_a_node_without_taints_stays() -> None:
    assert decide("u", None, [], None, NOW) is None
    assert decide("u", None, [], Eviction("u", 0, 2000), NOW) is None


def test_a_pod_that_tolerates_nothing_leaves_at_once() -> None:
    assert decide("u", None, taints("a"), None, NOW) == Eviction("u", NOW, NOW)


def test_a_pod_that_tolerates_one_of_two_taints_leaves_at_once() -> None:
    assert decide("u", [tolerated("a", 60)], taints("a", "b"), None, NOW) == Eviction("u", NOW, NOW)


def test_a_pod_that_tolerates_for_ever_stays() -> None:
    assert decide("u", [tolerated("a")], taints("a"), None, NOW) is None


@pytest.mark.parametrize(("seconds", "want"), [((60,), 60), ((60, 30), 30), ((None, 30), 30), ((0, 60), 0), ((-5,), 0)])
def test_a_pod_leaves_after_the_shortest_time_that_it_tolerates(seconds: tuple[int | None, ...], want: float) -> None:
    keys = [f"t{number}" for number in range(len(seconds))]
    tolerations = [tolerated(key, each) for key, each in zip(keys, seconds, strict=True)]

    assert decide("u", tolerations, taints(*keys), None, NOW) == Eviction("u", NOW, NOW + want)


@pytest.mark.parametrize("seconds", [0, 10, 50, 500])
def test_a_waiting_pod_keeps_its_time_whatever_else_it_tolerates(seconds: int) -> None:
    waiting = Eviction("u", NOW - 10, NOW + 50)

    assert decide("u", [tolerated("a", 60), tolerated("b", seconds)], taints("a", "b"), waiting, NOW) is waiting


def test_a_waiting_pod_leaves_at_once_for_an_untolerated_taint() -> None:
    waiting = Eviction("u", NOW - 10, NOW + 50)

    assert decide("u", [tolerated("a", 60)], taints("a", "b"), waiting, NOW) == Eviction("u", NOW, NOW)


def test_a_pod_that_waits_stays_once_it_tolerates_for_ever() -> None:
    assert decide("u", [tolerated("a")], taints("a"), Eviction("u", NOW - 10, NOW + 50), NOW) is None


def test_what_was_decided_in_this_very_moment_is_replaced() -> None:
    waiting = Eviction("u", NOW, NOW + 60)

    assert decide("u", [tolerated("a", 60)], taints("a"), waiting, NOW) is waiting
    assert decide("u", [tolerated("a", 20)], taints("a"), waiting, NOW) == Eviction("u", NOW, NOW + 20)


def test_a_deletion_that_failed_is_due_still() -> None:
    waiting = Eviction("u", NOW - 10, NOW - 5)

    assert decide("u", None, taints("a"), waiting, NOW) is waiting
    assert decide("u", [tolerated("a", 60)], taints("a"), waiting, NOW) is waiting


@given(
    st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.none() | st.integers(-1, 100)),
    st.none() | st.tuples(st.floats(0, NOW), st.floats(0, 200)),
)
def test_nobody_waits_longer_than_it_tolerates_or_without_need(
    keys: list[str], tolerations: dict[str, int | None], waits: tuple[float, float] | None
) -> None:
    waiting = Eviction("u", waits[0], waits[0] + waits[1]) if waits is not None else None
    found = decide("u", [tolerated(*each) for each in tolerations.items()], taints(*keys), waiting, NOW)

    limits = [tolerations[key] for key in keys if tolerations.get(key) is not None]
    if not set(keys) <= set(tolerations):
        assert found is not None
        assert found.due <= NOW
    elif not limits:
        assert found is None
    else:
        assert found is not None
        assert found is waiting or found.due == NOW + max(min(limit for limit in limits if limit is not None), 0)
