"""Finding the pods that are garbage.

In: pods and nodes from the caches, and the time. Out: the pods to delete, in order. There are four kinds of garbage:

- *out-of-service*: the pod is being deleted, and its node is not ready and has the out-of-service taint;
- *terminated*: the pod has ended, and there are more such pods than the threshold allows. Evicted pods come first, then
  the oldest;
- *orphaned*: the pod's node is gone. The controller finds these, not this module. The cache of nodes may be older than
  that of pods. So a node that is missing there counts as gone only after a while, and only if the server has no such
  node either;
- *unscheduled*: the pod is being deleted and has no node, so that no kubelet will end it.

A pod that has not ended is marked as failed before it is deleted. The controller that owns it, such as a Job's, then
counts it as failed. The condition says why it ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kinformer.controllerutil.pods import is_pod_terminal, pod_condition_patch, pod_status
from kinformer.models import V1Node, V1Pod, V1PodCondition
from kinformer_controllers.shared.taints import OUT_OF_SERVICE

__all__ = (
    "failed_pod_patch",
    "is_out_of_service",
    "node_of",
    "out_of_service_pods",
    "surplus_terminated_pods",
    "unscheduled_terminating_pods",
)


_NOT_TERMINATED: Final = ("Pending", "Running", "Unknown")
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def node_of(pod: V1Pod) -> str:
    """Return the name of the node that the pod is bound to; ``""`` if there is none."""
    return (pod.spec.node_name if pod.spec is not None else None) or ""


def is_out_of_service(node: V1Node) -> bool:
    """Whether a node is not ready and has the out-of-service taint."""
    conditions = (node.status.conditions if node.status is not None else None) or ()
    if any(condition.type == "Ready" and condition.status == "True" for condition in conditions):
        return False
    taints = (node.spec.taints if node.spec is not None else None) or ()
    return any(taint.key == OUT_OF_SERVICE for taint in taints)


def out_of_service_pods(pods: Iterable[V1Pod], nodes: Mapping[str, V1Node]) -> list[V1Pod]:
    """Return the pods that are being deleted on nodes that are out of service; evicted and oldest ones come first."""
    gone = {name for name, node in nodes.items() if is_out_of_service(node)}
    if not gone:
        return []
    return sorted((pod for pod in pods if pod.metadata.deletion_timestamp and node_of(pod) in gone), key=_order)


def surplus_terminated_pods(pods: Iterable[V1Pod], threshold: int) -> Sequence[V1Pod]:
    """
    Return the terminated pods above the threshold; evicted and oldest ones come first.

    :param threshold: 0 or less for no limit
    """
    if threshold <= 0:
        return ()
    terminated = [pod for pod in pods if _is_terminated(pod)]
    surplus = len(terminated) - threshold
    return sorted(terminated, key=_order)[:surplus] if surplus > 0 else ()


def unscheduled_terminating_pods(pods: Iterable[V1Pod]) -> list[V1Pod]:
    """Return the pods that are being deleted and were never bound to a node."""
    return [pod for pod in pods if pod.metadata.deletion_timestamp and not node_of(pod)]


def failed_pod_patch(pod: V1Pod, condition: V1PodCondition | None, now: datetime) -> dict[str, Any] | None:
    """
    Return the strategic merge patch of the pod's status that sets the phase to Failed, and the condition if there is
    one. It has the pod's uid, so it fails if the name now belongs to another pod.

    :return: None if the pod has already ended, because its phase must not change then
    """
    if is_pod_terminal(pod):
        return None
    patch = pod_condition_patch(pod, condition, now) if condition is not None else None
    conditions = patch["status"] if patch is not None else {}
    status = {"observedGeneration": pod.metadata.generation or 0, "phase": "Failed", **conditions}
    return {"metadata": {"uid": pod.metadata.uid}, "status": status}


def _is_terminated(pod: V1Pod) -> bool:
    status = pod_status(pod)
    return status is None or status.phase not in _NOT_TERMINATED


def _is_evicted(pod: V1Pod) -> bool:
    status = pod_status(pod)
    return status is not None and status.phase == "Failed" and status.reason == "Evicted"


def _order(pod: V1Pod) -> tuple[bool, datetime, str]:
    return not _is_evicted(pod), pod.metadata.creation_timestamp or _LONG_AGO, pod.metadata.name
