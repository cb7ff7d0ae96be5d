"""How many pods a Deployment's ReplicaSets have, and how many they may have during a rollout. No I/O.

First the sums over ReplicaSets, of desired and of actual pods; then ``maxSurge`` and ``maxUnavailable`` as numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from kinformer.meta import scaled_value
from kinformer.models import V1Deployment, V1ReplicaSet

__all__ = (
    "RECREATE",
    "ROLLING_UPDATE",
    "Limits",
    "StrategyError",
    "active",
    "actual_replicas",
    "age",
    "available",
    "available_replicas",
    "desired",
    "is_rolling_update",
    "limits_of",
    "max_surge",
    "max_unavailable",
    "min_available",
    "new_replicas",
    "ready_replicas",
    "strategy_of",
    "terminating_replicas",
    "total_replicas",
)

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

ROLLING_UPDATE: Final = "RollingUpdate"
RECREATE: Final = "Recreate"


def desired(obj: Any) -> int:
    """Return the replicas in the spec of a Deployment or a ReplicaSet; 1 if not set, as the server's default."""
    replicas: int | None = obj.spec.replicas
    return 1 if replicas is None else replicas


def active(replica_sets: Iterable[V1ReplicaSet]) -> list[V1ReplicaSet]:
    """Return the ReplicaSets that should have pods."""
    return [each for each in replica_sets if desired(each) > 0]


def age(replica_set: V1ReplicaSet) -> tuple[datetime, str]:
    """Return a sort key that puts the oldest first."""
    meta = replica_set.metadata
    return (meta.creation_timestamp or _LONG_AGO, meta.name)


def available(replica_set: V1ReplicaSet) -> int:
    """Return the number of its available pods."""
    return _has(replica_set, "available_replicas")


def total_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """Return the sum of their desired pods."""
    return sum(map(desired, replica_sets))


def actual_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """Return the sum of the pods that they have."""
    return sum(_has(each, "replicas") for each in replica_sets)


def ready_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    return sum(_has(each, "ready_replicas") for each in replica_sets)


def available_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int:
    return sum(map(available, replica_sets))


def terminating_replicas(replica_sets: Iterable[V1ReplicaSet]) -> int | None:
    """
    Return the sum of the pods that are being deleted and have not ended.

    :return: None if a synced ReplicaSet has no such number, because its controller is older
    """
    statuses = [each.status for each in replica_sets if each.status is not None]
    if any(status.terminating_replicas is None and status.observed_generation for status in statuses):
        return None
    return sum(status.terminating_replicas or 0 for status in statuses)


def _has(replica_set: V1ReplicaSet, count: str) -> int:
    return (getattr(replica_set.status, count) or 0) if replica_set.status is not None else 0


class StrategyError(ValueError):
    """A Deployment's strategy is invalid."""


class Limits(NamedTuple):
    """
    The limits of a rolling update.

    :param surge: how many pods there may be beyond the desired number
    :param unavailable: how many of the desired pods may be unavailable
    """

    surge: int
    unavailable: int


def strategy_of(deployment: V1Deployment) -> str:
    """Return the type of the strategy. (The server sets RollingUpdate by default.)"""
    strategy = deployment.spec.strategy
    return (strategy.type or "") if strategy else ""


def is_rolling_update(deployment: V1Deployment) -> bool:
    return strategy_of(deployment) == ROLLING_UPDATE


def limits_of(deployment: V1Deployment) -> Limits:
    """
    Return both limits of a rolling update. Percentages of the replicas are rounded up for surge, down for unavailable.

    If both are zero, one pod may be unavailable. Surge is not raised, because a quota may forbid more pods.

    :raises StrategyError: if one of them is neither a number nor a percentage
    """
    rolling = deployment.spec.strategy.rolling_update
    surge = _scaled("maxSurge", rolling.max_surge if rolling else None, deployment, round_up=True)
    unavailable = _scaled("maxUnavailable", rolling.max_unavailable if rolling else None, deployment, round_up=False)
    return Limits(surge, unavailable or (0 if surge else 1))


def max_surge(deployment: V1Deployment) -> int:
    """Return the surge; 0 if the strategy is not RollingUpdate or the limit is invalid."""
    if not is_rolling_update(deployment):
        return 0
    try:
        return limits_of(deployment).surge
    except StrategyError:
        return 0


def max_unavailable(deployment: V1Deployment) -> int:
    """Return how many pods may be unavailable; 0 if the strategy is not RollingUpdate or the limit is invalid."""
    if not is_rolling_update(deployment):
        return 0
    try:
        return min(limits_of(deployment).unavailable, desired(deployment))
    except StrategyError:
        return 0


def min_available(deployment: V1Deployment) -> int:
    """Return how many pods must be available during a rolling update."""
    return desired(deployment) - max_unavailable(deployment) if is_rolling_update(deployment) else 0


def new_replicas(deployment: V1Deployment, all_: Iterable[V1ReplicaSet], new: V1ReplicaSet) -> int:
    """
    Return how many replicas the new ReplicaSet may have now.

    :param all_: all ReplicaSets, including the new one
    :raises StrategyError: if the strategy is invalid
    """
    have = desired(new)
    if is_rolling_update(deployment):
        rolling = deployment.spec.strategy.rolling_update
        surge = _scaled("maxSurge", rolling.max_surge if rolling else None, deployment, round_up=True)
        room = desired(deployment) + surge - total_replicas(all_)
        # If there is no room, it keeps its size, even if it is too large.
        return have + min(room, desired(deployment) - have) if room > 0 else have
    if strategy_of(deployment) == RECREATE:
        return desired(deployment)
    raise StrategyError(f"deployment type {strategy_of(deployment)!r} isn't supported: want RollingUpdate or Recreate")


def _scaled(name: str, value: Any, deployment: V1Deployment, *, round_up: bool) -> int:
    try:
        return scaled_value(0 if value is None else value, desired(deployment), round_up=round_up)
    except ValueError as error:
        raise StrategyError(f"{name} is {value!r}: {error}") from error
