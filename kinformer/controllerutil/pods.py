"""Reading pods: whether a pod is ready, available, active or at its end; and patches that set one of its conditions.

In: a pod and a time. Out: a decision, or a strategic merge patch. Nothing here asks the server.

A condition that a controller sets, and not the kubelet, is written with a patch of this one condition and the pod's
uid. So the patch keeps what the kubelet writes at the same time. The uid makes the server refuse the patch if the name
now belongs to another pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from kinformer.clock import Clock
from kinformer.controllerutil.conditions import conditions_patch, get_condition
from kinformer.models import V1Pod, V1PodCondition, V1PodStatus, to_dict

__all__ = (
    "DISRUPTION_TARGET",
    "counts_otherwise",
    "disruption_target",
    "is_pod_active",
    "is_pod_available",
    "is_pod_ready",
    "is_pod_terminal",
    "is_pod_terminating",
    "next_availability_check",
    "pod_condition",
    "pod_condition_patch",
    "pod_phase",
    "pod_status",
    "ready_condition",
)

#: Seconds after which a sync is asked for that should come at once.
_AT_ONCE: Final = 0.001


def pod_status(pod: V1Pod) -> V1PodStatus | None:
    """Return the pod's status. A pod that was not read from a server may have none; the models' types hide this."""
    return pod.status


def pod_phase(pod: V1Pod) -> str:
    """Return the pod's phase; ``""`` if there is none, as in a pod that is not yet created."""
    status = pod_status(pod)
    return (status.phase or "") if status is not None else ""


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


def counts_otherwise(old: V1Pod, new: V1Pod) -> bool:
    """
    Whether a change of a pod may change what its owner counts: owned, active, terminating, ready, and available pods.

    Most changes of a running pod are others: a message, a restart, a condition that is not of interest here.
    """
    before, after = old.metadata, new.metadata
    if (
        before.uid != after.uid
        or before.deletion_timestamp != after.deletion_timestamp
        or (before.labels or {}) != (after.labels or {})
        or (before.owner_references or []) != (after.owner_references or [])
    ):
        return True
    was, now = pod_status(old), pod_status(new)
    phases = (was.phase if was is not None else None), (now.phase if now is not None else None)
    return phases[0] != phases[1] or _readiness(old) != _readiness(new)


def _readiness(pod: V1Pod) -> tuple[str, datetime | None] | None:
    condition = ready_condition(pod)
    return None if condition is None else (condition.status, condition.last_transition_time)


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
    # Subtracted, not added: a time near the year 9999 is not too late for that.
    return since is not None and now - since >= timedelta(seconds=min_ready_seconds)


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
        result is a millisecond, so that it is not missed: zero seconds would mean that no sync is needed
    """
    if min_ready_seconds <= 0:
        return None
    wait = timedelta(seconds=min_ready_seconds)
    ready = (
        condition for pod in pods if (condition := ready_condition(pod)) is not None and condition.status == "True"
    )
    waiting = [since for condition in ready if (since := _ready_since(condition)) and evaluated_at - since < wait]
    return max((wait - (clock.now() - min(waiting))).total_seconds(), _AT_ONCE) if waiting else None


def _ready_since(condition: V1PodCondition) -> datetime | None:
    return condition.last_transition_time


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
    status = pod_status(pod)
    conditions = status.conditions if status is not None else None
    return {"metadata": {"uid": pod.metadata.uid}, "status": conditions_patch(conditions, [written])}
