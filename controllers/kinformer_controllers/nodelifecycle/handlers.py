"""What has a node or a pod looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import deletion_handling_key
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Pod

__all__ = ("NodeHandler", "PodHandler")


class NodeHandler:
    """
    Has every change of a node looked at.

    :param add: takes the names of nodes to look at
    :param forget: takes the names of nodes that are gone
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
    Has pods looked at that have come to a node.

    :param add: takes the keys of pods to look at
    """

    def __init__(self, add: Callable[[str], object]) -> None:
        self._add = add

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        if pod.spec.node_name:
            self._add(meta_namespace_key(pod))

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        if new.spec.node_name and new.spec.node_name != old.spec.node_name:
            self._add(meta_namespace_key(new))

    def on_delete(self, obj: Any, /) -> None:
        """Nothing is left to do."""
