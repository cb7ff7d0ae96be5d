"""What a sync of a DaemonSet has to do on each node. Decisions only: nodes, pods and a time go in, a plan comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from kinformer.models import V1DaemonSet, V1Pod
from kinformer_controllers.daemonset.limits import allows_surge
from kinformer_controllers.daemonset.placement import Placement
from kinformer_controllers.daemonset.template import HASH_LABEL, target_node
from kinformer_controllers.shared.owning.status import is_pod_available, is_pod_ready, is_pod_terminal, pod_status

__all__ = ("Plan", "oldest_first", "plan_nodes", "pods_by_node")

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

FAILED_DAEMON_POD: Final = "FailedDaemonPod"
SUCCEEDED_DAEMON_POD: Final = "SucceededDaemonPod"

#: Told of a failed pod and its node: None if it may be deleted now, or for how many seconds it is to be left.
Backoff = Callable[[V1Pod, str], float | None]


@dataclass(slots=True)
class Plan:
    """
    :ivar create: names of the nodes that are to get a pod
    :ivar delete: the pods that are to go
    :ivar ended: those of `delete` that have failed or succeeded: the reason of an Event, the pod, and its node
    :ivar look_again: seconds after which a failed pod may be deleted; None if there is none to wait for
    """

    create: list[str] = field(default_factory=list)
    delete: list[V1Pod] = field(default_factory=list)
    ended: list[tuple[str, V1Pod, str]] = field(default_factory=list)
    look_again: float | None = None


def pods_by_node(pods: Iterable[V1Pod], *, with_ended: bool = False) -> dict[str, list[V1Pod]]:
    """
    A DaemonSet's pods by the node that they are on, or are meant for. A pod that says no node is left out.

    :param with_ended: also those that have ended and are being deleted: nothing is left to do about them
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
    """Pods that are bound to their node before those that are not, then by age, then by name."""
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
    Which nodes lack a pod, and which pods are one too many. A rolling update is planned apart from this.

    :param nodes: the names of all nodes, and whether they are to run a pod
    :param there: the DaemonSet's pods by node
    :param hash_: of the current template
    :param backoff: asked of each pod that has failed
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
    # The scheduler never binds a pod to a node that is gone, and the pod garbage collector sees to bound ones only.
    for name, pods in there.items():
        if name not in nodes:
            plan.delete += [pod for pod in pods if pod.spec is None or not pod.spec.node_name]
    return plan


def _without_ended(plan: Plan, pods: Iterable[V1Pod], node: str, backoff: Backoff) -> list[V1Pod]:
    """Those that run, or will; the plan is to delete those that have ended."""
    running = []
    for pod in pods:
        if pod.metadata.deletion_timestamp:
            continue
        status = pod_status(pod)
        phase = status.phase if status is not None else None
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
    The pods that a node has too many while a new one replaces an old one.

    The oldest new and the oldest old pod may both stay while the old one is ready and the new one not yet available.
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
