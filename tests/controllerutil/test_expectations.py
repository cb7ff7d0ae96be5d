from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from kinformer.clock import FakeClock
from kinformer.controllerutil.expectations import EXPECTATIONS_TIMEOUT, Expectations
from kinformer.controllerutil.owning import OwnerId

OWNER = OwnerId("ns/web", "u1")
OTHER = OwnerId("ns/other", "u2")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_controller_that_never_expected_anything_may_act(clock: FakeClock) -> None:
    assert Expectations(clock).satisfied(OWNER)


def test_a_controller_waits_until_every_creation_was_seen(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, creations=2)

    expectations.creation_observed(OWNER)
    assert not expectations.satisfied(OWNER)
    expectations.creation_observed(OWNER)
    assert expectations.satisfied(OWNER)


def test_a_creation_that_nobody_expected_does_not_make_up_for_a_deletion(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, creations=1, deletions=1)

    expectations.creation_observed(OWNER)
    expectations.creation_observed(OWNER)

    assert not expectations.satisfied(OWNER)


def test_what_was_expected_is_forgotten_after_five_minutes_and_not_before(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, creations=1)

    assert EXPECTATIONS_TIMEOUT == 300
    clock.turn(EXPECTATIONS_TIMEOUT)
    assert not expectations.satisfied(OWNER)
    clock.turn(0.001)
    assert expectations.satisfied(OWNER)


def test_setting_expectations_again_starts_the_timeout_again(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, creations=1)
    clock.turn(301)
    assert expectations.satisfied(OWNER)

    expectations.expect(OWNER, creations=1)
    assert not expectations.satisfied(OWNER)


def test_each_controller_waits_for_its_own(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, creations=1)

    expectations.creation_observed(OTHER)

    assert not expectations.satisfied(OWNER)
    assert expectations.satisfied(OTHER)
    assert expectations.get(OTHER) is None


def test_a_deletion_that_is_seen_twice_is_crossed_off_once(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, deletions=["ns/a", "ns/b"])

    expectations.deletion_observed(OWNER, "ns/a")
    expectations.deletion_observed(OWNER, "ns/a")
    assert not expectations.satisfied(OWNER)
    assert expectations.awaited_deletions(OWNER) == {"ns/b"}

    expectations.deletion_observed(OWNER, "ns/b")
    assert expectations.satisfied(OWNER)


def test_a_deletion_that_nobody_awaits_changes_nothing(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, deletions=["ns/a"])

    expectations.deletion_observed(OWNER, "ns/z")

    assert not expectations.satisfied(OWNER)


def test_a_controller_made_anew_under_its_old_name_starts_clean(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, deletions=["ns/a"])

    expectations.forget(OWNER.key)

    assert expectations.satisfied(OWNER)
    assert expectations.awaited_deletions(OWNER) == frozenset()


def test_creations_and_deletions_of_one_sync_are_expected_together_and_counted(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    expectations.expect(OWNER, creations=1, deletions=2)

    expectations.creation_observed(OWNER)
    expectations.deletion_observed(OWNER)
    assert not expectations.satisfied(OWNER)
    expectations.deletion_observed(OWNER, "ns/whichever")
    assert expectations.satisfied(OWNER)


def test_an_owner_made_anew_ignores_what_the_old_one_expected(clock: FakeClock) -> None:
    expectations = Expectations(clock)
    anew = OwnerId(OWNER.key, "u9")
    expectations.expect(OWNER, creations=5, deletions=["ns/a"])

    assert expectations.satisfied(anew)
    expectations.creation_observed(anew)
    expectations.deletion_observed(anew, "ns/a")
    expectations.forget(anew.key, anew.uid)
    expected = expectations.get(OWNER)
    assert expected is not None
    assert (expected.creations, expected.deletions) == (5, 1)

    expectations.expect(anew, creations=1)
    expectations.forget(OWNER.key, OWNER.uid)
    assert not expectations.satisfied(anew)


def test_deletions_that_are_expected_no_more_are_logged() -> None:
    expectations = Expectations(FakeClock())
    expectations.expect(OWNER, deletions=["a", "b"])

    with capture_logs() as logs:
        expectations.expect(OWNER, deletions=["a", "b", "c"])
        expectations.expect(OWNER, deletions=["c"])

    assert [(line["event"], line["objects"]) for line in logs] == [("awaited_deletions_overwritten", ["a", "b"])]
