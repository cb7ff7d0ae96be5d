"""Computing a Deployment's status: counts, availability, and the progress of the rollout. No I/O.

The reasons and messages of the conditions are Kubernetes'.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from kinformer.controllerutil.conditions import get_condition, put_condition, without_condition
from kinformer.models import V1Deployment, V1DeploymentCondition, V1DeploymentStatus, V1ReplicaSet
from kinformer_controllers.deployment.limits import (
    actual_replicas,
    available_replicas,
    desired,
    max_unavailable,
    ready_replicas,
    terminating_replicas,
    total_replicas,
)

__all__ = (
    "FAILED_CREATE",
    "FOUND_NEW",
    "NEW_AVAILABLE",
    "NEW_CREATED",
    "PROGRESSING",
    "compute_status",
    "condition",
    "has_progress_deadline",
    "is_complete",
    "is_progressing",
    "is_timed_out",
    "next_progress_check",
    "paused_condition",
    "rollout_status",
    "same_status",
    "status_of",
)

_COUNTS = (
    "observed_generation",
    "replicas",
    "updated_replicas",
    "ready_replicas",
    "available_replicas",
    "unavailable_replicas",
)

_AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
_REPLICA_FAILURE: Final = "ReplicaFailure"

# Reasons of Progressing.
_UPDATED: Final = "ReplicaSetUpdated"
FAILED_CREATE: Final = "ReplicaSetCreateError"
NEW_CREATED: Final = "NewReplicaSetCreated"
FOUND_NEW: Final = "FoundNewReplicaSet"
NEW_AVAILABLE: Final = "NewReplicaSetAvailable"
_TIMED_OUT: Final = "ProgressDeadlineExceeded"
_PAUSED: Final = "DeploymentPaused"
_RESUMED: Final = "DeploymentResumed"

#: The value that means: no limit.
_UNLIMITED: Final = 2**31 - 1

Conditions = list[V1DeploymentCondition]


def status_of(deployment: V1Deployment) -> V1DeploymentStatus:
    """Return a copy of the Deployment's status; an empty one if it has none yet."""
    return copy.copy(deployment.status) if deployment.status is not None else V1DeploymentStatus()


def compute_status(
    deployment: V1Deployment,
    status: V1DeploymentStatus,
    new: V1ReplicaSet | None,
    old: Sequence[V1ReplicaSet],
    now: datetime,
) -> V1DeploymentStatus:
    """
    Compute the status, without the progress of a rollout.

    :param status: the status so far; its conditions except Available stay
    :param new: the ReplicaSet of the Deployment's template, if there is one
    """
    all_ = [*old, *([new] if new is not None else [])]
    available = available_replicas(all_)
    if available >= desired(deployment) - max_unavailable(deployment):
        availability = condition(
            _AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now
        )
    else:
        availability = condition(
            _AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", now
        )
    return V1DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        # The API leaves out counts of 0, except terminatingReplicas.
        replicas=actual_replicas(all_) or None,
        updated_replicas=(actual_replicas([new]) if new is not None else 0) or None,
        ready_replicas=ready_replicas(all_) or None,
        available_replicas=available or None,
        unavailable_replicas=max(total_replicas(all_) - available, 0) or None,
        terminating_replicas=terminating_replicas(all_),
        collision_count=status.collision_count,
        conditions=put_condition(status.conditions, availability),
    )


def rollout_status(
    deployment: V1Deployment,
    status: V1DeploymentStatus,
    new: V1ReplicaSet | None,
    old: Sequence[V1ReplicaSet],
    now: datetime,
) -> V1DeploymentStatus:
    """Compute the status as :func:`compute_status` does, with the rollout's progress and failures of ReplicaSets."""
    computed = compute_status(deployment, status, new, old, now)
    conditions = _progress_conditions(deployment, status, computed, new, now)
    failure = _replica_failure(new, old)
    if failure is not None:
        computed.conditions = put_condition(conditions, failure)
    else:
        computed.conditions = without_condition(conditions, _REPLICA_FAILURE)
    return computed


def same_status(one: V1DeploymentStatus | None, other: V1DeploymentStatus) -> bool:
    """Whether two statuses are the same, so that nothing has to be written."""
    if one is None:
        return False
    return (
        all(_count(one, name) == _count(other, name) for name in _COUNTS)
        and one.terminating_replicas == other.terminating_replicas
        and one.collision_count == other.collision_count
        and (one.conditions or []) == (other.conditions or [])
    )


def _count(status: Any, name: str) -> int:
    return getattr(status, name) or 0


def condition(type_: str, status: str, reason: str, message: str, now: datetime | None) -> V1DeploymentCondition:
    return V1DeploymentCondition(
        type=type_, status=status, reason=reason, message=message, last_update_time=now, last_transition_time=now
    )


