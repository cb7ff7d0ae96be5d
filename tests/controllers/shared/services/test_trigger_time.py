from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kinformer_controllers.shared.services.pod import EndpointPod, endpoint_pod
from kinformer_controllers.shared.services.service import TriggerTimes, format_trigger_time
from tests.controllers.shared.services.world import make_pod, make_service, stamp


def pod(name: str, ready_at: int) -> EndpointPod:
    return endpoint_pod(make_pod(name, "10.0.0.1", ready_at=ready_at))


def trigger_time(times: TriggerTimes, *pods: EndpointPod, created: int = 0) -> str | None:
    time = times.compute("ns/web", make_service(created=created), pods)
    return format_trigger_time(time) if time is not None else None


def test_a_service_that_was_not_known_counts_from_its_creation() -> None:
    assert trigger_time(TriggerTimes(), pod("a", 50), created=40) == stamp(40)


def test_then_the_first_change_counts_of_those_since_the_last_sync() -> None:
    times = TriggerTimes()
    trigger_time(times, pod("a", 10), pod("b", 10))

    assert trigger_time(times, pod("a", 30), pod("b", 20), pod("c", 40)) == stamp(20)
    assert trigger_time(times, pod("a", 30), pod("b", 20), pod("c", 40)) is None


def test_a_service_that_was_made_anew_is_a_change() -> None:
    times = TriggerTimes()
    trigger_time(times, pod("a", 10))

    assert trigger_time(times, pod("a", 70), created=60) == stamp(60)
    times.forget("ns/web")
    assert trigger_time(times, created=60) == stamp(60)


@pytest.mark.parametrize(("microseconds", "want"), [(0, "2026-01-02T03:04:05Z"), (120_000, "2026-01-02T03:04:05.12Z")])
def test_it_is_written_as_go_writes_it(microseconds: int, want: str) -> None:
    assert format_trigger_time(datetime(2026, 1, 2, 3, 4, 5, microseconds, tzinfo=UTC)) == want
