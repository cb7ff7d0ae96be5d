"""What should be attached: for each volume the nodes that have pods with it, and these pods.

The handlers of pods, nodes and claims write it, the decisions read it. It holds only nodes that the controller manages:
those whose kubelets say so with an annotation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kinformer.models import V1Pod
from kinformer_controllers.shared.volumes.specs import VolumeSpec

__all__ = ("MANAGED", "DesiredState", "Wanted")

#: The annotation of nodes whose volumes this controller attaches. Its value does not matter.
MANAGED: Final = "volumes.kubernetes.io/controller-managed-attach-detach"


@dataclass(slots=True)
class Wanted:
    """
    A volume that a node needs.

    :param pods: those that use it, by uid, as they were when they were added
    :param reported: whether these pods were told that another node has the volume
    """

    spec: VolumeSpec
    pods: dict[str, V1Pod] = field(default_factory=dict)
    reported: bool = False


class DesiredState:
    """The volumes that nodes need."""

    def __init__(self) -> None:
        self._managed: set[str] = set()
        #: Deleted nodes that still have pods with volumes. They are forgotten with the last of these pods.
        self._leaving: set[str] = set()
        self._wanted: dict[str, dict[str, Wanted]] = {}
        self._by_pod: dict[str, dict[tuple[str, str], None]] = {}
        self._volumes_of: Counter[str] = Counter()

    def add_node(self, node: str) -> bool:
        """Manage a node. Returns whether it is new."""
        self._leaving.discard(node)
        is_new = node not in self._managed
        self._managed.add(node)
        return is_new

    def delete_node(self, node: str) -> None:
        """Manage a node no longer, once its last pod with volumes is gone."""
        if self._volumes_of[node]:
            self._leaving.add(node)
        else:
            self._forget(node)

    def manages(self, node: str) -> bool:
        return node in self._managed

    def add_pod(self, pod: V1Pod, specs: Iterable[VolumeSpec]) -> list[str]:
        """Note that a pod uses volumes on its node, which must be managed. Returns the volumes that are new for it."""
        uid, node = pod.metadata.uid or "", (pod.spec.node_name if pod.spec is not None else None) or ""
        added = []
        for spec in specs:
            volume = spec.unique_name
            nodes = self._wanted.setdefault(volume, {})
            wanted = nodes.get(node)
            if wanted is None:
                wanted = nodes[node] = Wanted(spec)
                self._volumes_of[node] += 1
            if uid not in wanted.pods:
                wanted.pods[uid] = pod
                self._by_pod.setdefault(uid, {})[volume, node] = None
                added.append(volume)
        return added

    def remove_pod(self, uid: str) -> list[str]:
        """Note that a pod uses no volumes any more. Returns those that it has used."""
        return [volume for volume, node in list(self._by_pod.get(uid, ())) if self._remove(uid, volume, node)]

    def remove_volume(self, volume: str, node: str) -> None:
        """Note that no pod of a node needs a volume attached."""
        for uid in list(self.on(volume).get(node, _NOTHING).pods):
            self._remove(uid, volume, node)

    def _remove(self, uid: str, volume: str, node: str) -> bool:
        wanted = self._wanted[volume][node]
        del wanted.pods[uid], self._by_pod[uid][volume, node]
        if not self._by_pod[uid]:
            del self._by_pod[uid]
        if not wanted.pods:
            del self._wanted[volume][node]
            if not self._wanted[volume]:
                del self._wanted[volume]
            self._volumes_of[node] -= 1
            if not self._volumes_of[node] and node in self._leaving:
                self._forget(node)
        return True

    def _forget(self, node: str) -> None:
        self._managed.discard(node)
        self._leaving.discard(node)
        del self._volumes_of[node]

    def on(self, volume: str) -> Mapping[str, Wanted]:
        """Return the nodes that need a volume."""
        return self._wanted.get(volume, {})

    def pods(self) -> Iterator[V1Pod]:
        """Return all pods with volumes, each at least once."""
        for nodes in self._wanted.values():
            for wanted in nodes.values():
                yield from wanted.pods.values()

    def volumes(self) -> Iterator[tuple[str, str, Wanted]]:
        """Return each volume with each node that needs it."""
        for volume, nodes in self._wanted.items():
            for node, wanted in nodes.items():
                yield volume, node, wanted


_NOTHING: Final = Wanted(VolumeSpec("", "", ""))
