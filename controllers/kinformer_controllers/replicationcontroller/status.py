"""A ReplicationController's status: how many pods it has, how far they are, and what keeps it from having more."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime

from kinformer.client import Resource
from kinformer.models import (
    V1Pod,
    V1ReplicationController,
    V1ReplicationControllerCondition,
    V1ReplicationControllerStatus,
)
from kinformer_controllers.shared.owning.conditions import get_condition, set_condition, without_condition
from kinformer_controllers.shared.owning.control import FAILED_CREATE, FAILED_DELETE
from kinformer_controllers.shared.owning.status import is_pod_available, is_pod_ready

__all__ = ("REPLICA_FAILURE", "compute_status", "desired_replicas", "status_of", "update_status")

#: The condition of a controller that could not make, or not delete, a pod.
REPLICA_FAILURE = "ReplicaFailure"

#: How often a refused status is written again, onto a fresh copy, before the sync fails.
_UPDATE_RETRIES = 1


def desired_replicas(rc: V1ReplicationController) -> int:
    """What the spec asks for; the server fills in 1 where it says nothing."""
    replicas: int | None = rc.spec.replicas
    return 1 if replicas is None else replicas


def status_of(rc: V1ReplicationController) -> V1ReplicationControllerStatus:
    """The status it has, an empty one if it has none yet."""
    return rc.status or V1ReplicationControllerStatus(replicas=0)


def compute_status(
    rc: V1ReplicationController, pods: Sequence[V1Pod], failure: Exception | None, now: datetime
) -> V1ReplicationControllerStatus:
    """
    What the status should be.

    :param pods: the active pods that it has
    :param failure: what kept the last sync from creating or deleting, None if nothing did
    """
    template = rc.spec.template
    wanted = ((template.metadata.labels if template and template.metadata else None) or {}).items()
    min_ready_seconds = rc.spec.min_ready_seconds or 0
    fully_labeled = ready = available = 0
    for pod in pods:
        fully_labeled += wanted <= (pod.metadata.labels or {}).items()
        if is_pod_ready(pod):
            ready += 1
            available += is_pod_available(pod, min_ready_seconds, now)
    return V1ReplicationControllerStatus(
        replicas=len(pods),
        # The API leaves out these when they are 0, and never leaves out replicas.
        fully_labeled_replicas=fully_labeled or None,
        ready_replicas=ready or None,
        available_replicas=available or None,
        observed_generation=status_of(rc).observed_generation,
        conditions=_conditions(rc, len(pods), failure, now) or None,
    )


def _conditions(
    rc: V1ReplicationController, have: int, failure: Exception | None, now: datetime
) -> list[V1ReplicationControllerCondition]:
    conditions = status_of(rc).conditions
    if failure is None:
        return without_condition(conditions, REPLICA_FAILURE)
    if get_condition(conditions, REPLICA_FAILURE) is not None:
        # The first failure stands until all is well again.
        return list(conditions)
    want = desired_replicas(rc)
    reason = FAILED_CREATE if have < want else FAILED_DELETE if have > want else ""
    condition = V1ReplicationControllerCondition(
        type=REPLICA_FAILURE, status="True", reason=reason, message=str(failure), last_transition_time=now
    )
    return set_condition(conditions, condition)


async def update_status(
    rcs: Resource[V1ReplicationController], rc: V1ReplicationController, status: V1ReplicationControllerStatus
) -> V1ReplicationController:
    """
    Write the status if it says anything new, and return the controller as it is then.

    A refused write is tried once more on what the server has then. It still tells of the generation that the sync
    acted on: a change of the spec meanwhile was not seen.

    :raises ClientError: if it is refused again, or the fresh copy cannot be had
    """
    if _says_the_same(rc, status):
        return rc
    status.observed_generation = rc.metadata.generation
    for retries_left in range(_UPDATE_RETRIES, -1, -1):
        written = copy.copy(rc)
        written.status = status
        try:
            return await rcs.update_status(written)
        except Exception:
            if not retries_left:
                raise
        rc = await rcs.get(rc.metadata.name, rc.metadata.namespace)
    raise AssertionError("the last try returns or raises")


def _says_the_same(rc: V1ReplicationController, status: V1ReplicationControllerStatus) -> bool:
    current = status_of(rc)
    return (
        (current.replicas or 0) == status.replicas
        and (current.fully_labeled_replicas or None) == status.fully_labeled_replicas
        and (current.ready_replicas or None) == status.ready_replicas
        and (current.available_replicas or None) == status.available_replicas
        and (current.observed_generation or 0) == (rc.metadata.generation or 0)
        and (current.conditions or []) == (status.conditions or [])
    )
