"""Computing a Deployment's status: counts, availability, and the progress of the rollout. No I/O."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kinformer.controllerutil.conditions import put_condition, without_condition
from kinformer.models import V1Deployment, V1DeploymentStatus, V1ReplicaSet
from kinformer_controllers.deployment.conditions import (
    AVAILABLE,
    REPLICA_FAILURE,
    condition,
    progress_conditions,
    replica_failure,
)
from kinformer_controllers.deployment.counts import (
    actual_replicas,
    available_replicas,
    desired,
    ready_replicas,
    terminating_replicas,
    total_replicas,
)
from kinformer_controllers.deployment.limits import max_unavailable

__all__ = ("compute_status", "rollout_status", "same_status", "status_of")

_COUNTS = (
    "observed_generation",
    "replicas",
    "updated_replicas",
    "ready_replicas",
    "available_replicas",
    "unavailable_replicas",
)


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
            AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now
        )
    else:
        availability = condition(
            AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", now
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
    conditions = progress_conditions(deployment, status, computed, new, now)
    failure = replica_failure(new, old)
    if failure is not None:
        computed.conditions = put_condition(conditions, failure)
    else:
        computed.conditions = without_condition(conditions, REPLICA_FAILURE)
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
