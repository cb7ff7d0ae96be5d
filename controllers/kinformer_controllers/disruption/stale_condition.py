"""The stale DisruptionTarget condition: a pod that says it will be disrupted, and never is.

Whoever disrupts a pod sets the condition first and deletes the pod then. If the deletion fails, the condition would
stay. After two minutes it is set to False. Two cases are left alone: a condition that the kubelet has set, since such
a pod may take any time to end, and a pod that has ended.
"""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Final

from kinformer.models import V1Pod, V1PodCondition
from kinformer_controllers.shared.owning.status import is_pod_terminal, pod_status
from kinformer_controllers.shared.writing.pod_failure import DISRUPTION_TARGET

__all__ = ("STALE_AFTER", "stale_in", "without_disruption_target")

_BY_KUBELET: Final = "TerminationByKubelet"

#: How long the condition may be true of a pod that is not being deleted.
STALE_AFTER: Final = timedelta(minutes=2)


def stale_in(pod: V1Pod, now: datetime) -> timedelta | None:
    """How long until the pod's condition is stale, zero if it is; None if the pod has none that can be."""
    if pod.metadata.deletion_timestamp or is_pod_terminal(pod):
        return None
    condition = _disruption_target(pod)
    if condition is None or condition.status != "True" or condition.reason == _BY_KUBELET:
        return None
    since = condition.last_transition_time
    return max(since + STALE_AFTER - now, timedelta()) if since is not None else timedelta()


def without_disruption_target(pod: V1Pod, now: datetime) -> V1Pod:
    """A copy of the pod whose DisruptionTarget condition is False."""
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


def _disruption_target(pod: V1Pod) -> V1PodCondition | None:
    status = pod_status(pod)
    conditions = (status.conditions if status is not None else None) or ()
    return next((condition for condition in conditions if condition.type == DISRUPTION_TARGET), None)
