"""Whether a pod is ready, available, active, terminal or terminating.

The words are Kubernetes'. A *ready* pod has a true Ready condition. An *available* pod has been ready for at least
``minReadySeconds``. A *terminal* pod has the phase Failed or Succeeded. A *terminating* pod has a deletion timestamp
and is not terminal. An *active* pod has no deletion timestamp and is not terminal; only active pods count as replicas.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from kinformer.clock import Clock
from kinformer.models import V1Pod, V1PodCondition, V1PodStatus

__all__ = (
    "is_pod_active",
    "is_pod_available",
    "is_pod_ready",
    "is_pod_terminal",
    "is_pod_terminating",
    "next_availability_check",
    "pod_status",
    "ready_condition",
)


def pod_status(pod: V1Pod) -> V1PodStatus | None:
    """Return the pod's status. A pod that was not read from a server may have none; the models' types hide this."""
    return pod.status


def ready_condition(pod: V1Pod) -> V1PodCondition | None:
    """Return the pod's Ready condition, true or not; None if there is none."""
    status = pod_status(pod)
    if status is None:
        return None
    for condition in status.conditions or ():
        if condition.type == "Ready":
            return condition
    return None


def is_pod_ready(pod: V1Pod) -> bool:
    condition = ready_condition(pod)
    return condition is not None and condition.status == "True"


def is_pod_available(pod: V1Pod, min_ready_seconds: int, now: datetime) -> bool:
    """
    Whether the pod has been ready for at least `min_ready_seconds`.

    For 0 it only has to be ready. Otherwise its Ready condition must have a lastTransitionTime.
    """
    condition = ready_condition(pod)
    if condition is None or condition.status != "True":
        return False
    if min_ready_seconds == 0:
        return True
    since = _ready_since(condition)
    return since is not None and since + timedelta(seconds=min_ready_seconds) <= now


def is_pod_terminal(pod: V1Pod) -> bool:
    status = pod_status(pod)
    return status is not None and status.phase in ("Failed", "Succeeded")


def is_pod_active(pod: V1Pod) -> bool:
    return not pod.metadata.deletion_timestamp and not is_pod_terminal(pod)


def is_pod_terminating(pod: V1Pod) -> bool:
    return bool(pod.metadata.deletion_timestamp) and not is_pod_terminal(pod)


def next_availability_check(
    pods: Iterable[V1Pod], min_ready_seconds: int, evaluated_at: datetime, clock: Clock
) -> float | None:
    """
    Return the seconds until the next of these pods becomes available; None if no ready pod is waiting for this.

    :param evaluated_at: the time for which the owner's status was computed. If a pod has become available since, the
        result is 0, so that it is not missed
    """
    waits = [due for pod in pods if (due := _available_at(pod, min_ready_seconds)) is not None and due > evaluated_at]
    return max((min(waits) - clock.now()).total_seconds(), 0.0) if waits else None


def _available_at(pod: V1Pod, min_ready_seconds: int) -> datetime | None:
    condition = ready_condition(pod)
    if min_ready_seconds <= 0 or condition is None or condition.status != "True":
        return None
    since = _ready_since(condition)
    return since + timedelta(seconds=min_ready_seconds) if since is not None else None


def _ready_since(condition: V1PodCondition) -> datetime | None:
    return condition.last_transition_time
