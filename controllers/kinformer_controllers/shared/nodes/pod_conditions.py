"""Conditions of pods that a controller sets, not the kubelet: Ready of those on a lost node, DisruptionTarget.

Each is written by a strategic patch that holds this one condition and the pod's uid. So what the kubelet writes
meanwhile stays, and another pod of the name is left alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kinformer.models import V1Pod, V1PodCondition, to_dict
from kinformer.operator.conditions import get_condition
from kinformer_controllers.shared.owning.status import pod_status

__all__ = ("DISRUPTION_TARGET", "disruption_target", "pod_condition", "pod_condition_patch")

#: Says that a pod is about to be deleted for a disruption, and why.
DISRUPTION_TARGET: Final = "DisruptionTarget"


def pod_condition(pod: V1Pod, type_: str) -> V1PodCondition | None:
    """The pod's condition of that type, if it has one."""
    status = pod_status(pod)
    return get_condition(status.conditions if status is not None else None, type_)


def disruption_target(pod: V1Pod, reason: str, message: str) -> V1PodCondition:
    """The condition that a pod will be disrupted, of the generation that it has now."""
    return V1PodCondition(
        type=DISRUPTION_TARGET,
        status="True",
        reason=reason,
        message=message,
        observed_generation=pod.metadata.generation,
    )


def pod_condition_patch(pod: V1Pod, condition: V1PodCondition, now: datetime) -> dict[str, Any] | None:
    """
    The patch of a pod's status that sets a condition; None if the pod has it, with the same reason and message.

    The time of the last transition stays if the condition's status does, as in Kubernetes' UpdatePodCondition.
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
