"""The writes of the binder: volumes and claims bound to each other, and the phases of both.

In: objects as they were last seen or written. Out: the same objects as the server has them then. Promised: nothing is
written that is there already; a binding is four writes in one order (the volume, its phase, the claim, its phase), and
whoever is interrupted after any of them goes on from there.
"""

from __future__ import annotations

import copy
from typing import Any

from kinformer.client import Client
from kinformer.manager import SyncError
from kinformer.meta import Quantity
from kinformer.models import (
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1PersistentVolumeClaimStatus,
    V1PersistentVolumeStatus,
)
from kinformer.record import EventRecorder, reference_to
from kinformer_controllers.persistentvolumebinder.latest import Latest
from kinformer_controllers.shared.volumes.facts import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PRE_RESIZE_CAPACITY,
    Claim,
    Volume,
    annotation_of,
    is_bound_to,
)

__all__ = ("Binder",)


class Binder:
    """
    :param volumes: where written volumes are noted
    :param claims: where written claims are noted
    """

    def __init__(self, client: Client, volumes: Latest[Volume], claims: Latest[Claim], recorder: EventRecorder) -> None:
        self._server_volumes = client.resource(V1PersistentVolume)
        self._server_claims = client.resource(V1PersistentVolumeClaim)
        self._volumes, self._claims = volumes, claims
        self._recorder = recorder

    async def bind(self, volume: Volume, claim: Claim) -> None:
        """
        Bind the two, and set both phases to Bound.

        :raises ClientError: if a write is refused; the next sync goes on from there
        """
        volume = await self._point_to_claim(volume, claim)
        volume = await self.set_volume_phase(volume, "Bound")
        claim = await self._point_to_volume(claim, volume)
        await self.set_claim_phase(claim, "Bound", volume)

    async def unbind(self, volume: Volume) -> None:
        """Free a volume. One that somebody has reserved for a claim stays reserved for whatever has that name."""
        written = copy.deepcopy(volume)
        if annotation_of(volume, BOUND_BY_CONTROLLER) is not None:
            written.spec.claim_ref = None
            annotations = dict(written.metadata.annotations or {})
            annotations.pop(BOUND_BY_CONTROLLER)
            written.metadata.annotations = annotations or None
        elif written.spec.claim_ref is not None:
            written.spec.claim_ref.uid = None
        await self.set_volume_phase(await self.update_volume(written), "Available")

    async def set_volume_phase(
        self, volume: Volume, phase: str, message: str = "", *, event: tuple[str, str] | None = None
    ) -> Volume:
        """
        Set the phase, if it is another one.

        :param event: type and reason of an Event that tells of the change, with the message
        """
        if volume.status is not None and volume.status.phase == phase:
            return volume
        written = copy.copy(volume)
        written.status = copy.copy(volume.status) if volume.status is not None else V1PersistentVolumeStatus()
        written.status.phase, written.status.message = phase, message or None
        written = self._volumes.wrote(await self._server_volumes.update_status(written))
        if event is not None:
            self._recorder.event(written, *event, message)
        return written

    async def set_claim_phase(
        self, claim: Claim, phase: str, volume: Volume | None = None, *, event: tuple[str, str, str] | None = None
    ) -> Claim:
        """
        Set the phase, and what the claim's status says of its volume.

        :param volume: None: the status says nothing of a volume
        :param event: an Event that tells of a new phase: type, reason, message
        :raises SyncError: if the volume says nothing of its capacity
        """
        current = claim.status if claim.status is not None else V1PersistentVolumeClaimStatus()
        wanted = _claim_status(current, phase, volume)
        if wanted == current:
            return claim
        written = copy.copy(claim)
        written.status = wanted
        written = self._claims.wrote(await self._server_claims.update_status(written))
        if event is not None and current.phase != phase:
            self._recorder.event(written, *event)
        return written

    async def update_volume(self, volume: Volume) -> Volume:
        return self._volumes.wrote(await self._server_volumes.update(volume))

    async def update_claim(self, claim: Claim) -> Claim:
        return self._claims.wrote(await self._server_claims.update(claim))

    async def annotate_claim(self, claim: Claim, annotations: dict[str, str]) -> Claim:
        """Replace a claim's annotations."""
        written = copy.copy(claim)
        written.metadata = copy.copy(claim.metadata)
        written.metadata.annotations = annotations or None
        return await self.update_claim(written)

    async def _point_to_claim(self, volume: Volume, claim: Claim) -> Volume:
        reference, meta = volume.spec.claim_ref, claim.metadata
        points = reference is not None and (reference.namespace, reference.name, reference.uid) == (
            *(meta.namespace, meta.name),
            meta.uid,
        )
        ours = is_bound_to(volume, claim) or annotation_of(volume, BOUND_BY_CONTROLLER) is not None
        if points and ours:
            return volume
        written = copy.copy(volume)
        if not points:
            written.spec = copy.copy(volume.spec)
            written.spec.claim_ref = reference_to(claim)
        if not ours:
            written.metadata = copy.copy(volume.metadata)
            written.metadata.annotations = {**(volume.metadata.annotations or {}), BOUND_BY_CONTROLLER: "yes"}
        return await self.update_volume(written)

    async def _point_to_volume(self, claim: Claim, volume: Volume) -> Claim:
        annotations = dict(claim.metadata.annotations or {})
        points = claim.spec.volume_name == volume.metadata.name
        if not points:
            annotations.setdefault(BOUND_BY_CONTROLLER, "yes")
        annotations.setdefault(BIND_COMPLETED, "yes")
        if points and annotations == (claim.metadata.annotations or {}):
            return claim
        written = copy.copy(claim)
        written.spec = copy.copy(claim.spec)
        written.spec.volume_name = volume.metadata.name
        return await self.annotate_claim(written, annotations)


def _claim_status(current: Any, phase: str, volume: Volume | None) -> Any:
    """The status that a claim is to have."""
    wanted = copy.copy(current)
    wanted.phase = phase
    if volume is None:
        wanted.access_modes = wanted.capacity = wanted.current_volume_attributes_class_name = None
        return wanted
    wanted.access_modes = volume.spec.access_modes
    if current.phase == phase:
        # A claim that is bound may rightly be smaller than its volume: the file system has yet to grow.
        return wanted
    storage = (volume.spec.capacity or {}).get("storage")
    if storage is None:
        raise SyncError(f'PersistentVolume "{volume.metadata.name}" is without a storage capacity')
    before_resize = annotation_of(volume, PRE_RESIZE_CAPACITY)
    said = (current.capacity or {}).get("storage")
    if before_resize is not None:
        wanted.capacity = {**(current.capacity or {}), "storage": _readable(before_resize, storage)}
    elif said is None or Quantity.parse(said) != Quantity.parse(storage):
        wanted.capacity = dict(volume.spec.capacity or {})
    if current.phase == "Pending" and phase == "Bound":
        # Later it is the external resizer's to say.
        wanted.current_volume_attributes_class_name = volume.spec.volume_attributes_class_name
    return wanted


def _readable(text: str, otherwise: str) -> str:
    try:
        return str(Quantity.parse(text))
    except ValueError:
        return otherwise
