"""Event handlers that queue a pod when its node, its tolerations, or its node's NoExecute taints change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import Indexer, deletion_handling_key
from kinformer.controllerutil.owning import POD_NODE_INDEX
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Pod
from kinformer_controllers.shared.nodes.taints import no_execute_taints

__all__ = ("NodeHandler", "PodHandler")


class PodHandler:
    """
    The event handler for pods.

    :param add: called with the key of each changed pod
    """

    def __init__(self, add: Callable[[str], object]) -> None:
        self._add = add

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        self._add(meta_namespace_key(pod))

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if (
            old.metadata.uid != new.metadata.uid
            or old.spec.node_name != new.spec.node_name
            or old.spec.tolerations != new.spec.tolerations
        ):
            self._add(meta_namespace_key(new))

    def on_delete(self, obj: Any, /) -> None:
        self._add(deletion_handling_key(obj))


class NodeHandler:
    """
    The event handler for nodes.

    :param add: called with the key of each pod on a changed node
    :param pods: the cache of pods, with its index by node
    """

    def __init__(self, add: Callable[[str], object], pods: Indexer[V1Pod]) -> None:
        self._add = add
        self._pods = pods

    def on_add(self, node: V1Node, is_in_initial_list: bool, /) -> None:
        if no_execute_taints(node.spec.taints):
            self._queue_pods_of(node)

    def on_update(self, old: V1Node, new: V1Node, /) -> None:
        if no_execute_taints(old.spec.taints) != no_execute_taints(new.spec.taints):
            self._queue_pods_of(new)

    def on_delete(self, obj: Any, /) -> None:
        """Do nothing: the pod garbage collector deletes the pods of a node that is gone."""

    def _queue_pods_of(self, node: V1Node) -> None:
        for key in self._pods.index_keys(POD_NODE_INDEX, node.metadata.name):
            self._add(key)
