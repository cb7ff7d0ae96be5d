"""Computing a DaemonSet's status from nodes and pods, and writing it if it has changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kinformer.cache import Indexer
from kinformer.client import Resource
from kinformer.clock import Clock
from kinformer.controllerutil.pods import is_pod_available, is_pod_ready, next_availability_check
from kinformer.controllerutil.writing import write_status
from kinformer.models import V1DaemonSet, V1DaemonSetStatus, V1Node, V1Pod
from kinformer_controllers.daemonset.placement import Placement, Placements
from kinformer_controllers.daemonset.plan import oldest_first, pods_by_node
from kinformer_controllers.daemonset.template import is_updated, template_generation

__all__ = (
    "DaemonSetStatusWriter",
    "count_nodes",
    "rebased",
    "same_counts",
)


def count_nodes(
    daemonset: V1DaemonSet,
    nodes: Mapping[str, Placement],
    there: Mapping[str, Sequence[V1Pod]],
    hash_: str,
    now: datetime,
    *,
    observed: bool,
) -> V1DaemonSetStatus:
    """
    Return the status for these nodes and pods. If a node has several pods, the oldest counts.

    :param nodes: the names of all nodes, and whether they should run a pod
    :param there: the DaemonSet's pods by node
    :param hash_: the hash of the current template
    :param observed: whether the sync acted on this generation of the spec
    """
    min_ready_seconds = daemonset.spec.min_ready_seconds or 0
    generation = template_generation(daemonset)
    desired = current = misscheduled = ready = available = updated = 0
    for name, placed in nodes.items():
        pods = there.get(name)
        if not placed.should_run:
            misscheduled += bool(pods)
            continue
        desired += 1
        if not pods:
            continue
        current += 1
        pod = pods[0] if len(pods) == 1 else oldest_first(pods)[0]
        if is_pod_ready(pod):
            ready += 1
            available += is_pod_available(pod, min_ready_seconds, now)
        updated += is_updated(pod, hash_, generation)
    status = copy.copy(daemonset.status) if daemonset.status is not None else _empty()
    if observed:
        status.observed_generation = daemonset.metadata.generation
    status.desired_number_scheduled = desired
    status.current_number_scheduled = current
    status.number_misscheduled = misscheduled
    status.number_ready = ready
    status.updated_number_scheduled = updated
    status.number_available = available
    status.number_unavailable = desired - available
    return status


def same_counts(daemonset: V1DaemonSet, status: V1DaemonSetStatus) -> bool:
    """Whether the DaemonSet already has these counts, for this generation of its spec or a later one."""
    there = daemonset.status
    if there is None or (there.observed_generation or 0) < (daemonset.metadata.generation or 0):
        return False
    return _counts(there) == _counts(status)


def rebased(fresh: V1DaemonSet, status: V1DaemonSetStatus) -> V1DaemonSetStatus:
    """Return the counts with the collision count and the conditions of a fresh copy of the DaemonSet."""
    moved = copy.copy(status)
    if fresh.status is not None:
        moved.collision_count = fresh.status.collision_count
        moved.conditions = fresh.status.conditions
    return moved


def _empty() -> V1DaemonSetStatus:
    return V1DaemonSetStatus(
        current_number_scheduled=0, desired_number_scheduled=0, number_misscheduled=0, number_ready=0
    )


def _counts(status: V1DaemonSetStatus) -> tuple[int, ...]:
    return (
        status.desired_number_scheduled or 0,
        status.current_number_scheduled or 0,
        status.number_misscheduled or 0,
        status.number_ready or 0,
        status.updated_number_scheduled or 0,
        status.number_available or 0,
        status.number_unavailable or 0,
    )


@dataclass(eq=False, slots=True)
class DaemonSetStatusWriter:
    """
    Writes the statuses of DaemonSets.

    :param nodes: the cache of nodes
    :param placements: the placements of DaemonSets on nodes
    """

    server: Resource[V1DaemonSet]
    nodes: Indexer[V1Node]
    placements: Placements
    clock: Clock

    async def write(self, daemonset: V1DaemonSet, pods: Sequence[V1Pod], hash_: str, *, observed: bool) -> float | None:
        """
        Compute the status, and write it if it has changed.

        :param hash_: the hash of the current template
        :param observed: whether the sync acted on this generation of the spec
        :return: seconds until the next ready pod becomes available; None if there is none
        """
        there, now = pods_by_node(pods), self.clock.now()
        nodes = self.placements.of(daemonset, self.nodes.list())
        status = count_nodes(daemonset, nodes, there, hash_, now, observed=observed)
        if not same_counts(daemonset, status):
            await write_status(self.server, daemonset, status, same=lambda *_: False, rebase=rebased)
        min_ready_seconds = daemonset.spec.min_ready_seconds or 0
        if min_ready_seconds <= 0 or (status.number_ready or 0) == (status.number_available or 0):
            return None
        # kube-controller-manager waits for the full minReadySeconds after each sync.
        check = next_availability_check(pods, min_ready_seconds, now, self.clock)
        return check if check is not None else float(min_ready_seconds)
