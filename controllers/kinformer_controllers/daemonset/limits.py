"""The limits of a DaemonSet's rolling update: maxSurge and maxUnavailable. Pure functions."""

from __future__ import annotations

from kinformer.meta import scaled_value
from kinformer.models import V1DaemonSet, V1RollingUpdateDaemonSet

__all__ = ("allows_surge", "surge", "unavailable")


def surge(daemonset: V1DaemonSet, scheduled: int) -> int:
    """
    Return how many nodes may run an old and a new pod at the same time; 0 if maxSurge is not set.

    :param scheduled: the number of nodes that should run a pod
    :raises ValueError: if maxSurge is neither an integer nor a percentage
    """
    rolling = _rolling(daemonset)
    if rolling is None or rolling.max_surge is None:
        return 0
    return scaled_value(rolling.max_surge, scheduled, round_up=True)


def unavailable(daemonset: V1DaemonSet, scheduled: int) -> int:
    """
    Return how many nodes may be without an available pod.

    :param scheduled: the number of nodes that should run a pod
    :raises ValueError: if maxUnavailable is missing, or neither an integer nor a percentage
    """
    rolling = _rolling(daemonset)
    if rolling is None:
        return 0
    if rolling.max_unavailable is None:
        raise ValueError("nil value for IntOrString")
    return scaled_value(rolling.max_unavailable, scheduled, round_up=True)


def allows_surge(daemonset: V1DaemonSet) -> bool:
    """Whether a node may run two pods during an update."""
    try:
        return surge(daemonset, 1) > 0
    except ValueError:
        return False


def _rolling(daemonset: V1DaemonSet) -> V1RollingUpdateDaemonSet | None:
    strategy = daemonset.spec.update_strategy
    if strategy is None or strategy.type != "RollingUpdate":
        return None
    return strategy.rolling_update
