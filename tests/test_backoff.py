"""Backoff: waits grow, stay bounded, are jittered, and start over after a quiet time."""

from __future__ import annotations

import pytest

from kinformer.backoff import Backoff, jittered
from kinformer.clock import FakeClock


def never() -> float:
    return 0.0


def almost_one() -> float:
    return 0.999


def test_waits_grow_by_the_factor_up_to_the_maximum() -> None:
    backoff = Backoff(initial=1.0, maximum=10.0, factor=3.0, jitter=0.0, clock=FakeClock())

    assert [backoff.next() for _ in range(5)] == [1.0, 3.0, 9.0, 10.0, 10.0]


def test_the_defaults_are_those_of_a_reflector() -> None:
    backoff = Backoff(clock=FakeClock(), random=never)

    assert [backoff.next() for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_chance_adds_up_to_its_share_of_each_wait_without_being_compounded() -> None:
    backoff = Backoff(initial=1.0, maximum=4.0, jitter=0.5, clock=FakeClock(), random=almost_one)

    assert [backoff.next() for _ in range(4)] == pytest.approx([1.4995, 2.999, 5.998, 5.998])


def test_the_first_wait_is_the_initial_one_even_above_the_maximum() -> None:
    backoff = Backoff(initial=5.0, maximum=2.0, jitter=0.0, clock=FakeClock())

    assert [backoff.next(), backoff.next()] == [5.0, 2.0]


def test_without_a_factor_every_wait_is_the_same() -> None:
    backoff = Backoff(initial=5.0, factor=0.0, jitter=0.0, clock=FakeClock())

    assert [backoff.next(), backoff.next()] == [5.0, 5.0]


def test_a_backoff_unused_beyond_its_quiet_time_starts_over() -> None:
    clock = FakeClock()
    backoff = Backoff(initial=1.0, jitter=0.0, reset_after=120.0, clock=clock)
    assert [backoff.next(), backoff.next()] == [1.0, 2.0]

    clock.turn(120.0)
    assert backoff.next() == 4.0

    clock.turn(120.1)
    assert backoff.next() == 1.0


def test_asking_again_and_again_puts_off_the_quiet_time() -> None:
    clock = FakeClock()
    backoff = Backoff(initial=1.0, jitter=0.0, reset_after=120.0, clock=clock)

    waits = []
    for _ in range(7):
        waits.append(backoff.next())
        clock.turn(50.0)

    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_a_backoff_with_a_period_starts_over_once_a_period() -> None:
    clock = FakeClock()
    backoff = Backoff(initial=1.0, jitter=0.0, reset_after=None, reset_every=120.0, clock=clock)

    waits = []
    for _ in range(7):
        waits.append(backoff.next())
        clock.turn(50.0)

    assert waits == [1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0]


def test_reset_starts_over_at_once() -> None:
    backoff = Backoff(initial=1.0, jitter=0.0, clock=FakeClock())
    backoff.next()
    backoff.next()

    backoff.reset()

    assert backoff.next() == 1.0


def test_jitter_of_none_or_less_adds_nothing() -> None:
    assert jittered(3.0, 0.0, almost_one) == 3.0
    assert jittered(3.0, -1.0, almost_one) == 3.0
    assert 3.0 <= jittered(3.0, 1.0) < 6.0
