"""How many pods a rolling update of a DaemonSet may take down, or add, at once. Pure functions."""

from __future__ import annotations

from kinformer.meta import scaled_value
from kinformer.models import V1DaemonSet, V1RollingUpdateDaemonSet

__all__ = ("allows_surge", "surge", "unavailable")


def surge(daemonset: V1DaemonSet, scheduled: int) -> int:
    """
    How many nodes may run an old and a new pod at once; 0 if it is not asked for.

    :param scheduled: how many nodes are to run a pod
    :raises ValueError: if it is neither an integer nor a percentage
    """
    rolling = _rolling(daemonset)
    if rolling is None or rolling.max_surge is None:
        return 0
    return scaled_value(rolling.max_surge, scheduled, round_up=True)


def unavailable(daemonset: V1DaemonSet, scheduled: int) -> int:
    """
    How many nodes may be without a pod that is available.

    :raises ValueError: if it is missing, or neither an integer nor a percentage
    """
    rolling = _rolling(daemonset)
    if rolling is None:
        return 0
    if rolling.max_unavailable is None:
        raise ValueError("nil value for IntOrString")
    return scaled_value(rolling.max_unavailable, scheduled, round_up=True)


def allows_surge(daemonset: V1DaemonSet) -> bool:
    """Whether a node may run two pods for a while."""
    try:
        return surge(daemonset, 1) > 0
    except ValueError:
        return False


def _rolling(daemonset: V1DaemonSet) -> V1RollingUpdateDaemonSet | None:
    strategy = daemonset.spec.update_strategy
    if strategy is None or strategy.type != "RollingUpdate":
        return None
    return strategy.rolling_update
