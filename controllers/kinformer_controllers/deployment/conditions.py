"""Computing a Deployment's conditions. The reasons and messages are Kubernetes'. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from kinformer.controllerutil.conditions import get_condition, put_condition, without_condition
from kinformer.models import V1Deployment, V1DeploymentCondition, V1DeploymentStatus, V1ReplicaSet
from kinformer_controllers.deployment.counts import desired

__all__ = (
    "AVAILABLE",
    "FAILED_CREATE",
    "FOUND_NEW",
    "NEW_AVAILABLE",
    "NEW_CREATED",
    "PAUSED",
    "PROGRESSING",
    "REPLICA_FAILURE",
    "RESUMED",
    "TIMED_OUT",
    "UPDATED",
    "condition",
    "has_progress_deadline",
    "is_complete",
    "is_progressing",
    "is_timed_out",
    "next_progress_check",
    "paused_condition",
    "progress_conditions",
    "replica_failure",
)

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
REPLICA_FAILURE: Final = "ReplicaFailure"

# Reasons of Progressing.
UPDATED: Final = "ReplicaSetUpdated"
FAILED_CREATE: Final = "ReplicaSetCreateError"
NEW_CREATED: Final = "NewReplicaSetCreated"
FOUND_NEW: Final = "FoundNewReplicaSet"
NEW_AVAILABLE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"

#: The value that means: no limit.
_UNLIMITED: Final = 2**31 - 1

Conditions = list[V1DeploymentCondition]


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
    if current is not None and current.reason == TIMED_OUT:
        return None
    was_paused = current is not None and current.reason == PAUSED
    if deployment.spec.paused and not was_paused:
        return condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and was_paused:
        return condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now)
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
    return bool(current.reason == TIMED_OUT or _deadline(deployment, current) < now)


def next_progress_check(
    deployment: V1Deployment, conditions: Conditions | None, status: V1DeploymentStatus, now: datetime
) -> float | None:
    """Return the seconds until one second after the deadline; None if no progress is expected."""
    current = get_condition(conditions, PROGRESSING)
    if not has_progress_deadline(deployment) or current is None or current.reason in (TIMED_OUT, NEW_AVAILABLE):
        return None
    if is_complete(deployment, status):
        return None
    return max((_deadline(deployment, current) - now).total_seconds(), 0.0) + 1.0


def progress_conditions(
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
    is_over = (
        (status.replicas or 0) == (status.updated_replicas or 0)
        and current is not None
        and current.reason == NEW_AVAILABLE
    )
    if is_over:
        return conditions
    what = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        message = f"{what} has successfully progressed."
        return put_condition(conditions, condition(PROGRESSING, "True", NEW_AVAILABLE, message, now))
    if is_progressing(old, status):
        progress = condition(PROGRESSING, "True", UPDATED, f"{what} is progressing.", now)
        if current is not None and current.status == "True":
            progress.last_transition_time = current.last_transition_time
        # The condition is replaced even if it is the same, because the deadline starts at its last update.
        return [*without_condition(conditions, PROGRESSING), progress]
    if is_timed_out(deployment, conditions, now):
        message = f"{what} has timed out progressing."
        return put_condition(conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now))
    return conditions


def replica_failure(new: V1ReplicaSet | None, replica_sets: Iterable[V1ReplicaSet]) -> V1DeploymentCondition | None:
    """Return the ReplicaFailure of a ReplicaSet as a Deployment's condition. The new ReplicaSet is checked first."""
    for each in (*([new] if new is not None else []), *replica_sets):
        found = get_condition(each.status.conditions if each.status else None, REPLICA_FAILURE)
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
