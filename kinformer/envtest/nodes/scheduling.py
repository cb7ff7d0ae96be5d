"""Scheduling of fake nodes: a pod is bound to the first node on which it may run.

It considers ``nodeSelector``, required node affinity, taints, and whether the node is cordoned. It ignores the
resources of a node, other pods, ports, volumes, and all preferences. These are pure functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kinformer.envtest.nodes.phases import timestamp
from kinformer.meta import SelectorError
from kinformer.models import V1Node, V1Pod, V1PodSpec, V1Taint
from kinformer.placement.affinity import matches_node
from kinformer.placement.taints import NO_SCHEDULE, find_untolerated, tolerates

__all__ = ("Obstacles", "first_fitting", "obstacle", "unschedulable")

#: The reasons that keep a pod away from nodes, with the number of nodes for each.
Obstacles = Counter[str]

_CORDONED = V1Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def first_fitting(spec: V1PodSpec, nodes: Iterable[V1Node | None]) -> str | Obstacles:
    """
    The name of the first node on which the pod may run, or the reasons that keep it away from each of them.

    :param nodes: the nodes; None stands for a deleted one
    """
    obstacles: Obstacles = Counter()
    for node in nodes:
        found = obstacle(spec, node)
        if found is None and node is not None:
            return node.metadata.name
        obstacles[found or ""] += 1
    return obstacles


def obstacle(spec: V1PodSpec, node: V1Node | None) -> str | None:
    """The reason that keeps the pod away from the node, in the scheduler's words; None if there is none."""
    if node is None:
        return "node(s) were deleted"
    told = node.spec
    if told is not None and told.unschedulable and not any(tolerates(it, _CORDONED) for it in spec.tolerations or ()):
        return "node(s) were unschedulable"
    if spec.node_selector or spec.affinity:
        try:
            matches = matches_node(spec, node)
        except SelectorError:
            matches = False
        if not matches:
            return "node(s) didn't match Pod's node affinity/selector"
    taint = find_untolerated(told.taints if told is not None else None, spec.tolerations)
    if taint is not None:
        return f"node(s) had untolerated taint(s) {{{taint.key}: {taint.value or ''}}}"
    return None


def unschedulable(pod: V1Pod, obstacles: Obstacles, now: datetime) -> dict[str, Any] | None:
    """The status of a pod that fits on no node, for a patch; None if the pod has this status already."""
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in obstacles.items()))
    message = f"0/{obstacles.total()} nodes are available: {reasons}."
    said = (pod.status.conditions if pod.status is not None else None) or ()
    if any(each.type == "PodScheduled" and each.message == message for each in said):
        return None
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": timestamp(now),
    }
    return {"conditions": [condition]}
