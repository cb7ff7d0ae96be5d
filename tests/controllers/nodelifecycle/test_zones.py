from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.models import V1NodeCondition
from kinformer_controllers.nodelifecycle.zones import Disruption, Rates, ZoneState, zone_state

RATES = Rates(normal=0.1, secondary=0.01, large=50)
NORMAL, PARTIAL, FULL = ZoneState.NORMAL, ZoneState.PARTIAL, ZoneState.FULL


def conditions(ready: int, not_ready: int, none: int = 0) -> list[V1NodeCondition | None]:
    there = [V1NodeCondition(type="Ready", status="True")] * ready
    return [*there, *[V1NodeCondition(type="Ready", status="Unknown")] * not_ready, *[None] * none]


@pytest.mark.parametrize(
    ("ready", "not_ready", "none", "want"),
    [
        (1, 0, 0, NORMAL),
        (0, 1, 0, FULL),
        (0, 0, 1, FULL),
        (1, 2, 0, NORMAL),  # three nodes at least make a part
        (1, 3, 0, PARTIAL),
        (1, 2, 1, PARTIAL),
        (9, 11, 0, PARTIAL),  # 55 %
        (46, 54, 0, NORMAL),
        (45, 55, 0, PARTIAL),
        (0, 100, 0, FULL),
    ],
)
def test_a_zones_state_follows_the_share_of_unready_nodes(
    ready: int, not_ready: int, none: int, want: ZoneState
) -> None:
    assert zone_state(conditions(ready, not_ready, none), 0.55) == (not_ready + none, want)


def test_a_zone_that_is_seen_for_the_first_time_gets_its_rate() -> None:
    disruption = Disruption(RATES)

    step = disruption.step({"a": (NORMAL, 3), "b": (PARTIAL, 3), "c": (PARTIAL, 51), "d": (FULL, 3)})

    assert step.rates == {"a": 0.1, "b": 0.0, "c": 0.01, "d": 0.1}
    assert (step.stopped, step.resumed) == (False, False)


def test_only_the_rate_of_a_zone_whose_state_changes_is_set() -> None:
    disruption = Disruption(RATES)
    disruption.step({"a": (NORMAL, 60), "b": (NORMAL, 60)})

    assert disruption.step({"a": (NORMAL, 60), "b": (PARTIAL, 60)}).rates == {"b": 0.01}
    assert disruption.step({"a": (NORMAL, 60), "b": (PARTIAL, 40)}).rates == {}
    assert disruption.step({"a": (NORMAL, 60), "b": (FULL, 40)}).rates == {"b": 0.1}
    assert disruption.step({"a": (NORMAL, 60), "b": (NORMAL, 40)}).rates == {"b": 0.1}


def test_everything_stops_when_all_zones_are_dark() -> None:
    disruption = Disruption(RATES)
    disruption.step({"a": (NORMAL, 3), "b": (FULL, 3)})

    step = disruption.step({"a": (FULL, 3), "b": (FULL, 3)})
    assert step.stopped
    assert step.rates == {"a": 0.0, "b": 0.0}

    again = disruption.step({"a": (FULL, 3), "b": (FULL, 3)})
    assert (again.stopped, again.resumed, again.rates) == (False, False, {})


def test_all_rates_are_set_when_one_zone_comes_back() -> None:
    disruption = Disruption(RATES)
    disruption.step({"a": (NORMAL, 3), "b": (NORMAL, 100)})
    disruption.step({"a": (FULL, 3), "b": (FULL, 100)})

    step = disruption.step({"a": (FULL, 3), "b": (PARTIAL, 100)})

    assert step.resumed
    assert step.rates == {"a": 0.1, "b": 0.01}


def test_a_cluster_that_is_dark_from_the_start_is_stopped_at_once() -> None:
    disruption = Disruption(RATES)
    disruption.add_zone("a")

    assert disruption.step({"a": (FULL, 3)}).stopped


def test_a_zone_without_nodes_is_forgotten() -> None:
    disruption = Disruption(RATES)
    disruption.step({"a": (NORMAL, 3), "b": (FULL, 3)})

    assert list(disruption.step({"a": (NORMAL, 3)}).gone) == ["b"]
    assert disruption.states == {"a": NORMAL}
    assert disruption.step({}).gone == ["a"]
    assert disruption.states == {}
    assert not disruption.step({}).stopped


def test_a_dark_zone_that_is_left_alone_by_the_others_stops_everything() -> None:
    disruption = Disruption(RATES)
    disruption.step({"a": (NORMAL, 3), "b": (FULL, 3)})

    # The zone that was ready has no nodes any more: none of those that count reports, as none did in its zone before.
    step = disruption.step({"b": (FULL, 3)})

    assert (step.stopped, step.rates) == (False, {})


def test_a_zone_joining_dark_ones_does_not_resume_them_as_upstream() -> None:
    disruption = Disruption(RATES)
    disruption.step({"a": (FULL, 3)})

    step = disruption.step({"a": (FULL, 3), "new": (NORMAL, 3)})

    assert (step.resumed, step.rates) == (False, {"new": 0.1})


ZONES = st.dictionaries(st.sampled_from("abc"), st.tuples(st.sampled_from([NORMAL, PARTIAL, FULL]), st.integers(1, 99)))


@given(st.lists(ZONES, max_size=8))
def test_in_any_order_of_states_the_rates_follow_each_change(
    passes: list[dict[str, tuple[ZoneState, int]]],
) -> None:
    disruption = Disruption(RATES)
    before: dict[str, ZoneState] = {}
    rates: dict[str, float] = {}
    want: dict[str, float] = {}
    for found in passes:
        before = {zone: before.get(zone, ZoneState.INITIAL) for zone in found}
        after = {zone: state for zone, (state, _) in found.items()}
        was_dark, is_dark = set(before.values()) <= {FULL}, set(after.values()) <= {FULL}
        for zone, (state, size) in found.items():
            if is_dark and not was_dark:
                want[zone] = 0.0
            elif not is_dark and (was_dark or before[zone] is not state):
                want[zone] = (0.01 if size > 50 else 0.0) if state is PARTIAL else 0.1
        step = disruption.step(found)
        rates.update(step.rates)
        before = after

        assert rates == want
        assert disruption.states == after
        assert (step.stopped, step.resumed) == (is_dark and not was_dark, was_dark and not is_dark)
