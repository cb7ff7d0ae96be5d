"""Following pods and nodes: what their changes mean for what should be attached and for what is.

In: the caches, and the events of pods and nodes. Out: the two states, and which volumes and nodes to look at.
Kubernetes looks at everything ten times a second. Here a change names what it concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kinformer.cache import Indexer, last_state
from kinformer.models import (
    V1Node,
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1Pod,
    V1VolumeAttachment,
)
from kinformer_controllers.attachdetach.actual import ActualState
from kinformer_controllers.attachdetach.deciding import is_out_of_service, is_ready
from kinformer_controllers.attachdetach.desired import MANAGED, DesiredState
from kinformer_controllers.attachdetach.volumes import Resolver
from kinformer_controllers.shared.volumes.pods import has_only_local_volumes, is_pod_done

__all__ = (
    "NODE_INDEX",
    "VOLUME_INDEX",
    "Caches",
    "Follower",
    "attached_volumes",
    "nodes_with_volumes",
    "volumes_in_use",
)

#: The index of pods with volumes that may be attached, by their node.
NODE_INDEX: Final = "attach-detach-node"
#: The index of attachments by their PersistentVolume.
VOLUME_INDEX: Final = "attach-detach-volume"


@dataclass(frozen=True, slots=True)
class Caches:
    """What the controller reads."""

    pods: Indexer[V1Pod]
    nodes: Indexer[V1Node]
    claims: Indexer[V1PersistentVolumeClaim]
    volumes: Indexer[V1PersistentVolume]
    attachments: Indexer[V1VolumeAttachment]

    def pods_with_volumes(self) -> Iterator[tuple[str, V1Pod]]:
        """Return the pods that have a node and a volume that may be attached, each with its node."""
        for node in self.pods.list_index_func_values(NODE_INDEX):
            for pod in self.pods.by_index(NODE_INDEX, node):
                yield node, pod


def nodes_with_volumes(pod: V1Pod) -> tuple[str, ...]:
    """Return the node of a pod that has a volume that may be attached, for the index."""
    spec: Any = pod.spec
    return (spec.node_name,) if spec is not None and spec.node_name and not has_only_local_volumes(pod) else ()


def attached_volumes(attachment: V1VolumeAttachment) -> tuple[str, ...]:
    """Return the name of an attachment's PersistentVolume, for the index."""
    return (attachment.spec.source.persistent_volume_name or "",)


def volumes_in_use(node: V1Node | None) -> list[str]:
    """Return the volumes that a node says it uses."""
    return (node.status.volumes_in_use if node is not None and node.status is not None else None) or []


@dataclass(eq=False, slots=True)
class Follower:
    """
    Keeps the states up to date.

    :param look: has volumes looked at, by their unique names
    :param write: has the status of a node written, if that has to change
    """

    caches: Caches
    desired: DesiredState
    actual: ActualState
    resolver: Resolver
    look: Callable[[Iterable[str]], None]
    write: Callable[[str], None]

    def pod_changed(self, old: V1Pod | None, new: V1Pod | None) -> None:
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self.look(self.desired.remove_pod(old.metadata.uid or ""))
        if new is not None:
            self.take_pod(new)

    def take_pod(self, pod: V1Pod) -> None:
        """Note which volumes a pod needs: none if it has ended, or if its node is not managed."""
        spec: Any = pod.spec
        if not spec.node_name or has_only_local_volumes(pod):
            return
        if is_pod_done(pod):
            self.look(self.desired.remove_pod(pod.metadata.uid or ""))
        elif self.desired.manages(spec.node_name):
            self.look(self.desired.add_pod(pod, self.resolver.attachable(pod)))

    def node_seen(self, node: V1Node) -> None:
        self.take_node(node)
        # The node may have been made anew, without a list.
        self.actual.must_write(node.metadata.name)
        self.write(node.metadata.name)

    def node_changed(self, old: V1Node, new: V1Node) -> None:
        self.take_node(new)
        if is_ready(old) != is_ready(new) or is_out_of_service(old) != is_out_of_service(new):
            self.look(self.actual.volumes_on(new.metadata.name))

    def take_node(self, node: V1Node) -> None:
        """Note which volumes a node uses, and that it is managed."""
        name = node.metadata.name
        self.look(self.actual.set_in_use(name, volumes_in_use(node)))
        if MANAGED in (node.metadata.annotations or {}) and self.desired.add_node(name):
            # Kubernetes adds these pods with their next change, or some minutes later.
            for pod in self.caches.pods.by_index(NODE_INDEX, name):
                self.take_pod(pod)

    def node_gone(self, obj: Any) -> None:
        node = last_state(obj)
        if node is not None:
            name = node.metadata.name
            self.desired.delete_node(name)
            self.look(self.actual.volumes_on(name))
            self.actual.forget_node(name)
