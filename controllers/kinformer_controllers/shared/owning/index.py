"""Pods by who controls them, and by their node: indexes for an informer's cache.

::

    add_pod_controller_index(pods)
    for pod in pods_of_owner(pods.indexer, "ns", "ReplicationController", "web", uid): ...

Both functions read only what they must: the first an object's metadata, the second its spec.
"""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.models import V1OwnerReference, V1Pod
from kinformer_controllers.shared.owning.owners import controller_of

__all__ = (
    "POD_CONTROLLER_INDEX",
    "POD_NODE_INDEX",
    "add_pod_controller_index",
    "add_pod_node_index",
    "pod_controller_key",
    "pods_of_owner",
)

POD_CONTROLLER_INDEX = "podController"
POD_NODE_INDEX = "spec.nodeName"


def add_pod_controller_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Have pods found by their controller; done once, however many controllers of one factory ask for it."""
    if POD_CONTROLLER_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({POD_CONTROLLER_INDEX: _controller_key_of})


def add_pod_node_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Have pods found by the node that they are bound to."""
    if POD_NODE_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({POD_NODE_INDEX: _node_of})


def pod_controller_key(namespace: str, reference: V1OwnerReference | None) -> str:
    """The indexed value of the pods that `reference` names as their controller; of a namespace's orphans for None."""
    if reference is None:
        return namespace
    return f"{namespace}/{reference.kind}/{reference.name}/{reference.uid}"


def pods_of_owner(
    indexer: Indexer[V1Pod], namespace: str, kind: str, name: str, uid: str, *, orphans: bool = True
) -> Iterator[V1Pod]:
    """
    The pods whose controller that object is.

    :param orphans: also those of its namespace that have no controller: it might adopt them
    """
    yield from indexer.by_index(POD_CONTROLLER_INDEX, f"{namespace}/{kind}/{name}/{uid}")
    if orphans:
        yield from indexer.by_index(POD_CONTROLLER_INDEX, namespace)


def _controller_key_of(pod: V1Pod) -> str:
    return pod_controller_key(pod.metadata.namespace, controller_of(pod))


def _node_of(pod: V1Pod) -> tuple[str, ...]:
    spec = pod.spec
    return (spec.node_name,) if spec is not None and spec.node_name else ()
