"""Indexes for an informer's cache: objects by their controller, and pods by their node.

::

    add_controller_index(pods)
    for pod in owned_by(pods.indexer, replica_set, "ReplicaSet"): ...

The index by controller works for any kind: pods, ReplicaSets, ControllerRevisions. It reads only an object's metadata.
The index by node reads only a pod's spec.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.meta import accessor_of
from kinformer.models import V1OwnerReference, V1Pod
from kinformer_controllers.shared.owning.owners import controller_of

__all__ = (
    "CONTROLLER_INDEX",
    "POD_NODE_INDEX",
    "add_controller_index",
    "add_pod_node_index",
    "controller_key",
    "owned_by",
)

T = TypeVar("T")

CONTROLLER_INDEX = "controller"
POD_NODE_INDEX = "spec.nodeName"


def add_controller_index(informer: SharedIndexInformer[Any]) -> None:
    """Add the index of objects by their controller. If the informer already has it, nothing happens."""
    if CONTROLLER_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({CONTROLLER_INDEX: _controller_key_of})


def add_pod_node_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Add the index of pods by the node that they are bound to. If the informer already has it, nothing happens."""
    if POD_NODE_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({POD_NODE_INDEX: _node_of})


def controller_key(namespace: str, reference: V1OwnerReference | None) -> str:
    """Return the index value of objects with this controller reference; for None, that of a namespace's orphans."""
    if reference is None:
        return namespace
    return f"{namespace}/{reference.kind}/{reference.name}/{reference.uid}"


def owned_by(indexer: Indexer[T], owner: Any, kind: str, *, orphans: bool = True) -> list[T]:
    """
    Return the objects in the cache whose controller is `owner`.

    :param kind: the kind of `owner`
    :param orphans: whether to include the objects of its namespace that have no controller; it might adopt them
    """
    accessor = accessor_of(owner)
    namespace = accessor.namespace(owner)
    value = f"{namespace}/{kind}/{accessor.name(owner)}/{accessor.uid(owner)}"
    found = indexer.by_index(CONTROLLER_INDEX, value)
    return found + indexer.by_index(CONTROLLER_INDEX, namespace) if orphans else found


def _controller_key_of(obj: Any) -> str:
    return controller_key(obj.metadata.namespace, controller_of(obj))


def _node_of(pod: V1Pod) -> tuple[str, ...]:
    spec = pod.spec
    return (spec.node_name,) if spec is not None and spec.node_name else ()
