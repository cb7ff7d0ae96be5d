"""Volumes of pods as controllers tell them apart: what is behind a claim, and under which name everybody knows it.

In: pods, claims and PersistentVolumes. Out: :class:`VolumeSpec`. The unique name of a volume is part of the API: it is
in ``volumesAttached`` and ``volumesInUse`` of nodes, and kubelets build it in the same way. The plug-ins are CSI, iSCSI
and Fibre Channel. In-tree volumes of clouds are volumes of their CSI drivers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kinformer.meta import is_controlled_by
from kinformer.models import (
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1PersistentVolumeSpec,
    V1Pod,
    V1Volume,
)
from kinformer_controllers.shared.volumes.translation import translate_inline, translate_volume

__all__ = (
    "CSI",
    "FC",
    "ISCSI",
    "NotBound",
    "VolumeSpec",
    "bound_volume",
    "spec_of_inline",
    "spec_of_volume",
)

CSI: Final = "kubernetes.io/csi"
FC: Final = "kubernetes.io/fc"
ISCSI: Final = "kubernetes.io/iscsi"

_MANY: Final = frozenset(("ReadWriteMany", "ReadOnlyMany"))


class NotBound(Exception):
    """A volume that a pod uses through a claim is not there yet."""


@dataclass(frozen=True, slots=True)
class VolumeSpec:
    """
    A volume as controllers tell it apart.

    :param name: how messages call it: the PersistentVolume, or the volume in the pod
    :param plugin: :data:`CSI`, or the name of another plug-in
    :param handle: its name in the plug-in; of CSI ``DRIVER^HANDLE``
    :param exclusive: whether it must not be attached to two nodes. False also if that is not known
    :param persistent_volume: the name of the PersistentVolume; empty if it is written into the pod
    :param inline: what the driver is told of an in-tree volume that is written into the pod
    :param migrated: whether it is an in-tree volume of a cloud
    """

    name: str
    plugin: str
    handle: str
    exclusive: bool = False
    persistent_volume: str = ""
    inline: V1PersistentVolumeSpec | None = None
    migrated: bool = False

    @property
    def unique_name(self) -> str:
        return f"{self.plugin}/{self.handle}"

    @property
    def driver(self) -> str:
        """The CSI driver; empty if there is none."""
        return self.handle.partition("^")[0] if self.plugin == CSI else ""

    @property
    def full_plugin(self) -> str:
        """The plug-in as metrics call it: with the driver, if it is CSI."""
        return f"{self.plugin}:{self.driver}" if self.plugin == CSI else self.plugin


def spec_of_volume(volume: V1PersistentVolume) -> VolumeSpec | None:
    """
    Return the volume of a PersistentVolume; None if it belongs to another plug-in.

    :raises Untranslatable: for an in-tree volume that its CSI driver cannot have
    """
    translated = translate_volume(volume)
    spec: Any = volume.spec if translated is None else translated.spec
    name = volume.metadata.name
    exclusive = bool(spec.access_modes) and _MANY.isdisjoint(spec.access_modes)
    if spec.csi is not None:
        handle = f"{spec.csi.driver}^{spec.csi.volume_handle}"
        return VolumeSpec(name, CSI, handle, exclusive, name, migrated=translated is not None)
    return _network_disk(spec, name, exclusive=exclusive, persistent_volume=name)


def spec_of_inline(volume: V1Volume, namespace: str) -> VolumeSpec | None:
    """
    Return a volume that is written into a pod; None if it belongs to another plug-in.

    :param namespace: of the pod
    :raises Untranslatable: for an in-tree volume that its CSI driver cannot have
    """
    translated = translate_inline(volume, namespace)
    if translated is None:
        return _network_disk(volume, volume.name)
    csi: Any = translated.spec.csi
    exclusive = _MANY.isdisjoint(translated.spec.access_modes or ())
    handle = f"{csi.driver}^{csi.volume_handle}"
    return VolumeSpec(translated.name, CSI, handle, exclusive, inline=translated.spec, migrated=True)


def _network_disk(source: Any, name: str, *, exclusive: bool = False, persistent_volume: str = "") -> VolumeSpec | None:
    plugin = handle = ""
    if (iscsi := source.iscsi) is not None:
        plugin, handle = ISCSI, f"{iscsi.target_portal}:{iscsi.iqn}:{iscsi.lun}"
    elif (fc := source.fc) is not None:
        plugin = FC
        if fc.target_wwns and fc.lun is not None:
            handle = f"[{' '.join(fc.target_wwns)}]:{fc.lun}"
        elif fc.wwids:
            handle = f"[{' '.join(fc.wwids)}]"
    return VolumeSpec(name, plugin, handle, exclusive, persistent_volume) if handle else None


def bound_volume(
    pod: V1Pod,
    volume: V1Volume,
    claim_of: Callable[[str], V1PersistentVolumeClaim | None],
    volume_of: Callable[[str], V1PersistentVolume | None],
) -> V1PersistentVolume | None:
    """
    Return the PersistentVolume of a pod's volume; None if the volume has no claim.

    :param claim_of: returns a claim by its key; None if there is none
    :param volume_of: returns a PersistentVolume by its name; None if there is none
    :raises NotBound: if the claim or the PersistentVolume is not there, or is not bound to the other one
    """
    meta = pod.metadata
    if volume.persistent_volume_claim is not None:
        key = f"{meta.namespace}/{volume.persistent_volume_claim.claim_name}"
    elif volume.ephemeral is not None:
        key = f"{meta.namespace}/{meta.name}-{volume.name}"
    else:
        return None
    claim = claim_of(key)
    if claim is None or claim.status is None or claim.status.phase != "Bound" or not claim.spec.volume_name:
        raise NotBound(f"the claim {key} is not bound")
    if volume.ephemeral is not None and not is_controlled_by(claim, meta.uid or ""):
        raise NotBound(f"the claim {key} was not made for the pod")
    found = volume_of(claim.spec.volume_name)
    if found is None or found.spec.claim_ref is None or found.spec.claim_ref.uid != claim.metadata.uid:
        raise NotBound(f"the volume {claim.spec.volume_name} is not bound to the claim {key}")
    return found
