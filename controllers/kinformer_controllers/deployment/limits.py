"""How many pods a roll-out may have too many, and too few: ``maxSurge`` and ``maxUnavailable`` as numbers. No I/O."""

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
    """A Deployment's strategy cannot be understood."""


class Limits(NamedTuple):
    """
    :param surge: pods over what the Deployment asks for
    :param unavailable: pods of it that need not be available
    """

    surge: int
    unavailable: int


def strategy_of(deployment: V1Deployment) -> str:
    """Its type; the server fills in RollingUpdate where it says nothing."""
    strategy = deployment.spec.strategy
    return (strategy.type or "") if strategy else ""


def is_rolling_update(deployment: V1Deployment) -> bool:
    return strategy_of(deployment) == ROLLING_UPDATE


def limits_of(deployment: V1Deployment) -> Limits:
    """
    Both limits of a rolling update, percentages of the replicas asked for: surge rounded up, unavailable down.

    If that leaves nothing, one pod may be unavailable: surge may be out of the question, because of a quota.

    :raises StrategyError: if one of them is neither a number nor a percentage
    """
    rolling = deployment.spec.strategy.rolling_update
    surge = _scaled("maxSurge", rolling.max_surge if rolling else None, deployment, round_up=True)
    unavailable = _scaled("maxUnavailable", rolling.max_unavailable if rolling else None, deployment, round_up=False)
    return Limits(surge, unavailable or (0 if surge else 1))


def max_surge(deployment: V1Deployment) -> int:
    """0 for any other strategy than a rolling update, and where the limit cannot be understood."""
    if not is_rolling_update(deployment):
        return 0
    try:
        return limits_of(deployment).surge
    except StrategyError:
        return 0


def max_unavailable(deployment: V1Deployment) -> int:
    """At most as many as are asked for; 0 where :func:`max_surge` is."""
    if not is_rolling_update(deployment) or desired(deployment) == 0:
        return 0
    try:
        return min(limits_of(deployment).unavailable, desired(deployment))
    except StrategyError:
        return 0


def min_available(deployment: V1Deployment) -> int:
    """Pods that have to be available all through a rolling update."""
    return desired(deployment) - max_unavailable(deployment) if is_rolling_update(deployment) else 0


def new_replicas(deployment: V1Deployment, all_: Iterable[V1ReplicaSet], new: V1ReplicaSet) -> int:
    """
    How many replicas the new ReplicaSet may have now.

    :param all_: all ReplicaSets, the new one among them
    :raises StrategyError: if the strategy cannot be understood
    """
    have = desired(new)
    if is_rolling_update(deployment):
        rolling = deployment.spec.strategy.rolling_update
        surge = _scaled("maxSurge", rolling.max_surge if rolling else None, deployment, round_up=True)
        room = desired(deployment) + surge - total_replicas(all_)
        # Where there is no room it stays as it is, too large though it may be.
        return have + min(room, desired(deployment) - have) if room > 0 else have
    if strategy_of(deployment) == RECREATE:
        return desired(deployment)
    raise StrategyError(f"deployment type {strategy_of(deployment)!r} isn't supported: want RollingUpdate or Recreate")


def _scaled(name: str, value: Any, deployment: V1Deployment, *, round_up: bool) -> int:
    try:
        return scaled_value(0 if value is None else value, desired(deployment), round_up=round_up)
    except ValueError as error:
        raise StrategyError(f"{name} is {value!r}: {error}") from error
