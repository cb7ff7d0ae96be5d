"""Marking a pod as failed, and as disrupted, before it is deleted by somebody who is not its kubelet.

In: a pod as the cache has it. Out: a strategic merge patch of its status. Promised: the patch changes this very pod
and not another one of its name, and touches nothing that it need not. Whoever looks after the pod (a Job, a budget)
reads in the condition why it ended.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kinformer.models import V1Pod
from kinformer.operator.conditions import get_condition
from kinformer_controllers.shared.owning.status import pod_status

__all__ = ("DISRUPTION_TARGET", "disruption_target", "failed_pod_patch", "pod_status_patch")

DISRUPTION_TARGET: Final = "DisruptionTarget"


def disruption_target(pod: V1Pod, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """
    The DisruptionTarget condition for a pod, as JSON.

    A condition that is true already keeps the time of its last transition.
    """
    status = pod_status(pod)
    current = get_condition(status.conditions if status is not None else None, DISRUPTION_TARGET)
    since = now
    if current is not None and current.status == "True" and current.last_transition_time is not None:
        since = current.last_transition_time
    return {
        "type": DISRUPTION_TARGET,
        "observedGeneration": pod.metadata.generation or 0,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def failed_pod_patch(pod: V1Pod, condition: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """
    The patch that sets the phase to Failed, and a condition if one is given.

    :return: None if the pod has ended already: how it ended is not to be changed
    """
    status = pod_status(pod)
    if status is not None and status.phase in ("Succeeded", "Failed"):
        return None
    return pod_status_patch(pod, condition, phase="Failed")


def pod_status_patch(pod: V1Pod, condition: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A patch of the status of this very pod: some fields, and perhaps one condition."""
    status: dict[str, Any] = {"observedGeneration": pod.metadata.generation or 0, **fields}
    if condition is not None:
        status["conditions"] = [condition]
    return {"metadata": {"uid": pod.metadata.uid}, "status": status}
