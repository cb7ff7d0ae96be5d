"""The limits of a rolling update: ``maxSurge`` and ``maxUnavailable`` as numbers of pods. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from kinformer.meta import scaled_value
from kinformer.models import V1Deployment, V1ReplicaSet
from kinformer_controllers.deployment.counts import desired, total_replicas

__all__ = (
    "RECREATE",
    "ROLLING_UPDATE",
    "Limits",
    "StrategyError",
    "is_rolling_update",
    "limits_of",
    "max_surge",
    "max_unavailable",
    "min_available",
    "new_replicas",
    "strategy_of",
)

ROLLING_UPDATE: Final = "RollingUpdate"
RECREATE: Final = "Recreate"


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
    if not is_rolling_update(deployment) or desired(deployment) == 0:
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
