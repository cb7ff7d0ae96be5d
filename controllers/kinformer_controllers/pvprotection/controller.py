"""The protection of volumes: a finalizer that stays while the volume is bound.

In: PersistentVolumes. Out: the finalizer is added to volumes, and removed from volumes that are being deleted and are
not bound. A volume is bound if it has the phase Bound, which the binder sets.
"""

from __future__ import annotations

from typing import Final

from kinformer.models import V1PersistentVolume
from kinformer_controllers.shared.protection import Protection

__all__ = ("FINALIZER", "VolumeProtection")

FINALIZER: Final = "kubernetes.io/pv-protection"


class VolumeProtection(Protection[V1PersistentVolume]):
    """Syncs volumes."""

    kind, name, finalizer = V1PersistentVolume, "pv-protection", FINALIZER

    async def is_used(self, volume: V1PersistentVolume) -> bool:
        return volume.status is not None and volume.status.phase == "Bound"
