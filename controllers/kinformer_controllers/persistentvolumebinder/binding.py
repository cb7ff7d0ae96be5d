"""The writes of the binder: it binds volumes and claims to each other, and sets the phases of both.

In: objects as they were last read or written. Out: the same objects in the server's answers. Promised: nothing is
written if it is already so. A binding is four writes in a fixed order: the volume, its phase, the claim, its phase. If
it is interrupted, the next sync continues with the missing writes.

:class:`Latest` has the newest versions of objects that a controller reads from a cache and writes itself. So the four
writes of a binding are not repeated because of its own events. An object that is no longer in the cache counts as
deleted, even if it was written before.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from kinformer.cache import Indexer
from kinformer.client import Client
from kinformer.manager import SyncError
from kinformer.meta import Quantity, meta_namespace_key
from kinformer.meta.versions import is_older
from kinformer.models import (
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1PersistentVolumeClaimStatus,
    V1PersistentVolumeStatus,
)
from kinformer.record import EventRecorder, reference_to
from kinformer_controllers.shared.volumes.facts import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PRE_RESIZE_CAPACITY,
    Claim,
    Volume,
    annotation_of,
    is_bound_to,
)

__all__ = (
    "Binder",
    "Latest",
)

T = TypeVar("T")


class Latest(Generic[T]):
    """The newest versions of the objects in a cache."""

    def __init__(self, cached: Indexer[T]) -> None:
        self._cached = cached
        self._written: dict[str, T] = {}

    def get(self, key: str) -> T | None:
        """Return the newest version; None if the object is gone."""
        return self._newest(key, self._cached.get_by_key(key))

    def by_index(self, index: str, value: str) -> Iterator[T]:
        """Return the newest versions of the objects that the cache has under a value of an index."""
        for cached in self._cached.by_index(index, value):
            newest = self._newest(meta_namespace_key(cached), cached)
            if newest is not None:
                yield newest

    def is_behind(self, key: str) -> bool:
        """Whether the cache does not show the last write yet. Its event will come, and the key is queued again."""
        cached = self._cached.get_by_key(key)
        return cached is not None and self._newest(key, cached) is not cached

    def wrote(self, obj: T) -> T:
        """Note a written object from the server's answer, and return it."""
        self._written[meta_namespace_key(obj)] = obj
        return obj

    def forget(self, key: str, seen: T) -> T:
        """
        Note that an object is gone. Returns its last version, which may be a written one that the cache never had.
        """
        written = self._written.pop(key, None)
        if written is not None and is_older(_version(seen), _version(written)) and _uid(written) == _uid(seen):
            return written
        return seen

    def _newest(self, key: str, cached: T | None) -> T | None:
        written = self._written.get(key)
        if written is None:
            return cached
        if cached is not None and _uid(written) == _uid(cached) and is_older(_version(cached), _version(written)):
            return written
        del self._written[key]
        return cached


def _version(obj: Any) -> str:
    return obj.metadata.resource_version or ""


def _uid(obj: Any) -> str:
    return obj.metadata.uid or ""


class Binder:
    """
    Writes volumes and claims.

    :param volumes: written volumes are noted in it
    :param claims: written claims are noted in it
    """

    def __init__(self, client: Client, volumes: Latest[Volume], claims: Latest[Claim], recorder: EventRecorder) -> None:
        self._server_volumes = client.resource(V1PersistentVolume)
        self._server_claims = client.resource(V1PersistentVolumeClaim)
        self._volumes, self._claims = volumes, claims
        self._recorder = recorder

    async def bind(self, volume: Volume, claim: Claim) -> None:
        """
        Bind a volume and a claim to each other, and set both phases to Bound.

        :raises ClientError: if a write is refused; the next sync continues with it
        """
        volume = await self._point_to_claim(volume, claim)
        volume = await self.set_volume_phase(volume, "Bound")
        claim = await self._point_to_volume(claim, volume)
        await self.set_claim_phase(claim, "Bound", volume)

    async def unbind(self, volume: Volume) -> None:
        """Make a volume available again. A volume that a user has reserved for a claim stays reserved for its name."""
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
        Set the phase of a volume, if it differs.

        :param event: the type and the reason of an Event about the change; its message is `message`
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
        Set the phase of a claim, and the fields of its status that describe its volume.

        :param volume: None to clear these fields
        :param event: the type, the reason and the message of an Event about a new phase
        :raises SyncError: if the volume has no capacity
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
    """Return the new status of a claim."""
    wanted = copy.copy(current)
    wanted.phase = phase
    if volume is None:
        wanted.access_modes = wanted.capacity = wanted.current_volume_attributes_class_name = None
        return wanted
    wanted.access_modes = volume.spec.access_modes
    if current.phase == phase:
        # A bound claim may be smaller than its volume while the file system is still to be expanded.
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
        # Later the external resizer sets this field.
        wanted.current_volume_attributes_class_name = volume.spec.volume_attributes_class_name
    return wanted


def _readable(text: str, otherwise: str) -> str:
    try:
        return str(Quantity.parse(text))
    except ValueError:
        return otherwise
