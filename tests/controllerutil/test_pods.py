from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.controllerutil.pods import (
    counts_otherwise,
    is_pod_active,
    is_pod_available,
    is_pod_ready,
    next_availability_check,
)
from kinformer.models import V1ObjectMeta, V1OwnerReference, V1Pod, V1PodCondition, V1PodStatus


def ready_since(clock: FakeClock, seconds: float) -> V1Pod:
    since = clock.now() - timedelta(seconds=seconds)
    condition = V1PodCondition(type="Ready", status="True", last_transition_time=since)
    return V1Pod(metadata=V1ObjectMeta(name="p"), status=V1PodStatus(conditions=[condition]))


def test_a_pod_without_a_status_is_active_and_not_ready() -> None:
    pod = V1Pod(metadata=V1ObjectMeta(name="p"))

    assert is_pod_active(pod)
    assert not is_pod_ready(pod)


def test_a_pod_becomes_available_the_moment_its_time_is_over() -> None:
    clock = FakeClock()
    pod = ready_since(clock, 29)

    assert not is_pod_available(pod, 30, clock.now())
    clock.turn(1)
    assert is_pod_available(pod, 30, clock.now())


def test_the_next_check_is_due_when_the_first_pod_becomes_available() -> None:
    clock = FakeClock()
    pods = [ready_since(clock, 5), ready_since(clock, 20), ready_since(clock, 40), V1Pod(metadata=V1ObjectMeta())]

    assert next_availability_check(pods, 30, clock.now(), clock) == 10


def test_a_pod_available_since_the_status_was_computed_is_due_now() -> None:
    clock = FakeClock()
    pods = [ready_since(clock, 29)]
    evaluated_at = clock.now()
    clock.turn(2)

    assert next_availability_check(pods, 30, evaluated_at, clock) == 0.001


def test_without_pods_on_their_way_there_is_no_next_check() -> None:
    clock = FakeClock()

    assert next_availability_check([ready_since(clock, 40)], 30, clock.now(), clock) is None
    assert next_availability_check([ready_since(clock, 40)], 0, clock.now(), clock) is None


def test_a_pod_that_becomes_ready_in_the_last_second_is_not_available() -> None:
    clock = FakeClock()
    last = V1PodCondition(type="Ready", status="True", last_transition_time=datetime.max.replace(tzinfo=UTC))
    pod = V1Pod(metadata=V1ObjectMeta(name="p"), status=V1PodStatus(conditions=[last]))

    assert not is_pod_available(pod, 30, clock.now())
    assert next_availability_check([pod, ready_since(clock, 20)], 30, clock.now(), clock) == 10


NOW = FakeClock().now()
OWNER = V1OwnerReference(api_version="v1", kind="ReplicationController", name="rc", uid="rc", controller=True)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda pod: None, False),
        (lambda pod: setattr(pod.status, "message", "other"), False),
        (lambda pod: setattr(pod.status, "pod_ip", "10.0.0.1"), False),
        (lambda pod: setattr(pod.metadata, "annotations", {"a": "b"}), False),
        (lambda pod: setattr(pod.metadata, "uid", "another"), True),
        (lambda pod: setattr(pod.metadata, "labels", {"a": "b"}), True),
        (lambda pod: setattr(pod.metadata, "owner_references", [OWNER]), True),
        (lambda pod: setattr(pod.metadata, "deletion_timestamp", NOW), True),
        (lambda pod: setattr(pod.status, "phase", "Failed"), True),
        (lambda pod: setattr(pod.status.conditions[0], "status", "False"), True),
        (lambda pod: setattr(pod.status.conditions[0], "last_transition_time", NOW), True),
        (lambda pod: setattr(pod.status, "conditions", None), True),
        (lambda pod: setattr(pod, "status", None), True),
    ],
)
def test_only_some_changes_of_a_pod_change_what_its_owner_counts(change: Callable[[Any], object], counts: bool) -> None:
    clock = FakeClock()
    old, new = ready_since(clock, 5), ready_since(clock, 5)

    change(new)

    assert counts_otherwise(old, new) is counts
