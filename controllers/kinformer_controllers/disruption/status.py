"""Computing a budget's status: how many pods are healthy, how many must be, and how many may be evicted.

All functions are pure: objects and a time in, values out. The API server's eviction uses the status: for each eviction
it lowers ``disruptionsAllowed`` by one and adds the pod to ``disruptedPods``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kinformer.controllerutil.conditions import get_condition, replace_condition
from kinformer.controllerutil.pods import is_pod_ready
from kinformer.meta import scaled_value
from kinformer.models import V1Condition, V1Pod, V1PodDisruptionBudget, V1PodDisruptionBudgetStatus

__all__ = (
    "Disrupted",
    "count_healthy",
    "desired_healthy",
    "disrupted_pods",
    "failed_status",
    "is_up_to_date",
    "new_status",
    "wants_scale",
)

#: How long an allowed eviction counts against the budget while its pod is not deleted.
_DELETION_TIMEOUT: Final = timedelta(minutes=2)

DISRUPTION_ALLOWED: Final = "DisruptionAllowed"
SUFFICIENT_PODS: Final = "SufficientPods"
INSUFFICIENT_PODS: Final = "InsufficientPods"
SYNC_FAILED: Final = "SyncFailed"


def wants_scale(budget: V1PodDisruptionBudget) -> bool:
    """Whether the budget depends on the desired number of pods, not on the number of existing ones."""
    spec = budget.spec
    return spec.max_unavailable is not None or isinstance(spec.min_available, str)


def desired_healthy(budget: V1PodDisruptionBudget, expected: int) -> int:
    """
    Return how many pods must be healthy. Percentages are rounded up, as in Kubernetes.

    :param expected: how many pods there should be
    :raises ValueError: if the budget's number is neither an integer nor a percentage
    """
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(expected - scaled_value(spec.max_unavailable, expected, round_up=True), 0)
    if spec.min_available is not None:
        return scaled_value(spec.min_available, expected, round_up=True)
    return 0


@dataclass(frozen=True, slots=True)
class Disrupted:
    """
    The state of the evictions in a status.

    :ivar pods: by name, the pods that are still expected to be deleted, with the times of their evictions
    :ivar overdue: the pods that should have been deleted by now
    :ivar recheck: the time when the next of `pods` is overdue
    """

    pods: dict[str, datetime]
    overdue: list[V1Pod]
    recheck: datetime | None


def disrupted_pods(budget: V1PodDisruptionBudget, pods: Iterable[V1Pod], now: datetime) -> Disrupted:
    """Return the evictions that still count. Pods that are gone or are being deleted are left out."""
    noted: Mapping[str, datetime] = (budget.status.disrupted_pods if budget.status is not None else None) or {}
    still: dict[str, datetime] = {}
    overdue = []
    for pod in pods if noted else ():
        since = noted.get(pod.metadata.name)
        if since is None or pod.metadata.deletion_timestamp:
            continue
        if since + _DELETION_TIMEOUT <= now:
            overdue.append(pod)
        else:
            still[pod.metadata.name] = since
    recheck = min(still.values()) + _DELETION_TIMEOUT if still else None
    return Disrupted(still, overdue, recheck)


def count_healthy(pods: Iterable[V1Pod], disrupted: Mapping[str, datetime], now: datetime) -> int:
    """Return how many pods are ready, are not being deleted, and have no eviction that still counts."""
    healthy = 0
    for pod in pods:
        since = disrupted.get(pod.metadata.name)
        leaving = pod.metadata.deletion_timestamp or (since is not None and since + _DELETION_TIMEOUT > now)
        healthy += not leaving and is_pod_ready(pod)
    return healthy


def new_status(
    budget: V1PodDisruptionBudget,
    *,
    healthy: int,
    desired: int,
    expected: int,
    disrupted: dict[str, datetime],
    now: datetime,
) -> V1PodDisruptionBudgetStatus:
    """
    Return the new status of a budget.

    Nothing may be evicted while no pods are expected. Otherwise the first pods of a new budget could be evicted before
    this controller has counted them.
    """
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    generation = budget.metadata.generation or 0
    condition = V1Condition(
        type=DISRUPTION_ALLOWED,
        status="True" if allowed else "False",
        reason=SUFFICIENT_PODS if allowed else INSUFFICIENT_PODS,
        message="",
        observed_generation=generation or None,
        last_transition_time=now,
    )
    return V1PodDisruptionBudgetStatus(
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        disruptions_allowed=allowed,
        disrupted_pods=disrupted or None,
        observed_generation=generation or None,
        conditions=_with_condition(budget, condition),
    )


def is_up_to_date(budget: V1PodDisruptionBudget, status: V1PodDisruptionBudgetStatus) -> bool:
    """Whether the budget already has this status. Messages and times are not compared."""
    there = budget.status
    if there is None:
        return False
    now, then = (
        get_condition(there.conditions, DISRUPTION_ALLOWED),
        get_condition(status.conditions, DISRUPTION_ALLOWED),
    )
    return (
        (there.current_healthy or 0) == status.current_healthy
        and (there.desired_healthy or 0) == status.desired_healthy
        and (there.expected_pods or 0) == status.expected_pods
        and (there.disruptions_allowed or 0) == status.disruptions_allowed
        and (there.disrupted_pods or {}) == (status.disrupted_pods or {})
        and (there.observed_generation or 0) == (status.observed_generation or 0)
        and now is not None
        and then is not None
        and (now.status, now.reason) == (then.status, then.reason)
    )


def failed_status(budget: V1PodDisruptionBudget, error: Exception, now: datetime) -> V1PodDisruptionBudgetStatus:
    """
    Return the status of a budget that could not be computed: nothing may be evicted, and the condition has the error.

    All other fields stay the same.
    """
    there = budget.status
    status = (
        copy.copy(there)
        if there is not None
        else V1PodDisruptionBudgetStatus(current_healthy=0, desired_healthy=0, expected_pods=0, disruptions_allowed=0)
    )
    status.disruptions_allowed = 0
    condition = V1Condition(
        type=DISRUPTION_ALLOWED,
        status="False",
        reason=SYNC_FAILED,
        message=str(error),
        observed_generation=status.observed_generation,
        last_transition_time=now,
    )
    status.conditions = _with_condition(budget, condition)
    return status


def _with_condition(budget: V1PodDisruptionBudget, condition: V1Condition) -> list[V1Condition]:
    return replace_condition(budget.status.conditions if budget.status is not None else None, condition)
