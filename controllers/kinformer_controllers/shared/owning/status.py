"""What a pod's status says: ready, available, active, terminal, terminating.

The words are Kubernetes'. *Ready* is the Ready condition. *Available* is ready for at least ``minReadySeconds``.
*Active* pods count as replicas: they have not ended and nobody has asked them to. *Terminal* pods have ended.
*Terminating* ones were asked to end and have not yet.
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
    """The status, which a pod that was not read from a server may lack; the models' stubs do not tell."""
    return pod.status


def ready_condition(pod: V1Pod) -> V1PodCondition | None:
    """The pod's Ready condition, whatever it says."""
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
    """Ready for so long; where nothing is asked for, ready at all. A ready pod that does not say since when is not."""
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
    Seconds until the next of these pods becomes available, None if none of them is on its way.

    :param evaluated_at: the moment for which the owner's status was computed: a pod that has become available since
        is due at once, rather than missed
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
