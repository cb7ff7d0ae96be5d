"""The expansion of volumes: with a plug-in of this process, or by an external resizer that the claim then names.

In: bound claims that ask for more storage than they have. Out: larger storage, the volume's new capacity, and the
claim's status. Promised: the volume is first read from the server; storage is never made smaller; an error is reported
by an Event and in the claim's conditions, and is retried.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from kinformer.client import PatchType
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim
from kinformer.record import NORMAL, WARNING
from kinformer_controllers.persistentvolumeexpander.sizes import (
    claimed_storage,
    expanded,
    in_progress,
    infeasible,
    is_done,
    pending_on_node,
    wants_more,
)
from kinformer_controllers.persistentvolumeexpander.spec import ExpanderOptions
from kinformer_controllers.shared.volumes.facts import (
    PRE_RESIZE_CAPACITY,
    Claim,
    Volume,
    annotation_of,
    capacity_of,
    claim_key,
    requested_storage,
)
from kinformer_controllers.shared.volumes.host_path import HostPath
from kinformer_controllers.shared.volumes.plugins import ExpanderPlugin, VolumePlugins, installed_plugins
from kinformer_controllers.shared.volumes.timing import timed_operation
from kinformer_controllers.shared.volumes.translation import driver_of_volume

__all__ = ("PersistentVolumeExpander", "make_controller")

#: The source component of its Events, and the number of workers, as in Kubernetes.
COMPONENT: Final = "volume_expand"
WORKERS: Final = 10
_RESIZER: Final = "volume.kubernetes.io/storage-resizer"


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the expansion; its options are :class:`.ExpanderOptions`."""
    plugins = installed_plugins()
    if context.read(ExpanderOptions).enable_hostpath_provisioner:
        plugins.append(HostPath())
    return PersistentVolumeExpander(context, VolumePlugins(plugins)).controller


class PersistentVolumeExpander:
    """Syncs claims."""

    def __init__(self, context: ControllerContext, plugins: VolumePlugins) -> None:
        self._clock = context.clock
        self._recorder = context.recorder(COMPONENT)
        self._plugins = plugins
        self._claims = context.client.resource(V1PersistentVolumeClaim)
        self._volumes = context.client.resource(V1PersistentVolume)
        claims = context.informers.informer_for(V1PersistentVolumeClaim)
        self._cached = claims.indexer
        self.controller = Controller(
            "persistentvolume-expander", self.sync, workers=WORKERS, queue_name="volume_expand", clock=self._clock
        )
        self.controller.watch(claims, is_worth_a_look)

    async def sync(self, key: str) -> None:
        """
        Expand a claim's volume, if the claim asks for more storage.

        :raises SyncError: if the volume is not bound to the claim, or could not be expanded
        :raises ClientError: if the server refuses a request
        """
        claim = self._cached.get_by_key(key)
        if claim is None or not claim.spec.volume_name:
            return
        volume = await self._volumes.get(claim.spec.volume_name)
        reference = volume.spec.claim_ref
        if reference is None or (reference.namespace, reference.uid) != (claim.metadata.namespace, claim.metadata.uid):
            raise SyncError(f"persistent Volume is not bound to PVC being updated : {key}")
        if not wants_more(claim, volume):
            return
        if (migrated := driver_of_volume(volume.spec)) is not None:
            await self._leave_to_driver(claim, *migrated)
        elif (plugin := self._plugins.expander(volume)) is not None:
            with timed_operation(self._clock, plugin.name, "expand_volume"):
                await self._expand(claim, volume, plugin)
        else:
            message = "waiting for an external controller to expand this PVC"
            self._recorder.event(claim, NORMAL, "ExternalExpanding", message)

    async def _leave_to_driver(self, claim: Claim, plugin: str, driver: str) -> None:
        message = f"CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc"
        self._recorder.event(claim, NORMAL, "ExternalExpanding", message)
        if annotation_of(claim, _RESIZER) == driver:
            return
        meta = claim.metadata
        changed = {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": {_RESIZER: driver}}
        await self._claims.patch(
            meta.name, {"metadata": changed}, meta.namespace, subresource="status", patch_type=PatchType.STRATEGIC
        )

    async def _expand(self, claim: Claim, volume: Volume, plugin: ExpanderPlugin) -> None:
        before = annotation_of(volume, PRE_RESIZE_CAPACITY)
        if before is not None and is_done(claim, volume):
            await self._write_volume(volume, annotation=None)
            return
        size, now, key = requested_storage(claim), self._clock.now(), claim_key(claim)
        grows = plugin.requires_file_system_expansion and claim.spec.volume_mode != "Block"
        if capacity_of(volume) < size:
            claim = await self._write_status(claim, in_progress(claim, size, now))
            try:
                got = await plugin.expand(volume, size, capacity_of(volume))
            except Exception as error:
                message = f"error expanding volume {key!r} of plugin {plugin.name!r}: {error}"
                self._recorder.event(claim, WARNING, "VolumeResizeFailed", message)
                await self._write_status(claim, infeasible(claim, size, now, message))
                raise SyncError(message) from error
            annotation = before or str(claimed_storage(claim))
            volume = await self._write_volume(volume, annotation=annotation if grows else before, size=str(got))
        size = capacity_of(volume)
        if grows:
            if claim.status is None or claim.status.conditions != pending_on_node(claim, size, now).conditions:
                await self._write_status(claim, pending_on_node(claim, size, now))
                message = "Require file system resize of volume on node"
                self._recorder.event(claim, NORMAL, "FileSystemResizeRequired", message)
            return
        await self._write_status(claim, expanded(claim, size))
        self._recorder.event(claim, NORMAL, "VolumeResizeSuccessful", f"ExpandVolume succeeded for volume {key}")

    async def _write_status(self, claim: Claim, status: Any) -> Claim:
        if status == claim.status:
            return claim
        written = copy.copy(claim)
        written.status = status
        return await self._claims.update_status(written)

    async def _write_volume(self, volume: Volume, *, annotation: str | None, size: str = "") -> Volume:
        """Write a volume with a new size, and with or without the annotation of its former size."""
        written = copy.copy(volume)
        written.metadata, written.spec = copy.copy(volume.metadata), copy.copy(volume.spec)
        annotations = dict(volume.metadata.annotations or {})
        annotations.pop(PRE_RESIZE_CAPACITY, None)
        if annotation is not None:
            annotations[PRE_RESIZE_CAPACITY] = annotation
        written.metadata.annotations = annotations or None
        if size:
            written.spec.capacity = {**(volume.spec.capacity or {}), "storage": size}
        return await self._volumes.update(written)


def is_worth_a_look(old: Claim | None, new: Claim | None) -> bool:
    """Whether a bound claim is new, asks for more storage than before, or has become larger."""
    if new is None or new.status is None or new.status.phase != "Bound":
        return False
    return (
        old is None
        or old.status is None
        or old.status.phase != "Bound"
        or requested_storage(new) > requested_storage(old)
        or claimed_storage(new) > claimed_storage(old)
    )
