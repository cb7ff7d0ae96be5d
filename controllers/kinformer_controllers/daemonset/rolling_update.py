"""Planning a rolling update of a DaemonSet: which old pods to delete, and where to create new ones. Pure functions.

The limits are maxSurge and maxUnavailable. Without surge, as many old pods are deleted as may be unavailable, and the
next sync creates the new ones. With surge, a new pod is created on the node of an old one, which is deleted when the
new one is available. Missing and surplus pods are planned in :mod:`~kinformer_controllers.daemonset.plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kinformer.controllerutil.pods import is_pod_available
from kinformer.meta import scaled_value
from kinformer.models import V1DaemonSet, V1Pod, V1RollingUpdateDaemonSet
from kinformer_controllers.daemonset.placement import Placement
from kinformer_controllers.daemonset.template import is_updated, template_generation

__all__ = (
    "Update",
    "allows_surge",
    "plan_update",
    "surge",
    "unavailable",
)


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


@dataclass(slots=True)
class Update:
    """
    The plan of a rolling update.

    :ivar create: the names of the nodes that should get a second pod
    :ivar delete: the old pods to delete
    """

    create: list[str] = field(default_factory=list)
    delete: list[V1Pod] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _OnNode:
    """
    The pods on one node that are not being deleted.

    :ivar too_many: whether there are several new or several old pods; the plan for nodes deletes them first
    """

    new: V1Pod | None
    old: V1Pod | None
    too_many: bool = False


def plan_update(
    daemonset: V1DaemonSet,
    nodes: Mapping[str, Placement],
    there: Mapping[str, Sequence[V1Pod]],
    hash_: str,
    now: datetime,
) -> Update:
    """
    Plan what a rolling update may do now.

    :param nodes: the names of all nodes, and whether they should run a pod
    :param there: the DaemonSet's pods by node
    :param hash_: the hash of the current template
    :raises ValueError: if ``maxSurge`` or ``maxUnavailable`` is neither an integer nor a percentage
    """
    wanted = {name: placed.should_run for name, placed in nodes.items()}
    desired = sum(wanted.values())
    may_be_unavailable = unavailable(daemonset, desired)
    may_surge = surge(daemonset, desired)
    if desired > 0 and may_be_unavailable == 0 and may_surge == 0:
        may_be_unavailable = 1  # otherwise the update would never progress
    generation = template_generation(daemonset)
    min_ready_seconds = daemonset.spec.min_ready_seconds or 0

    def is_available(pod: V1Pod) -> bool:
        return is_pod_available(pod, min_ready_seconds, now)

    # Every node that should run a pod counts, even without a pod.
    names = list(dict.fromkeys([*there, *(name for name, should_run in wanted.items() if should_run)]))
    on_nodes = {name: _pods_on(there.get(name, ()), hash_, generation) for name in names}
    if may_surge == 0:
        return _replace(on_nodes, may_be_unavailable, is_available)
    return _surge(on_nodes, wanted, may_surge, desired, is_available)


def _pods_on(pods: Iterable[V1Pod], hash_: str, generation: int | None) -> _OnNode:
    new: V1Pod | None = None
    old: V1Pod | None = None
    for pod in pods:
        if pod.metadata.deletion_timestamp:
            continue
        if is_updated(pod, hash_, generation):
            if new is not None:
                return _OnNode(None, None, too_many=True)
            new = pod
        else:
            if old is not None:
                return _OnNode(None, None, too_many=True)
            old = pod
    return _OnNode(new, old)


def _replace(on_nodes: Mapping[str, _OnNode], limit: int, is_available: Callable[[V1Pod], bool]) -> Update:
    """Plan without surge: delete all unavailable old pods, and as many available ones as may be unavailable."""
    not_available = 0
    useless = []
    candidates = []
    for on in on_nodes.values():
        if on.too_many or (on.old is None) == (on.new is None):
            not_available += 1  # the plan for nodes makes or deletes a pod there
        elif on.new is not None:
            not_available += not is_available(on.new)
        elif on.old is not None:
            if not is_available(on.old):
                useless.append(on.old)
                not_available += 1
            elif not_available < limit:
                candidates.append(on.old)
    return Update(delete=[*useless, *candidates[: max(limit - not_available, 0)]])


def _surge(
    on_nodes: Mapping[str, _OnNode],
    wanted: Mapping[str, bool],
    limit: int,
    desired: int,
    is_available: Callable[[V1Pod], bool],
) -> Update:
    """Plan with surge: create new pods on nodes whose old pod is unavailable, and on as many others as allowed."""
    update = Update()
    misplaced: list[V1Pod] = []
    candidates: list[str] = []
    surging = available = 0
    for name, on in on_nodes.items():
        if on.too_many:
            surging += 1  # the plan for nodes deletes a pod there
            continue
        counted = on.old if on.old is not None else on.new
        available += counted is not None and is_available(counted)
        if on.old is None:
            continue
        if on.new is not None:
            if is_available(on.new):
                update.delete.append(on.old)
            else:
                surging += 1
        elif not wanted.get(name, False):
            (misplaced if is_available(on.old) else update.delete).append(on.old)
        elif not is_available(on.old):
            update.create.append(name)
        elif surging < limit:
            candidates.append(name)
    # An available pod on a node that should not run one is deleted when enough other pods are available.
    update.delete += misplaced[: max(available - desired, 0)]
    update.create += candidates[: max(limit - surging, 0)]
    return update
