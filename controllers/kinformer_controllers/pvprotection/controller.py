"""The protection of volumes: a finalizer that stays while the volume is bound.

In: PersistentVolumes. Out: the finalizer is added to volumes, and removed from volumes that are being deleted and are
not bound. A volume is bound if it has the phase Bound, which the binder sets.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.client.errors import NotFound
from kinformer.controllerutil.finalizers import (
    is_finalizer_due,
    with_finalizers,
    without_finalizers,
)
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1PersistentVolume

__all__ = ("FINALIZER", "VolumeProtection", "make_controller")

FINALIZER: Final = "kubernetes.io/pv-protection"


def make_controller(context: ControllerContext) -> Controller:
    """The entry point of the protection of volumes. It has no options."""
    return VolumeProtection(context).controller


class VolumeProtection:
    """Syncs volumes."""

    def __init__(self, context: ControllerContext) -> None:
        self._volumes = context.client.resource(V1PersistentVolume)
        volumes = context.informers.informer_for(V1PersistentVolume)
        self._cached = volumes.indexer
        self.controller = Controller("pv-protection", self.sync, queue_name="pvprotection", clock=context.clock)
        self.controller.watch(volumes, needs_a_look)

    async def sync(self, name: str) -> None:
        """
        Add the finalizer to a volume, or remove it if the volume may be deleted.

        :raises ClientError: if the server refuses the update
        """
        volume = self._cached.get_by_key(name)
        if volume is None or not needs_a_look(None, volume):
            return
        if volume.metadata.deletion_timestamp is None:
            finalizers = [*(volume.metadata.finalizers or ()), FINALIZER]
        elif volume.status is not None and volume.status.phase == "Bound":
            return
        else:
            # The phase may be old. If the volume has been bound since, its version differs, and the update is refused.
            finalizers = without_finalizers(volume.metadata.finalizers, FINALIZER)
        try:
            await self._volumes.update(with_finalizers(volume, finalizers))
        except NotFound:
            return  # it is gone


def needs_a_look(old: Any, volume: Any) -> bool:
    """Whether a volume lacks the finalizer, or has it and is being deleted."""
    return volume is not None and is_finalizer_due(volume, FINALIZER)
