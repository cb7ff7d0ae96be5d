"""Reclaiming a released volume: it is kept, deleted, or emptied and made available again, by its reclaim policy.

In: a volume whose claim is gone. Out: operations of plug-ins; afterwards the volume is deleted or gets a new phase.
Promised: before its storage is deleted or emptied, the volume is read from the server and must still be released; a
volume that pods use is not emptied. An error is reported in the volume's phase and by an Event, and is retried.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from kinformer.cache import Indexer
from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.clock import Clock
from kinformer.controllerutil.finalizers import has_finalizer, without_finalizers
from kinformer.meta import meta_namespace_key, split_key
from kinformer.models import V1PersistentVolume, V1Pod, V1StorageClass
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.persistentvolumebinder.binding import Binder, Latest
from kinformer_controllers.persistentvolumebinder.metrics import OperationTimes
from kinformer_controllers.persistentvolumebinder.operations import Operations
from kinformer_controllers.persistentvolumebinder.volumes import DELETION_FINALIZER
from kinformer_controllers.shared.volumes.facts import Claim, Volume, annotation_of, claimed_key, class_of_volume
from kinformer_controllers.shared.volumes.plugins import DeleterPlugin, NoPlugin, VolumeInUse, VolumePlugins
from kinformer_controllers.shared.volumes.pods import claims_of, is_pod_done, pods_of_claim
from kinformer_controllers.shared.volumes.timing import timed_operation
from kinformer_controllers.shared.volumes.translation import MIGRATED, MIGRATED_TO

__all__ = ("Reclaimer",)


@dataclass(eq=False)
class Reclaimer:
    """Reclaims released volumes."""

    client: Client
    binder: Binder
    claims: Latest[Claim]
    pods: Indexer[V1Pod]
    plugins: VolumePlugins
    operations: Operations
    times: OperationTimes
    classes: Indexer[V1StorageClass]
    recorder: EventRecorder
    clock: Clock

    def __post_init__(self) -> None:
        self._volumes, self._pod_server = self.client.resource(V1PersistentVolume), self.client.resource(V1Pod)

    def reclaim(self, volume: Volume) -> None:
        """Start to reclaim a released volume by its policy, unless this is already running."""
        if annotation_of(volume, MIGRATED_TO):
            return  # the provisioner of its CSI driver does this
        name = f"{volume.metadata.name}[{volume.metadata.uid}]"
        match volume.spec.persistent_volume_reclaim_policy:
            case "Delete":
                self.times.begin(volume.metadata.name, self._provisioner_of(volume), "delete")
                self.operations.start(f"delete-{name}", lambda: self._delete(volume))
            case "Recycle":
                self.operations.start(f"recycle-{name}", lambda: self._recycle(volume))

    def _provisioner_of(self, volume: Volume) -> str:
        """The plug-in that deletes a volume, or the provisioner of its class; ``N/A`` if there is none."""
        try:
            plugin = self.plugins.deleter(volume)
        except NoPlugin:
            return "N/A"
        if plugin is not None:
            return plugin.name
        found = self.classes.get_by_key(class_of_volume(volume))
        return MIGRATED.get(found.provisioner, found.provisioner) if found is not None else "N/A"

    async def _delete(self, volume: Volume) -> None:
        with self.times.failures(volume.metadata.name):
            await self._delete_storage(volume)

    async def _delete_storage(self, volume: Volume) -> None:
        try:
            plugin = self.plugins.deleter(volume)
        except NoPlugin as error:
            # As in Kubernetes: the phase says so, and it does not count as a failed operation.
            await self._fail(volume, "VolumeFailedDelete", str(error))
            return
        if plugin is None:
            return  # an external provisioner deletes it
        fresh = await self._released(volume)
        if fresh is None:
            return
        try:
            with timed_operation(self.clock, plugin.name, "volume_delete"):
                await plugin.delete(fresh)
        except VolumeInUse as error:
            self.recorder.event(volume, NORMAL, "VolumeDelete", str(error))
            raise
        except Exception as error:
            await self._fail(fresh, "VolumeFailedDelete", str(error))
            raise
        await self._remove(fresh, plugin)

    async def _remove(self, volume: Volume, plugin: DeleterPlugin) -> None:
        """Delete a volume whose storage is gone."""
        name = volume.metadata.name
        try:
            fresh = await self._volumes.get(name)
            if has_finalizer(fresh, DELETION_FINALIZER):
                written = copy.copy(fresh)
                written.metadata = copy.copy(fresh.metadata)
                left = without_finalizers(fresh.metadata.finalizers, DELETION_FINALIZER)
                written.metadata.finalizers = left or None
                await self.binder.update_volume(written)
            await self._volumes.delete(name)
        except NotFound:
            return  # it existed only because of the finalizer

    async def _recycle(self, volume: Volume) -> None:
        fresh = await self._released(volume)
        if fresh is None:
            return
        key = claimed_key(volume)
        assert key is not None
        users = await self._users(key)
        if users and self.claims.get(key) is None:  # otherwise they use a newer claim with the same name
            message = f"Volume is used by pods: {','.join(users)}"
            self.recorder.event(volume, NORMAL, "VolumeFailedRecycle", message)
            return
        plugin = self.plugins.recycler(fresh)
        if plugin is None:
            await self._fail(fresh, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
            return
        try:
            await plugin.recycle(fresh)
        except Exception as error:
            await self._fail(fresh, "VolumeFailedRecycle", f"Recycle failed: {error}")
            return
        self.recorder.event(fresh, NORMAL, "VolumeRecycled", "Volume recycled")
        await self.binder.unbind(fresh)

    async def _users(self, key: str) -> list[str]:
        """Return the keys of the pods that use a claim, in the cache or, if it has none, on the server."""
        found = pods_of_claim(self.pods, key)
        if all(is_pod_done(pod) for pod in found):
            live = (await self._pod_server.list(split_key(key)[0])).items
            found = [pod for pod in live if key in claims_of(pod)]
        return sorted(meta_namespace_key(pod) for pod in found if not is_pod_done(pod))

    async def _fail(self, volume: Volume, reason: str, message: str) -> None:
        await self.binder.set_volume_phase(volume, "Failed", message, event=(WARNING, reason))

    async def _released(self, volume: Volume) -> Volume | None:
        """Return the volume from the server; None if it is gone or is no longer released."""
        try:
            fresh = await self._volumes.get(volume.metadata.name)
        except NotFound:
            return None
        reference, key = fresh.spec.claim_ref, claimed_key(fresh)
        if reference is None or key is None or not reference.uid or fresh.metadata.uid != volume.metadata.uid:
            return None
        claim = self.claims.get(key)
        if claim is None or claim.metadata.uid != reference.uid:
            return fresh
        # The claim exists. The volume is released only if the claim has another volume.
        return fresh if claim.spec.volume_name not in (None, "", fresh.metadata.name) else None
