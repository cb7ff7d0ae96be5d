"""Event handlers that queue changed nodes, and pods that were bound to a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import deletion_handling_key
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Pod

__all__ = ("NodeHandler", "PodHandler")


class NodeHandler:
    """
    Queues every changed node.

    :param add: called with the name of each changed node
    :param forget: called with the name of each node that is gone
    """

    def __init__(self, add: Callable[[str], object], forget: Callable[[str], object]) -> None:
        self._add = add
        self._forget = forget

    def on_add(self, node: V1Node, is_in_initial_list: bool, /) -> None:
        self._add(node.metadata.name)

    def on_update(self, old: V1Node, new: V1Node, /) -> None:
        self._add(new.metadata.name)

    def on_delete(self, obj: Any, /) -> None:
        self._forget(deletion_handling_key(obj))


class PodHandler:
    """
    Queues pods that were bound to a node.

    Pods of the first list are left alone: they came to their nodes before this process started. A kubelet that runs
    may say since that they are ready.

    :param add: called with the key of each such pod
    """

    def __init__(self, add: Callable[[str], object]) -> None:
        self._add = add

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        if pod.spec.node_name and not is_in_initial_list:
            self._add(meta_namespace_key(pod))

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if new.spec.node_name and new.spec.node_name != old.spec.node_name:
            self._add(meta_namespace_key(new))

    def on_delete(self, obj: Any, /) -> None:
        """Do nothing: the pod is gone."""
