"""Objects by who controls them, and pods by their node: indexes for an informer's cache.

::

    add_controller_index(pods)
    for pod in owned_by(pods.indexer, replica_set, "ReplicaSet"): ...

Any kind can be indexed so: pods, ReplicaSets, ControllerRevisions. Only what is needed is read: an object's metadata
for the first, a pod's spec for the second.
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
    """Have objects found by their controller; done once, however many controllers of one factory ask for it."""
    if CONTROLLER_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({CONTROLLER_INDEX: _controller_key_of})


def add_pod_node_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Have pods found by the node that they are bound to."""
    if POD_NODE_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({POD_NODE_INDEX: _node_of})


def controller_key(namespace: str, reference: V1OwnerReference | None) -> str:
    """The indexed value of what `reference` names as the controller of; of a namespace's orphans for None."""
    if reference is None:
        return namespace
    return f"{namespace}/{reference.kind}/{reference.name}/{reference.uid}"


def owned_by(indexer: Indexer[T], owner: Any, kind: str, *, orphans: bool = True) -> list[T]:
    """
    The objects whose controller `owner` is, as the cache has them at this moment.

    :param kind: what `owner` is
    :param orphans: also those of its namespace that have no controller: it might adopt them
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
