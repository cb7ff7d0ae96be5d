"""Changed nodes: queues the DaemonSets that a change of a node concerns.

In a large cluster, nodes change all the time. So changed nodes have a queue of their own, and only changes of labels
and taints count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kinformer.cache import Indexer
from kinformer.controllerutil.owning import POD_NODE_INDEX, controller_of
from kinformer.meta import meta_namespace_key
from kinformer.models import V1DaemonSet, V1Node, V1Pod
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.daemonset.kind import KIND
from kinformer_controllers.daemonset.placement import placement

__all__ = ("NodeHandler", "NodeUpdates", "concerned")


class NodeHandler:
    """
    An event handler for nodes.

    :param queue: the queue of nodes' names
    """

    def __init__(self, queue: RateLimitingQueue[str]) -> None:
        self._queue = queue

    def on_add(self, obj: V1Node, is_in_initial_list: bool, /) -> None:
        self._queue.add(obj.metadata.name)

    def on_update(self, old: V1Node, new: V1Node, /) -> None:
        if (old.metadata.labels or {}) != (new.metadata.labels or {}) or _taints(old) != _taints(new):
            self._queue.add(new.metadata.name)

    def on_delete(self, obj: object, /) -> None:
        """Do nothing: the pod garbage collector deletes the pods of a node that is gone."""


class NodeUpdates:
    """
    Queues the DaemonSets that a changed node concerns.

    :param pods: the cache of pods, with its index by node
    :param add: called with the key of each such DaemonSet
    """

    def __init__(
        self,
        nodes: Indexer[V1Node],
        daemonsets: Indexer[V1DaemonSet],
        pods: Indexer[V1Pod],
        add: Callable[[str], object],
    ) -> None:
        self._nodes = nodes
        self._daemonsets = daemonsets
        self._pods = pods
        self._add = add

    async def sync(self, name: str) -> None:
        """Sync one node. A node that is gone is ignored: the pod garbage collector deletes its pods."""
        node = self._nodes.get_by_key(name)
        if node is not None:
            for key in concerned(node, self._daemonsets.list(), self._pods):
                self._add(key)


def concerned(node: V1Node, daemonsets: Iterable[V1DaemonSet], pods: Indexer[V1Pod]) -> list[str]:
    """
    Return the keys of the DaemonSets that have to create or delete a pod on a node.

    :param pods: the cache of pods, with its index by node
    """
    theirs = set()
    for pod in pods.by_index(POD_NODE_INDEX, node.metadata.name):
        reference = controller_of(pod)
        if reference is not None and reference.kind == KIND.kind:
            theirs.add(f"{pod.metadata.namespace}/{reference.name}")
    keys = []
    for daemonset in daemonsets:
        key = meta_namespace_key(daemonset)
        should_run, should_continue = placement(daemonset, node)
        scheduled = key in theirs
        misscheduled = (daemonset.status.number_misscheduled if daemonset.status is not None else 0) or 0
        if (should_run and not scheduled) or (scheduled and (not should_continue or misscheduled > 0)):
            keys.append(key)
    return keys


def _taints(node: V1Node) -> list[object]:
    return list((node.spec.taints if node.spec is not None else None) or ())
