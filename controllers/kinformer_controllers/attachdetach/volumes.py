"""Which volume of a pod has to be attached to its node, and under which name everybody knows this volume.

In: pods, claims, PersistentVolumes and CSIDrivers. Out: :class:`VolumeSpec`. The unique name of a volume is part of the
API: it is in ``volumesAttached`` and ``volumesInUse`` of nodes, and kubelets build it in the same way. Volumes of three
plug-ins are attached in Kubernetes 1.36: CSI, and iSCSI and Fibre Channel, for which attaching is a note in the node's
status and nothing more. In-tree volumes of clouds are volumes of their CSI drivers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kinformer.meta import is_controlled_by
from kinformer.models import (
    V1CSIDriver,
    V1PersistentVolume,
    V1PersistentVolumeClaim,
    V1PersistentVolumeSpec,
    V1Pod,
    V1Volume,
)
from kinformer_controllers.shared.volumes.translation import Untranslatable, translate_inline, translate_volume

__all__ = ("CSI", "FC", "ISCSI", "PLUGINS", "Resolver", "VolumeSpec", "attachment_name", "split_name", "spec_of_volume")

CSI: Final = "kubernetes.io/csi"
FC: Final = "kubernetes.io/fc"
ISCSI: Final = "kubernetes.io/iscsi"
#: The plug-ins whose volumes are attached.
PLUGINS: Final = (CSI, FC, ISCSI)

_MANY: Final = frozenset(("ReadWriteMany", "ReadOnlyMany"))


@dataclass(frozen=True, slots=True)
class VolumeSpec:
    """
    A volume as the controller needs it.

    :param name: how messages call it: the PersistentVolume, or the volume in the pod
    :param plugin: one of :data:`PLUGINS`
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


def split_name(unique_name: str) -> tuple[str, str]:
    """Return the plug-in and the handle in a unique name; the plug-in is empty if the name is not a unique name."""
    parts = unique_name.split("/", 2)
    return (f"{parts[0]}/{parts[1]}", parts[2]) if len(parts) == 3 else ("", unique_name)


def attachment_name(handle: str, node: str) -> str:
    """
    Return the name of a VolumeAttachment.

    :param handle: ``DRIVER^HANDLE``
    """
    driver, _, volume = handle.partition("^")
    return f"csi-{hashlib.sha256(f'{volume}{driver}{node}'.encode()).hexdigest()}"


def spec_of_volume(volume: V1PersistentVolume) -> VolumeSpec | None:
    """
    Return what is attached for a PersistentVolume; None if its plug-in attaches nothing.

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


def _spec_of_inline(volume: V1Volume, namespace: str) -> VolumeSpec | None:
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


class Resolver:
    """
    Finds the volumes of pods in caches.

    :param claim: returns a claim by its key, :param volume: a PersistentVolume by its name, :param driver: a CSIDriver
        by its name. Each returns None if the cache has none
    """

    def __init__(
        self,
        claim: Callable[[str], V1PersistentVolumeClaim | None],
        volume: Callable[[str], V1PersistentVolume | None],
        driver: Callable[[str], V1CSIDriver | None],
    ) -> None:
        self._claim = claim
        self._volume = volume
        self._driver = driver

    def is_attachable(self, spec: VolumeSpec) -> bool:
        """Whether a volume is attached at all. A driver without a CSIDriver object has its volumes attached."""
        if spec.plugin != CSI:
            return True
        driver = self._driver(spec.driver)
        return driver is None or driver.spec.attach_required is not False

    def specs(self, pod: V1Pod) -> Iterator[VolumeSpec]:
        """
        Return the volumes of a pod whose plug-ins attach, also those that :meth:`is_attachable` refuses.

        A volume whose claim is not bound yet, or whose PersistentVolume is not in the cache, is left out.
        """
        for volume in (pod.spec.volumes if pod.spec is not None else None) or ():
            try:
                found = self._spec(pod, volume)
            except Untranslatable:
                continue
            if found is not None:
                yield found

    def attachable(self, pod: V1Pod) -> list[VolumeSpec]:
        """Return the volumes of a pod that have to be attached to its node."""
        return [spec for spec in self.specs(pod) if self.is_attachable(spec)]

    def _spec(self, pod: V1Pod, volume: V1Volume) -> VolumeSpec | None:
        meta = pod.metadata
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            name = f"{meta.name}-{volume.name}"
        else:
            return _spec_of_inline(volume, meta.namespace or "")
        claim = self._claim(f"{meta.namespace}/{name}")
        if claim is None or claim.status is None or claim.status.phase != "Bound" or not claim.spec.volume_name:
            return None
        if volume.ephemeral is not None and not is_controlled_by(claim, meta.uid or ""):
            return None
        found = self._volume(claim.spec.volume_name)
        if found is None or found.spec.claim_ref is None or found.spec.claim_ref.uid != claim.metadata.uid:
            return None
        return spec_of_volume(found)
