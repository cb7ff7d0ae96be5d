"""Marking a pod as failed before it is deleted.

The controller that owns the pod, such as a Job's, then counts it as failed. The condition says why it ended.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.controllerutil.pods import is_pod_terminal, pod_condition_patch
from kinformer.models import V1Pod, V1PodCondition

__all__ = ("failed_pod_patch",)


def failed_pod_patch(pod: V1Pod, condition: V1PodCondition | None, now: datetime) -> dict[str, Any] | None:
    """
    Return the strategic merge patch of the pod's status that sets the phase to Failed, and the condition if there is
    one. It has the pod's uid, so it fails if the name now belongs to another pod.

    :return: None if the pod has already ended, because its phase must not change then
    """
    if is_pod_terminal(pod):
        return None
    patch = pod_condition_patch(pod, condition, now) if condition is not None else None
    conditions = patch["status"] if patch is not None else {}
    status = {"observedGeneration": pod.metadata.generation or 0, "phase": "Failed", **conditions}
    return {"metadata": {"uid": pod.metadata.uid}, "status": status}
