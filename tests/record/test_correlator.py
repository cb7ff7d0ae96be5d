from __future__ import annotations

import pytest

from kinformer.clock import FakeClock
from kinformer.record import CorrelatorOptions, EventCorrelator
from tests.record.events import make_event


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_the_same_event_again_becomes_a_patch_of_the_first(clock: FakeClock) -> None:
    correlator = EventCorrelator(clock=clock)
    correlator.correlate(make_event(clock, name="first"))
    clock.turn(5)

    event, patch, skip = correlator.correlate(make_event(clock, name="second"))

    assert not skip
    assert (event.metadata.name, event.count) == ("first", 2)
    assert patch == {"count": 2, "lastTimestamp": "2026-01-01T00:00:05Z", "message": "hello"}


def test_the_servers_answer_to_an_event_is_the_next_ones_base(clock: FakeClock) -> None:
    correlator = EventCorrelator(clock=clock)
    event, _, _ = correlator.correlate(make_event(clock))
    event.metadata.name, event.metadata.resource_version, event.count = "renamed", "7", 41

    correlator.update_state(event)

    again, _, _ = correlator.correlate(make_event(clock))
    assert (again.metadata.name, again.metadata.resource_version, again.count) == ("renamed", "7", 42)


def test_the_tenth_different_message_of_a_reason_is_combined_with_what_follows(clock: FakeClock) -> None:
    correlator = EventCorrelator(clock=clock)
    results = [correlator.correlate(make_event(clock, f"message {n}", name=f"ev.{n}")) for n in range(12)]

    assert [result.event.message for result in results[8:]] == [
        "message 8",
        "(combined from similar events): message 9",
        "(combined from similar events): message 10",
        "(combined from similar events): message 11",
    ]
    assert [result.event.count for result in results[8:]] == [1, 1, 2, 3]
    assert len({result.event.metadata.name for result in results[9:]}) == 1


def test_similar_events_more_than_ten_minutes_apart_are_not_combined(clock: FakeClock) -> None:
    correlator = EventCorrelator(clock=clock)
    for n in range(12):
        event, _, _ = correlator.correlate(make_event(clock, f"message {n}"))
        clock.turn(601)

        assert event.message == f"message {n}"


def test_events_beyond_the_limit_are_skipped_until_a_token_returns(clock: FakeClock) -> None:
    correlator = EventCorrelator(clock=clock)
    skipped = [correlator.correlate(make_event(clock)).skip for _ in range(26)]

    assert skipped == [False] * 25 + [True]
    assert not correlator.correlate(make_event(clock, about="other")).skip
    assert not correlator.correlate(make_event(clock, type="Warning")).skip

    clock.turn(300)
    event, _, skip = correlator.correlate(make_event(clock))
    assert not skip
    assert event.count == 27


def test_how_much_is_too_much_can_be_said(clock: FakeClock) -> None:
    correlator = EventCorrelator(CorrelatorOptions(burst=1, rate=1.0), clock)

    assert not correlator.correlate(make_event(clock)).skip
    assert correlator.correlate(make_event(clock)).skip
    clock.turn(1)
    assert not correlator.correlate(make_event(clock)).skip