def has_progress_deadline(deployment: V1Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds not in (None, _UNLIMITED)


def paused_condition(
    deployment: V1Deployment, conditions: Conditions | None, now: datetime
) -> V1DeploymentCondition | None:
    """
    Return the condition for a Deployment that was just paused or resumed; None if there is no change.

    Its progress is then unknown, and the deadline starts again. A condition that the deadline has passed stays.
    """
    if not has_progress_deadline(deployment):
        return None
    current = get_condition(conditions, PROGRESSING)
    if current is not None and current.reason == _TIMED_OUT:
        return None
    was_paused = current is not None and current.reason == _PAUSED
    if deployment.spec.paused and not was_paused:
        return condition(PROGRESSING, "Unknown", _PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and was_paused:
        return condition(PROGRESSING, "Unknown", _RESUMED, "Deployment is resumed", now)
    return None


def is_complete(deployment: V1Deployment, status: V1DeploymentStatus) -> bool:
    """Whether all desired pods have the new template and are available, and there are no other pods."""
    wanted = desired(deployment)
    return (
        (status.updated_replicas or 0) == wanted
        and (status.replicas or 0) == wanted
        and (status.available_replicas or 0) == wanted
        and (status.observed_generation or 0) >= (deployment.metadata.generation or 0)
    )


def is_progressing(old: V1DeploymentStatus, new: V1DeploymentStatus) -> bool:
    """Whether there are more new pods, more ready or available ones, or fewer old ones."""
    return (
        (new.updated_replicas or 0) > (old.updated_replicas or 0)
        or _outdated(new) < _outdated(old)
        or (new.ready_replicas or 0) > (old.ready_replicas or 0)
        or (new.available_replicas or 0) > (old.available_replicas or 0)
    )


def is_timed_out(deployment: V1Deployment, conditions: Conditions | None, now: datetime) -> bool:
    """Whether the deadline has passed since the last progress, by the Progressing condition."""
    current = get_condition(conditions, PROGRESSING)
    if not has_progress_deadline(deployment) or current is None or current.reason == NEW_AVAILABLE:
        return False
    return bool(current.reason == _TIMED_OUT or _deadline(deployment, current) < now)


def next_progress_check(
    deployment: V1Deployment, conditions: Conditions | None, status: V1DeploymentStatus, now: datetime
) -> float | None:
    """Return the seconds until one second after the deadline; None if no progress is expected."""
    current = get_condition(conditions, PROGRESSING)
    if not has_progress_deadline(deployment) or current is None or current.reason in (_TIMED_OUT, NEW_AVAILABLE):
        return None
    if is_complete(deployment, status):
        return None
    return max((_deadline(deployment, current) - now).total_seconds(), 0.0) + 1.0


def _progress_conditions(
    deployment: V1Deployment,
    old: V1DeploymentStatus,
    status: V1DeploymentStatus,
    new: V1ReplicaSet | None,
    now: datetime,
) -> Conditions:
    """
    Return the conditions of a status, with the rollout's progress compared with the old status.

    :param old: the status before this sync
    :param new: the ReplicaSet of the Deployment's template, if there is one
    """
    conditions: Conditions = status.conditions or []
    if not has_progress_deadline(deployment):
        return without_condition(conditions, PROGRESSING)
    current = get_condition(old.conditions, PROGRESSING)
    is_over = status.replicas == status.updated_replicas and current is not None and current.reason == NEW_AVAILABLE
    if is_over:
        return conditions
    what = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        message = f"{what} has successfully progressed."
        return put_condition(conditions, condition(PROGRESSING, "True", NEW_AVAILABLE, message, now))
    if is_progressing(old, status):
        progress = condition(PROGRESSING, "True", _UPDATED, f"{what} is progressing.", now)
        if current is not None and current.status == "True":
            progress.last_transition_time = current.last_transition_time
        # The condition is replaced even if it is the same, because the deadline starts at its last update.
        return [*without_condition(conditions, PROGRESSING), progress]
    if is_timed_out(deployment, conditions, now):
        message = f"{what} has timed out progressing."
        return put_condition(conditions, condition(PROGRESSING, "False", _TIMED_OUT, message, now))
    return conditions


def _replica_failure(new: V1ReplicaSet | None, replica_sets: Iterable[V1ReplicaSet]) -> V1DeploymentCondition | None:
    """Return the ReplicaFailure of a ReplicaSet as a Deployment's condition. The new ReplicaSet is checked first."""
    for each in (*([new] if new is not None else []), *replica_sets):
        found = get_condition(each.status.conditions if each.status else None, _REPLICA_FAILURE)
        if found is not None:
            return condition(
                found.type, found.status, found.reason or "", found.message or "", found.last_transition_time
            )
    return None


def _outdated(status: V1DeploymentStatus) -> int:
    return (status.replicas or 0) - (status.updated_replicas or 0)


def _deadline(deployment: V1Deployment, progress: V1DeploymentCondition) -> datetime:
    assert progress.last_update_time is not None
    return progress.last_update_time + timedelta(seconds=deployment.spec.progress_deadline_seconds or 0)
