"""What is not done at a change: learning the states at the start, and checking them from time to time.

At the start, the nodes' statuses say what is attached. A VolumeAttachment that no status lists is an uncertain
attachment: the last process ended between its creation and the write of the status. So is one that appears later with a
name that only this controller gives, and is not of an own operation: the caches were behind at the start. Kubernetes
does not look at those. They are looked at again every minute, because a PersistentVolume may be seen later than its
attachment; and before a decision about a volume that only one node may have. Every minute, too, what events may have
missed is found, and every ``--attach-detach-reconcile-sync-period`` attachments that were lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import anyio.lowlevel

from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.models import V1Pod, V1VolumeAttachment
from kinformer_controllers.attachdetach.actual import ActualState
from kinformer_controllers.attachdetach.attachments import VolumeAttachments
from kinformer_controllers.attachdetach.deciding import key_of
from kinformer_controllers.attachdetach.desired import DesiredState
from kinformer_controllers.attachdetach.following import VOLUME_INDEX, Caches, Follower, volumes_in_use
from kinformer_controllers.attachdetach.pending import Key, PendingOperations
from kinformer_controllers.attachdetach.volumes import Resolver, attachment_name
from kinformer_controllers.shared.volumes.pods import is_pod_done
from kinformer_controllers.shared.volumes.specs import CSI, spec_of_volume
from kinformer_controllers.shared.volumes.translation import Untranslatable

__all__ = ("RESYNC_PERIOD", "Checks")

log = get_logger(__name__)

#: Seconds between two checks of the desired state, and the least between two in which all pods are added to it.
RESYNC_PERIOD: Final = 60.0
_ADD_PERIOD: Final = 180.0
#: How many pods are added before other tasks get their turn.
_BATCH: Final = 200


@dataclass(eq=False, slots=True)
class Checks:
    """
    Checks of the two states.

    :param look: has volumes looked at
    :param write: has the status of a node written, if that has to change
    """

    caches: Caches
    desired: DesiredState
    actual: ActualState
    pending: PendingOperations
    resolver: Resolver
    follower: Follower
    attachments: VolumeAttachments
    look: Callable[[Iterable[str]], None]
    write: Callable[[str], None]
    clock: Clock
    _recovered: bool = field(default=False, init=False)
    _added_at: float | None = field(default=None, init=False)

    def recover(self) -> None:
        """Learn what is attached. Only the first call does something; it must come before the first decision."""
        if self._recovered:
            return
        self._recovered = True
        for node in self.caches.nodes.list():
            name = node.metadata.name
            for listed in (node.status.volumes_attached if node.status is not None else None) or ():
                self.actual.mark(listed.name, None, name, confirmed=True, device_path=listed.device_path or "")
            self.follower.take_node(node)
            self.write(name)
        for attachment in self.caches.attachments.list():
            self._recover_attachment(attachment)
        for _, pod in self.caches.pods_with_volumes():
            self.follower.take_pod(pod)
            self._recover_specs(pod)
        self.look({volume for volume, _, _ in self.actual.volumes()})

    def attachment_seen(self, attachment: V1VolumeAttachment) -> None:
        """
        Note an attachment that the last process has made, if the caches did not show it at the start.

        One with another name was made by somebody else, who also deletes it.
        """
        if not self._recovered:
            return
        if (volume := self._recover_attachment(attachment, own_name=True)) is not None:
            node = attachment.spec.node_name
            # The status may list the volume, and the cache not show it yet.
            self.actual.must_list(node)
            self.write(node)
            self.look([volume])

    def _recover_attachment(self, attachment: V1VolumeAttachment, *, own_name: bool = False) -> str | None:
        """Returns the volume if it was not known that it is attached to the node."""
        name, node = attachment.spec.source.persistent_volume_name, attachment.spec.node_name
        volume = self.caches.volumes.get_by_key(name) if name else None
        try:
            spec = spec_of_volume(volume) if volume is not None else None
        except Untranslatable as error:
            log.warning("volume_not_translated", volume=name, error=str(error))
            return None
        if spec is None or not self.resolver.is_attachable(spec):
            log.debug("volume_attachment_left", attachment=attachment.metadata.name, node=node, volume=name)
            return None
        if own_name and attachment.metadata.name != attachment_name(spec.handle, node):
            return None
        key = key_of(spec.unique_name, node, spec)
        if self.pending.is_running(key) or self.actual.attachment(spec.unique_name, node) is not None:
            return None
        self.actual.mark(spec.unique_name, spec, node, confirmed=False)
        if (found := self.caches.nodes.get_by_key(node)) is not None:
            # It had the time to say whether it uses the volume.
            self.actual.set_in_use(node, volumes_in_use(found))
        return spec.unique_name

    def _recover_specs(self, pod: V1Pod) -> None:
        """Note what the volumes are that a node lists: the list has only their names."""
        node = (pod.spec.node_name if pod.spec is not None else None) or ""
        for spec in self.resolver.attachable(pod) if node else ():
            found, there = self.actual.get(spec.unique_name), self.actual.attachment(spec.unique_name, node)
            if found is not None and there is not None and there.confirmed:
                path = found.device_path
                self.actual.mark(spec.unique_name, spec, node, confirmed=True, device_path=path)

    async def resync(self) -> None:
        """Remove from the desired state what does not belong there, and every few minutes add what it lacks."""
        self.recover()
        await self._look_at_attachments()
        for pod in {pod.metadata.uid: pod for pod in self.desired.pods()}.values():
            meta = pod.metadata
            cached = self.caches.pods.get_by_key(f"{meta.namespace}/{meta.name}")
            if cached is None or cached.metadata.uid != meta.uid or is_pod_done(cached):
                self.look(self.desired.remove_pod(meta.uid or ""))
        for volume, node, wanted in list(self.desired.volumes()):
            if not self.resolver.is_attachable(wanted.spec):
                log.info("volume_not_attachable", volume=volume, node=node)
                self.desired.remove_volume(volume, node)
                self.look([volume])
        now = self.clock.monotonic()
        if self._added_at is not None and now - self._added_at < _ADD_PERIOD:
            return
        self._added_at = now
        for n, (_, pod) in enumerate(list(self.caches.pods_with_volumes())):
            if n % _BATCH == 0:
                await anyio.lowlevel.checkpoint()
            # It may be gone since the list was made.
            cached = self.caches.pods.get_by_key(f"{pod.metadata.namespace}/{pod.metadata.name}")
            if cached is not None and not is_pod_done(cached):
                self.follower.take_pod(cached)

    async def _look_at_attachments(self) -> None:
        """Note attachments that the last process has made whose PersistentVolumes were not in the cache until now."""
        for n, attachment in enumerate(self.caches.attachments.list()):
            if n % _BATCH == _BATCH - 1:
                await anyio.lowlevel.checkpoint()
            # It may be gone since the list was made.
            if self.caches.attachments.get_by_key(attachment.metadata.name) is not None:
                self.attachment_seen(attachment)

    def look_at(self, volume: str) -> None:
        """The same as :meth:`_look_at_attachments`, for a volume that only one node may have."""
        wanted = next(iter(self.desired.on(volume).values()), None)
        if wanted is not None and wanted.spec.exclusive and (name := wanted.spec.persistent_volume):
            for attachment in self.caches.attachments.by_index(VOLUME_INDEX, name):
                self.attachment_seen(attachment)

    async def verify(self) -> None:
        """Have volumes attached again whose VolumeAttachments are gone, or say that they are not attached."""
        self.recover()
        for volume, node, found in list(self.actual.volumes()):
            there, spec = found.nodes.get(node), found.spec
            if there is None or not there.confirmed or spec is None or spec.plugin != CSI:
                continue
            if self.pending.is_running(Key(volume, node)) or not self.resolver.is_attachable(spec):
                continue
            is_attached = await self.attachments.is_attached(spec.handle, node)
            if is_attached is False and not self.pending.is_running(Key(volume, node)):
                log.warning("volume_no_longer_attached", volume=volume, node=node)
                self.actual.unmark(volume, node)
                self.write(node)
                self.look([volume])
