"""replica_status: the status of a ReplicaSet with active and terminating pods, after a sync that failed or did not."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.models import V1Pod, V1ReplicaSet, from_dict, to_dict
from kinformer_controllers.replicaset.controller import REPLICA_SETS
from kinformer_controllers.shared.replicas.replicas import compute_status

__all__ = ("answer",)


def answer(case: Any) -> Any:
    replica_set = from_dict(V1ReplicaSet, case["replicaSet"])
    active, terminating = ([from_dict(V1Pod, pod) for pod in case.get(key) or ()] for key in ("active", "terminating"))
    failure = Exception(case["error"]) if case.get("error") else None
    now = datetime.fromisoformat(case["now"])
    status = to_dict(compute_status(REPLICA_SETS, replica_set, active, terminating, failure, now))
    had = {condition.type for condition in (replica_set.status.conditions or () if replica_set.status else ())}
    for condition in status.get("conditions", ()):
        if condition["type"] not in had:
            # Kubernetes' is of the moment at which the case was recorded.
            condition["lastTransitionTime"] = None
    return status
