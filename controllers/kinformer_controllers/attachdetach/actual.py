"""What is attached, as far as the controller knows, and what each node's status has to say of it.

It is built from the nodes' statuses and the VolumeAttachments when the controller starts, and from the outcome of its
own operations afterwards. The two halves differ on purpose: a volume is taken out of the node's status before it is
detached, so that no kubelet mounts it meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from kinformer.models import V1AttachedVolume
from kinformer_controllers.shared.volumes.specs import VolumeSpec

__all__ = ("ActualState", "AttachedVolume", "Attachment")


@dataclass(slots=True)
class Attachment:
    """
    That a volume is, or may be, attached to a node.

    :param confirmed: whether it is known. An attachment is uncertain after an error, and after a restart if only its
        VolumeAttachment shows it
    :param detach_requested: when the node was first seen not to need it, on the monotonic clock; None if it needs it
    """

    confirmed: bool
    detach_requested: float | None = None


@dataclass(slots=True)
class AttachedVolume:
    """
    A volume that is attached somewhere.

    :param spec: None after a restart, if no pod uses the volume
    """

    spec: VolumeSpec | None
    device_path: str
    nodes: dict[str, Attachment] = field(default_factory=dict)


class ActualState:
    """The volumes that are attached."""

    def __init__(self) -> None:
        self._volumes: dict[str, AttachedVolume] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        self._in_use: dict[str, set[str]] = {}
        #: What the status of each node has to list. A node that never had a volume is not there.
        self._reported: dict[str, dict[str, None]] = {}
        self._unwritten: set[str] = set()

    def mark(self, volume: str, spec: VolumeSpec | None, node: str, *, confirmed: bool, device_path: str = "") -> None:
        """Note that a volume is attached to a node, or may be. A new one counts as in use until the node says more."""
        found = self._volumes.get(volume)
        if found is None:
            found = self._volumes[volume] = AttachedVolume(spec, device_path)
        else:
            found.spec, found.device_path = spec, device_path
        there = found.nodes.get(node)
        if there is None:
            found.nodes[node] = Attachment(confirmed)
            self._on_node.setdefault(node, {})[volume] = None
            self._in_use.setdefault(node, set()).add(volume)
        else:
            there.confirmed = confirmed
        if confirmed:
            self.report(volume, node)

    def unmark(self, volume: str, node: str) -> None:
        """Note that a volume is not attached to a node."""
        found = self._volumes.get(volume)
        if found is None or found.nodes.pop(node, None) is None:
            return
        if not found.nodes:
            del self._volumes[volume]
        del self._on_node[node][volume]
        if not self._on_node[node]:
            del self._on_node[node]
        self.unreport(volume, node)

    def get(self, volume: str) -> AttachedVolume | None:
        return self._volumes.get(volume)

    def attachment(self, volume: str, node: str) -> Attachment | None:
        found = self._volumes.get(volume)
        return found.nodes.get(node) if found is not None else None

    def volumes(self) -> Iterator[tuple[str, str, AttachedVolume]]:
        """Return each volume with each node to which it is, or may be, attached."""
        for volume, found in self._volumes.items():
            for node in found.nodes:
                yield volume, node, found

    def volumes_on(self, node: str) -> list[str]:
        return list(self._on_node.get(node, ()))

    def set_in_use(self, node: str, volumes: Collection[str]) -> list[str]:
        """Note which volumes a node says it uses. Returns those of its volumes for which that is new."""
        before, now = self._in_use.get(node, set()), set(volumes)
        self._in_use[node] = now
        return [volume for volume in self._on_node.get(node, ()) if (volume in before) is not (volume in now)]

    def is_in_use(self, volume: str, node: str) -> bool:
        return volume in self._in_use.get(node, ())

    def forget_node(self, node: str) -> None:
        """Drop what is known of a deleted node to which nothing is attached."""
        if node not in self._on_node:
            self._in_use.pop(node, None)
            self._reported.pop(node, None)
            self._unwritten.discard(node)

    def report(self, volume: str, node: str) -> None:
        """Have the node's status list a volume, if that is still attached."""
        if self.attachment(volume, node) is None:
            return
        reported = self._reported.setdefault(node, {})
        if volume not in reported:
            reported[volume] = None
            self._unwritten.add(node)

    def unreport(self, volume: str, node: str) -> None:
        """Have the node's status no longer list a volume."""
        if volume in self._reported.get(node, ()):
            del self._reported[node][volume]
            self._unwritten.add(node)

    def must_write(self, node: str) -> None:
        """Have the node's status written, whatever it says, if it ever was to list a volume."""
        if node in self._reported:
            self._unwritten.add(node)

    def must_list(self, node: str) -> None:
        """Have the node's status written, although nobody here knows what it lists."""
        self._reported.setdefault(node, {})
        self._unwritten.add(node)

    def is_unwritten(self, node: str) -> bool:
        return node in self._unwritten

    def take_report(self, node: str) -> list[V1AttachedVolume] | None:
        """Return what the node's status has to list, by name; None if it does so already. The caller writes it."""
        if node not in self._unwritten:
            return None
        self._unwritten.discard(node)
        return [V1AttachedVolume(name=it, device_path=self._path(it)) for it in sorted(self._reported.get(node, ()))]

    def _path(self, volume: str) -> str:
        found = self._volumes.get(volume)
        return found.device_path if found is not None else ""
