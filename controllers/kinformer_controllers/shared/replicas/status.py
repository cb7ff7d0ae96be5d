"""The status of a ReplicaSet or ReplicationController: how many pods, how far they are, and what keeps it from more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kinformer.controllerutil.conditions import get_condition, put_condition, without_condition
from kinformer.controllerutil.pod_control import FAILED_CREATE, FAILED_DELETE
from kinformer.controllerutil.pods import is_pod_available, is_pod_ready
from kinformer.models import V1Pod
from kinformer_controllers.shared.replicas.kind import ReplicaKind, desired_replicas

__all__ = ("REPLICA_FAILURE", "compute_status", "same_status", "status_of")

#: The condition of an owner that could not make, or not delete, a pod.
REPLICA_FAILURE = "ReplicaFailure"

_COUNTS = ("replicas", "fully_labeled_replicas", "ready_replicas", "available_replicas")


def status_of(kind: ReplicaKind[Any], owner: Any) -> Any:
    """The status it has, an empty one if it has none yet."""
    return owner.status or kind.status(replicas=0)


def compute_status(
    kind: ReplicaKind[Any],
    owner: Any,
    active: Sequence[V1Pod],
    terminating: Sequence[V1Pod],
    failure: Exception | None,
    now: datetime,
) -> Any:
    """
    What the status should be.

    :param active: the pods that it has
    :param terminating: those that it had and that are not gone yet
    :param failure: what kept the last sync from creating or deleting, None if nothing did
    """
    template = owner.spec.template
    wanted = ((template.metadata.labels if template and template.metadata else None) or {}).items()
    min_ready_seconds = owner.spec.min_ready_seconds or 0
    fully_labeled = ready = available = 0
    for pod in active:
        fully_labeled += wanted <= (pod.metadata.labels or {}).items()
        if is_pod_ready(pod):
            ready += 1
            available += is_pod_available(pod, min_ready_seconds, now)
    status = kind.status(
        replicas=len(active),
        # The API leaves out these when they are 0, and never leaves out replicas.
        fully_labeled_replicas=fully_labeled or None,
        ready_replicas=ready or None,
        available_replicas=available or None,
        observed_generation=status_of(kind, owner).observed_generation,
        conditions=_conditions(kind, owner, len(active), failure, now) or None,
    )
    if kind.tells_terminating:
        status.terminating_replicas = len(terminating)
    return status


def same_status(current: Any, status: Any, generation: int | None) -> bool:
    """
    Whether there is nothing new to write.

    :param current: the status that the owner has, None if it has none
    :param generation: of the owner's spec: a status that tells of an older one says something new
    """
    if current is None:
        return False
    return (
        all((getattr(current, count) or 0) == (getattr(status, count) or 0) for count in _COUNTS)
        and getattr(current, "terminating_replicas", None) == getattr(status, "terminating_replicas", None)
        and (current.observed_generation or 0) == (generation or 0)
        and (current.conditions or []) == (status.conditions or [])
    )


def _conditions(kind: ReplicaKind[Any], owner: Any, have: int, failure: Exception | None, now: datetime) -> list[Any]:
    conditions = status_of(kind, owner).conditions
    if failure is None:
        return without_condition(conditions, REPLICA_FAILURE)
    if get_condition(conditions, REPLICA_FAILURE) is not None:
        # The first failure stands until all is well again.
        return list(conditions)
    want = desired_replicas(owner)
    reason = FAILED_CREATE if have < want else FAILED_DELETE if have > want else None
    condition = kind.condition(
        type=REPLICA_FAILURE, status="True", reason=reason, message=str(failure), last_transition_time=now
    )
    return put_condition(conditions, condition)
