"""Planning what a sync of a DaemonSet does on each node. Pure functions: nodes, pods and a time in, a plan out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from kinformer.controllerutil.pods import is_pod_available, is_pod_ready, is_pod_terminal, pod_phase
from kinformer.models import V1DaemonSet, V1Pod
from kinformer_controllers.daemonset.placement import Placement
from kinformer_controllers.daemonset.rolling_update import allows_surge
from kinformer_controllers.daemonset.template import HASH_LABEL, target_node

__all__ = ("Plan", "oldest_first", "plan_nodes", "pods_by_node")

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

FAILED_DAEMON_POD: Final = "FailedDaemonPod"
SUCCEEDED_DAEMON_POD: Final = "SucceededDaemonPod"

#: Called with a failed pod and its node. Returns None if the pod may be deleted now, otherwise the seconds to wait.
Backoff = Callable[[V1Pod, str], float | None]


@dataclass(slots=True)
class Plan:
    """
    The plan of one sync.

    :ivar create: the names of the nodes that should get a pod
    :ivar delete: the pods to delete
    :ivar ended: the pods in `delete` that have failed or succeeded: the reason of an Event, the pod, and its node
    :ivar look_again: seconds after which a failed pod may be deleted; None if none has to wait
    """

    create: list[str] = field(default_factory=list)
    delete: list[V1Pod] = field(default_factory=list)
    ended: list[tuple[str, V1Pod, str]] = field(default_factory=list)
    look_again: float | None = None


def pods_by_node(pods: Iterable[V1Pod], *, with_ended: bool = False) -> dict[str, list[V1Pod]]:
    """
    Return a DaemonSet's pods by the node that they are bound to or made for. Pods without such a node are left out.

    :param with_ended: whether to include pods that have ended and are being deleted
    """
    found: dict[str, list[V1Pod]] = {}
    for pod in pods:
        if not with_ended and pod.metadata.deletion_timestamp and is_pod_terminal(pod):
            continue
        node = target_node(pod)
        if node is not None:
            found.setdefault(node, []).append(pod)
    return found


def oldest_first(pods: Iterable[V1Pod]) -> list[V1Pod]:
    """Sort pods: those that are bound to their node first, then by age, then by name."""
    return sorted(pods, key=_age)


def plan_nodes(
    daemonset: V1DaemonSet,
    nodes: Mapping[str, Placement],
    there: Mapping[str, Sequence[V1Pod]],
    hash_: str,
    backoff: Backoff,
    now: datetime,
) -> Plan:
    """
    Plan the pods to create on nodes that have none, and the surplus pods to delete. This does not plan rolling updates.

    :param nodes: the names of all nodes, and whether they should run a pod
    :param there: the DaemonSet's pods by node
    :param hash_: the hash of the current template
    :param backoff: called for each pod that has failed
    """
    plan = Plan()
    surging = allows_surge(daemonset)
    for name, (should_run, should_continue) in nodes.items():
        pods = there.get(name)
        if should_run and not pods:
            plan.create.append(name)
        elif should_continue:
            running = _without_ended(plan, pods or (), name, backoff)
            if not surging:
                plan.delete += oldest_first(running)[1:]
            elif not running:
                if should_run:
                    plan.create.append(name)
            elif len(running) > 1:
                plan.delete += _excess_of_surge(daemonset, running, hash_, now)
        elif pods:
            plan.delete += [pod for pod in pods if not pod.metadata.deletion_timestamp]
    # Unbound pods of a node that is gone: the scheduler will never bind them, and the pod garbage collector deletes
    # only bound ones.
    for name, pods in there.items():
        if name not in nodes:
            plan.delete += [pod for pod in pods if pod.spec is None or not pod.spec.node_name]
    return plan


def _without_ended(plan: Plan, pods: Iterable[V1Pod], node: str, backoff: Backoff) -> list[V1Pod]:
    """Return the pods that run or will run. Those that have ended are added to the plan's deletions."""
    running = []
    for pod in pods:
        if pod.metadata.deletion_timestamp:
            continue
        phase = pod_phase(pod)
        if phase == "Failed":
            wait = backoff(pod, node)
            if wait is not None:
                plan.look_again = wait if plan.look_again is None else min(wait, plan.look_again)
                continue
            plan.ended.append((FAILED_DAEMON_POD, pod, node))
            plan.delete.append(pod)
        elif phase == "Succeeded":
            plan.ended.append((SUCCEEDED_DAEMON_POD, pod, node))
            plan.delete.append(pod)
        else:
            running.append(pod)
    return running


def _excess_of_surge(daemonset: V1DaemonSet, running: Iterable[V1Pod], hash_: str, now: datetime) -> list[V1Pod]:
    """
    Return the surplus pods of a node during an update with surge.

    The oldest new pod and the oldest old pod both stay while the old one is ready and the new one is not yet available.
    """
    excess = []
    new: V1Pod | None = None
    old: V1Pod | None = None
    for pod in oldest_first(running):
        if (pod.metadata.labels or {}).get(HASH_LABEL) == hash_:
            if new is None:
                new = pod
                continue
        elif old is None:
            old = pod
            continue
        excess.append(pod)
    if new is not None and old is not None:
        available = is_pod_available(new, daemonset.spec.min_ready_seconds or 0, now)
        if available or not is_pod_ready(old):
            excess.append(old)
    return excess


def _age(pod: V1Pod) -> tuple[bool, datetime, str]:
    unbound = pod.spec is None or not pod.spec.node_name
    return unbound, pod.metadata.creation_timestamp or _LONG_AGO, pod.metadata.name
