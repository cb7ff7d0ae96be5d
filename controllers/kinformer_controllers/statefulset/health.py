"""The state of a pod of a StatefulSet. Pure functions of a pod and a time."""

from __future__ import annotations

from datetime import datetime

from kinformer.controllerutil.pods import is_pod_available, is_pod_ready, pod_status
from kinformer.models import V1Pod

__all__ = (
    "has_ended",
    "is_available",
    "is_created",
    "is_pending",
    "is_running_and_ready",
    "is_terminating",
    "is_unavailable",
)


def phase_of(pod: V1Pod) -> str:
    status = pod_status(pod)
    return (status.phase if status is not None else None) or ""


def is_created(pod: V1Pod) -> bool:
    """Whether the pod exists on the server. A planned pod has no phase."""
    return phase_of(pod) != ""


def is_pending(pod: V1Pod) -> bool:
    return phase_of(pod) == "Pending"


def has_ended(pod: V1Pod) -> bool:
    """
    Whether the pod has failed or succeeded.

    In both cases it is created again. Which of the two phases an evicted pod gets depends only on its containers' exit
    codes.
    """
    return phase_of(pod) in ("Failed", "Succeeded")


def is_terminating(pod: V1Pod) -> bool:
    return bool(pod.metadata.deletion_timestamp)


def is_running_and_ready(pod: V1Pod) -> bool:
    return phase_of(pod) == "Running" and is_pod_ready(pod)


def is_available(pod: V1Pod, min_ready_seconds: int, now: datetime) -> bool:
    return is_pod_available(pod, min_ready_seconds, now)


def is_unavailable(pod: V1Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod is not available, or is being deleted."""
    return is_terminating(pod) or not is_available(pod, min_ready_seconds, now)
