"""deployment: which ReplicaSet is the new one, how large each may be, and what a status says of a roll-out."""

from __future__ import annotations

import copy
from typing import Any

from kinformer.models import V1Deployment, V1DeploymentStatus, V1ReplicaSet, from_dict
from kinformer_controllers.deployment import annotations, limits, rollout, sizes
from kinformer_controllers.deployment.status import is_complete, is_progressing, status_of

__all__ = ("answer",)


def answer(case: Any) -> Any:
    deployment = from_dict(V1Deployment, case["deployment"])
    status = from_dict(V1DeploymentStatus, case["newStatus"])
    replica_sets = [from_dict(V1ReplicaSet, each) for each in case["replicaSets"] or ()]
    new = rollout.find_new(deployment, replica_sets)
    old = rollout.find_old(replica_sets, new)
    # Proportions were recorded of a Deployment without status, which matters where an annotation is missing.
    without_status = copy.copy(deployment)
    without_status.status = None
    answered = {
        "newReplicaSet": _name(new),
        "old": sorted(_name(each) for each in old),
        "oldWithPods": sorted(_name(each) for each in limits.active(old)),
        "activeOrLatest": _name(sizes.active_or_latest(new, old)),
        "maxSurge": limits.max_surge(deployment),
        "maxUnavailable": limits.max_unavailable(deployment),
        "minAvailable": limits.min_available(deployment),
        "maxRevision": annotations.max_revision(replica_sets),
        "lastRevision": annotations.last_revision(replica_sets),
        "replicas": limits.total_replicas(replica_sets),
        "actual": limits.actual_replicas(replica_sets),
        "ready": limits.ready_replicas(replica_sets),
        "available": limits.available_replicas(replica_sets),
        "terminating": limits.terminating_replicas(replica_sets),
        "proportions": {
            _name(each): sizes.proportion(without_status, each, case["toAdd"], case["added"]) for each in replica_sets
        },
        "saturated": {_name(each): sizes.is_saturated(deployment, each) for each in replica_sets},
        "complete": is_complete(deployment, status),
        "progressing": is_progressing(status_of(deployment), status),
    }
    if new is not None:
        answered["newReplicas"] = limits.new_replicas(deployment, replica_sets, new)
    return answered


def _name(replica_set: V1ReplicaSet | None) -> Any:
    return replica_set.metadata.name if replica_set is not None else None
