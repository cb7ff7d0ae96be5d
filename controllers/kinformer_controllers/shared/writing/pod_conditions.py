"""Conditions of pods that a controller sets, not the kubelet: Ready of pods on a lost node, and DisruptionTarget.

Each is written with a strategic merge patch of this one condition and the pod's uid. So the patch keeps what the
kubelet writes at the same time. The uid makes the server refuse the patch if the name now belongs to another pod.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kinformer.models import V1Pod, V1PodCondition, to_dict
from kinformer.operator.conditions import get_condition
from kinformer_controllers.shared.owning.status import pod_status

__all__ = ("DISRUPTION_TARGET", "disruption_target", "pod_condition", "pod_condition_patch")

#: The type of the condition that says that a pod will be deleted because of a disruption.
DISRUPTION_TARGET: Final = "DisruptionTarget"


def pod_condition(pod: V1Pod, type_: str) -> V1PodCondition | None:
    """Return the pod's condition of that type; None if it has none."""
    status = pod_status(pod)
    return get_condition(status.conditions if status is not None else None, type_)


def disruption_target(pod: V1Pod, reason: str, message: str) -> V1PodCondition:
    """Make the DisruptionTarget condition, with the generation that the pod has now."""
    return V1PodCondition(
        type=DISRUPTION_TARGET,
        status="True",
        reason=reason,
        message=message,
        observed_generation=pod.metadata.generation,
    )


def pod_condition_patch(pod: V1Pod, condition: V1PodCondition, now: datetime) -> dict[str, Any] | None:
    """
    Return the patch of a pod's status that sets a condition; None if the pod already has the same condition.

    If the condition's status does not change, neither does its lastTransitionTime, as in Kubernetes'
    UpdatePodCondition.
    """
    there = pod_condition(pod, condition.type)
    if there is not None and (there.status, there.reason, there.message) == (
        condition.status,
        condition.reason,
        condition.message,
    ):
        return None
    since = there.last_transition_time if there is not None and there.status == condition.status else now
    written = {name: value for name, value in to_dict(condition).items() if value is not None}
    written["lastTransitionTime"] = (since or now).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [written]}}
