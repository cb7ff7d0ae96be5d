from __future__ import annotations

import pytest

from kinformer.clock import FakeClock
from kinformer_controllers.shared.owning.expectations import EXPECTATIONS_TIMEOUT, Expectations, UIDTrackingExpectations

KEY = "ns/web"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_controller_that_never_expected_anything_may_act(clock: FakeClock) -> None:
    assert Expectations(clock).satisfied(KEY)


def test_a_controller_waits_until_every_creation_was_seen(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect_creations(KEY, 2)

    expectations.creation_observed(KEY)
    assert not expectations.satisfied(KEY)
    expectations.creation_observed(KEY)
    assert expectations.satisfied(KEY)


def test_a_creation_that_nobody_expected_does_not_make_up_for_a_deletion(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(KEY, creations=1, deletions=1)

    expectations.creation_observed(KEY)
    expectations.creation_observed(KEY)

    assert not expectations.satisfied(KEY)


def test_what_was_expected_is_forgotten_after_five_minutes_and_not_before(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect_creations(KEY, 1)

    assert EXPECTATIONS_TIMEOUT == 300
    clock.turn(EXPECTATIONS_TIMEOUT)
    assert not expectations.satisfied(KEY)
    clock.turn(0.001)
    assert expectations.satisfied(KEY)


def test_expecting_anew_starts_the_waiting_time_anew_and_raising_does_not(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect_creations(KEY, 1)
    clock.turn(200)
    expectations.raise_(KEY, creations=1)
    clock.turn(101)
    assert expectations.satisfied(KEY)

    expectations.expect_creations(KEY, 1)
    assert not expectations.satisfied(KEY)


def test_each_controller_waits_for_its_own(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect_creations(KEY, 1)

    expectations.creation_observed("ns/other")

    assert not expectations.satisfied(KEY)
    assert expectations.satisfied("ns/other")
    assert expectations.get("ns/other") is None


def test_a_deletion_that_is_seen_twice_is_crossed_off_once(clock: FakeClock) -> None:
    expectations = UIDTrackingExpectations(clock)
    expectations.expect_deletions(KEY, ["ns/a", "ns/b"])

    expectations.deletion_observed(KEY, "ns/a")
    expectations.deletion_observed(KEY, "ns/a")
    assert not expectations.satisfied(KEY)
    assert expectations.awaited_deletions(KEY) == {"ns/b"}

    expectations.deletion_observed(KEY, "ns/b")
    assert expectations.satisfied(KEY)


def test_a_deletion_that_nobody_awaits_changes_nothing(clock: FakeClock) -> None:
    expectations = UIDTrackingExpectations(clock)
    expectations.expect_deletions(KEY, ["ns/a"])

    expectations.deletion_observed(KEY, "ns/z")

    assert not expectations.satisfied(KEY)


def test_a_controller_made_anew_under_its_old_name_starts_clean(clock: FakeClock) -> None:
    expectations = UIDTrackingExpectations(clock)
    expectations.expect_deletions(KEY, ["ns/a"])

    expectations.forget(KEY)

    assert expectations.satisfied(KEY)
    assert expectations.awaited_deletions(KEY) == frozenset()
