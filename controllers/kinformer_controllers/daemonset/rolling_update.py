"""A rolling update of a DaemonSet: which old pods go, and where new ones come beside them. Decisions only.

Without surge, just as many old pods are deleted as may be unavailable; the next sync makes the new ones. With surge, a
new pod is made beside an old one, which goes when the new one is available. What a node lacks, or has too much of, is
seen to by :mod:`~kinformer_controllers.daemonset.plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kinformer.models import V1DaemonSet, V1Pod
from kinformer_controllers.daemonset.limits import surge, unavailable
from kinformer_controllers.daemonset.placement import Placement
from kinformer_controllers.daemonset.template import is_updated, template_generation
from kinformer_controllers.shared.owning.status import is_pod_available

__all__ = ("Update", "plan_update")


@dataclass(slots=True)
class Update:
    """
    :ivar create: names of the nodes that are to get a second pod
    :ivar delete: the old pods that are to go
    """

    create: list[str] = field(default_factory=list)
    delete: list[V1Pod] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _OnNode:
    """
    The pods on one node that are not being deleted.

    :ivar too_many: whether there are several of one kind, which the plan for nodes puts right first
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
    What a rolling update may do now.

    :param nodes: the names of all nodes, and whether they are to run a pod
    :param there: the DaemonSet's pods by node
    :param hash_: of the current template
    :raises ValueError: if ``maxSurge`` or ``maxUnavailable`` is neither an integer nor a percentage
    """
    wanted = {name: placed.should_run for name, placed in nodes.items()}
    desired = sum(wanted.values())
    may_be_unavailable = unavailable(daemonset, desired)
    may_surge = surge(daemonset, desired)
    if desired > 0 and may_be_unavailable == 0 and may_surge == 0:
        may_be_unavailable = 1  # the update would never go on
    generation = template_generation(daemonset)
    min_ready_seconds = daemonset.spec.min_ready_seconds or 0

    def is_available(pod: V1Pod) -> bool:
        return is_pod_available(pod, min_ready_seconds, now)

    # Every node that is to run a pod counts, those without one too.
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
    """Without surge: delete old pods that are of no use anyway, and as many others as may be unavailable."""
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
    """With surge: make new pods beside old ones, at once where the old one is of no use, else as many as allowed."""
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
    # A pod that is on the wrong node goes when one on the right node can do without it.
    update.delete += misplaced[: max(available - desired, 0)]
    update.create += candidates[: max(limit - surging, 0)]
    return update
