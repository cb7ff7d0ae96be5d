"""When autoscalers are evaluated."""

from __future__ import annotations

import pytest

from kinformer.clock import FakeClock
from kinformer_controllers.horizontalpodautoscaler.turns import Turns


def test_an_autoscaler_among_few_waits_for_one_period() -> None:
    turns = Turns(15.0, {"few": False}.__getitem__, FakeClock())

    assert turns.when("few/a") == turns.when("few/b") == 15.0


def test_autoscalers_of_one_namespace_are_due_at_one_time() -> None:
    clock = FakeClock()
    turns = Turns(15.0, lambda namespace: True, clock)
    first = clock.monotonic() + turns.when("ns/a")

    clock.turn(4.0)
    again = clock.monotonic() + turns.when("ns/b")
    clock.turn(again - clock.monotonic())

    assert again - first in (pytest.approx(0.0), pytest.approx(15.0))
    assert turns.when("ns/a") == pytest.approx(15.0)
    assert turns.when("other/a") != pytest.approx(15.0)


def test_one_that_is_late_waits_for_the_turn_after() -> None:
    clock = FakeClock()
    turns = Turns(15.0, lambda namespace: True, clock)

    clock.turn(turns.when("ns/a") + 14.0)

    assert turns.when("ns/a") == pytest.approx(16.0)
