"""Syncing a volume: it is available, bound, released and then reclaimed, or its binding is undone.

In: a volume, and the claim that it names. Out: writes of a :class:`.Binder`, keys of claims to sync, and operations of
a :class:`.Reclaimer`. Before a volume is released, the server is asked whether its claim is really gone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kinformer.client import Resource
from kinformer.client.errors import NotFound
from kinformer.controllerutil.finalizers import without_finalizers
from kinformer.record import WARNING, EventRecorder
from kinformer_controllers.persistentvolumebinder.binding import Binder, Latest
from kinformer_controllers.shared.volumes.facts import (
    PROVISIONED_BY,
    Claim,
    Volume,
    annotation_of,
    claim_key,
    same_volume_mode,
)
from kinformer_controllers.shared.volumes.translation import MIGRATED, migration_of_volume

__all__ = ("DELETION_FINALIZER", "Volumes")

#: The finalizer of a volume that a plug-in here has made. It stays until the storage is deleted.
DELETION_FINALIZER: Final = "kubernetes.io/pv-controller"
_EXTERNAL_FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"
_ENDED: Final = ("Released", "Failed")


@dataclass(eq=False, slots=True)
class Volumes:
    """
    Syncs volumes.

    :param server_claims: reads claims from the server that are not in the cache
    :param sync_claim: queues a claim
    :param reclaim: starts to reclaim a released volume
    """

    binder: Binder
    claims: Latest[Claim]
    server_claims: Resource[Claim]
    recorder: EventRecorder
    sync_claim: Callable[[str], object]
    reclaim: Callable[[Volume], None]

    async def sync(self, volume: Volume) -> None:
        """
        Sync one volume.

        :raises ClientError: if a write is refused, or the server cannot be read
        """
        volume = await self._marked(volume)
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            # It has no claim, or is reserved for a claim that does not exist yet.
            await self.binder.set_volume_phase(volume, "Available")
            return
        claim = await self._claim_of(volume)
        if claim is None:
            await self._release(volume)
        elif not claim.spec.volume_name:
            self._finish_binding(volume, claim)
        elif claim.spec.volume_name == volume.metadata.name:
            await self.binder.set_volume_phase(volume, "Bound")
        elif annotation_of(volume, PROVISIONED_BY) is not None and _policy(volume) == "Delete":
            # It was made for the claim, but the claim has got another volume since.
            await self._release(volume)
        else:
            await self.binder.unbind(volume)

    def _finish_binding(self, volume: Volume, claim: Claim) -> None:
        if same_volume_mode(claim, volume):
            self.sync_claim(claim_key(claim))
            return
        name, asked = volume.metadata.name, claim.metadata.name
        why = "due to incompatible volumeMode."
        self.recorder.event(
            volume,
            WARNING,
            "VolumeMismatch",
            f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{asked}" {why}',
        )
        self.recorder.event(
            claim,
            WARNING,
            "VolumeMismatch",
            f'Cannot bind PersistentVolume "{name}" to requested PersistentVolumeClaim {why}',
        )

    async def _release(self, volume: Volume) -> None:
        # The phase Failed stays visible to the user while reclaiming is retried.
        if volume.status is None or volume.status.phase not in _ENDED:
            volume = await self.binder.set_volume_phase(volume, "Released")
        self.reclaim(volume)
        if _policy(volume) not in ("Retain", "Recycle", "Delete"):
            await self.binder.set_volume_phase(
                volume,
                "Failed",
                "Volume has unrecognized PersistentVolumeReclaimPolicy",
                event=(WARNING, "VolumeUnknownReclaimPolicy"),
            )

    async def _claim_of(self, volume: Volume) -> Claim | None:
        """
        Return the claim that a volume names; None if it is gone. If the cache does not have it, the server is asked.
        """
        reference = volume.spec.claim_ref
        assert reference is not None
        name, namespace = reference.name or "", reference.namespace or ""
        claim = self.claims.get(f"{namespace}/{name}")
        if claim is not None and claim.metadata.uid == reference.uid:
            return claim
        if claim is None and volume.status is not None and volume.status.phase in _ENDED:
            return None  # it was checked when it was released
        try:
            claim = await self.server_claims.get(name, namespace)
        except NotFound:
            return None
        return claim if claim.metadata.uid == reference.uid else None

    async def _marked(self, volume: Volume) -> Volume:
        """Write the annotations and finalizers that a volume should have, and return it."""
        annotations, finalizers = migration_of_volume(volume.metadata.annotations), _finalizers(volume)
        if annotations is None and finalizers is None:
            return volume
        written = copy.copy(volume)
        written.metadata = copy.copy(volume.metadata)
        if annotations is not None:
            written.metadata.annotations = annotations or None
        if finalizers is not None:
            written.metadata.finalizers = finalizers or None
        return await self.binder.update_volume(written)


def _policy(volume: Volume) -> str:
    return volume.spec.persistent_volume_reclaim_policy or ""


def _finalizers(volume: Volume) -> list[str] | None:
    """Return the finalizers that a volume should have; None if it has them."""
    current = list(volume.metadata.finalizers or ())
    provisioner = annotation_of(volume, PROVISIONED_BY)
    if provisioner is None:
        return None
    if provisioner in MIGRATED:
        wanted = without_finalizers(current, DELETION_FINALIZER)
    elif not provisioner.startswith("kubernetes.io/"):
        return None
    else:
        wanted = without_finalizers(current, _EXTERNAL_FINALIZER)
        if _policy(volume) == "Delete":
            wanted = wanted if DELETION_FINALIZER in wanted else [*wanted, DELETION_FINALIZER]
        elif _policy(volume) in ("Retain", "Recycle"):
            wanted = without_finalizers(wanted, DELETION_FINALIZER)
    return wanted if wanted != current else None
