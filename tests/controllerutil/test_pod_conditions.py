from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta

from kinformer.controllerutil.pods import disruption_target, pod_condition, pod_condition_patch
from kinformer.models import V1PodCondition
from tests.controllers.objects import make_pod

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_patch_holds_the_one_condition_and_the_uid() -> None:
    pod = make_pod("p", ready_since=NOON)
    pod.metadata.generation = 3

    patch = pod_condition_patch(pod, disruption_target(pod, "Why", "because"), NOON)

    assert patch == {
        "metadata": {"uid": "uid-p"},
        "status": {
            "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "DisruptionTarget"}],
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "Why",
                    "message": "because",
                    "observedGeneration": 3,
                    "lastTransitionTime": "2026-01-01T12:00:00Z",
                }
            ],
        },
    }


def test_a_condition_that_the_pod_has_is_not_written_again() -> None:
    pod = make_pod("p", ready_since=NOON)
    assert pod.status is not None
    pod.status.conditions = [disruption_target(pod, "Why", "because")]

    assert pod_condition_patch(pod, disruption_target(pod, "Why", "because"), NOON) is None
    assert pod_condition_patch(pod, disruption_target(pod, "Other", "because"), NOON) is not None


def test_the_time_of_the_last_transition_stays_with_the_status() -> None:
    pod = make_pod("p", ready_since=NOON)
    ready = pod_condition(pod, "Ready")
    assert ready is not None
    later = NOON + timedelta(hours=1)

    stays = pod_condition_patch(pod, V1PodCondition(type="Ready", status="True", reason="New"), later)
    goes = copy.copy(ready)
    goes.status = "False"
    changes = pod_condition_patch(pod, goes, later)

    assert stays is not None
    assert changes is not None
    assert stays["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"
    assert changes["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T13:00:00Z"
