"""The stale DisruptionTarget condition: a pod that has the condition and is never deleted.

A disruption sets the condition first, and then deletes the pod. If the deletion fails, the condition would stay. So
after two minutes it is set to False. Two cases are left alone: a condition that the kubelet has set, because such a pod
may take any time to end, and a pod that has ended.
"""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Final

from kinformer.controllerutil.pods import DISRUPTION_TARGET, is_pod_terminal, pod_condition
from kinformer.models import V1Pod, V1PodCondition

__all__ = ("STALE_AFTER", "stale_in", "without_disruption_target")

_BY_KUBELET: Final = "TerminationByKubelet"

#: How long the condition may stay true if the pod is not deleted.
STALE_AFTER: Final = timedelta(minutes=2)


def stale_in(pod: V1Pod, now: datetime) -> timedelta | None:
    """Return the time until the pod's condition is stale, zero if it is; None if it has none that can become stale."""
    if pod.metadata.deletion_timestamp or is_pod_terminal(pod):
        return None
    condition = pod_condition(pod, DISRUPTION_TARGET)
    if condition is None or condition.status != "True" or condition.reason == _BY_KUBELET:
        return None
    since = condition.last_transition_time
    return max(since + STALE_AFTER - now, timedelta()) if since is not None else timedelta()


def without_disruption_target(pod: V1Pod, now: datetime) -> V1Pod:
    """Return a copy of the pod whose DisruptionTarget condition is False."""
    pod = copy.deepcopy(pod)
    assert pod.status is not None
    pod.status.conditions = [
        V1PodCondition(
            type=DISRUPTION_TARGET,
            status="False",
            observed_generation=pod.metadata.generation,
            last_transition_time=now,
        )
        if condition.type == DISRUPTION_TARGET
        else condition
        for condition in pod.status.conditions or ()
    ]
    return pod
