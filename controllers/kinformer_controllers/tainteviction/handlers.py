"""Which changes matter: those of a pod's node, of its tolerations, and of a node's NoExecute taints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import deletion_handling_key
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Node, V1Pod
from kinformer_controllers.shared.taints import no_execute_taints

__all__ = ("PodHandler", "taints_changed")


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


def taints_changed(old: V1Node | None, new: V1Node | None) -> bool:
    """Whether the NoExecute taints of a node have changed. The pods of a node that is gone are for podgc."""
    if new is None:
        return False
    before = no_execute_taints(old.spec.taints) if old is not None else []
    return no_execute_taints(new.spec.taints) != before
