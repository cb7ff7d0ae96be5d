"""Which volumes of a pod have to be attached to its node.

In: pods, claims, PersistentVolumes and CSIDrivers. Out: :class:`.VolumeSpec`. Volumes of three plug-ins are attached in
Kubernetes 1.36: CSI, and iSCSI and Fibre Channel, for which attaching is a note in the node's status and nothing more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kinformer.models import V1CSIDriver, V1PersistentVolume, V1PersistentVolumeClaim, V1Pod
from kinformer_controllers.shared.volumes.pods import has_only_local_volumes
from kinformer_controllers.shared.volumes.specs import (
    CSI,
    FC,
    ISCSI,
    NotBound,
    VolumeSpec,
    bound_volume,
    spec_of_inline,
    spec_of_volume,
)
from kinformer_controllers.shared.volumes.translation import Untranslatable

__all__ = ("PLUGINS", "Resolver", "attachment_name", "split_name")

#: The plug-ins whose volumes are attached.
PLUGINS: Final = (CSI, FC, ISCSI)


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


@dataclass(eq=False, slots=True)
class Resolver:
    """
    Finds the volumes of pods in caches.

    :param claim: returns a claim by its key, :param volume: a PersistentVolume by its name, :param driver: a CSIDriver
        by its name. Each returns None if the cache has none
    """

    claim: Callable[[str], V1PersistentVolumeClaim | None]
    volume: Callable[[str], V1PersistentVolume | None]
    driver: Callable[[str], V1CSIDriver | None]

    def is_attachable(self, spec: VolumeSpec) -> bool:
        """Whether a volume is attached at all. A driver without a CSIDriver object has its volumes attached."""
        if spec.plugin != CSI:
            return True
        driver = self.driver(spec.driver)
        return driver is None or driver.spec.attach_required is not False

    def specs(self, pod: V1Pod) -> Iterator[VolumeSpec]:
        """
        Return the volumes of a pod whose plug-ins attach, also those that :meth:`is_attachable` refuses.

        A volume whose claim is not bound yet, or whose PersistentVolume is not in the cache, is left out.
        """
        if has_only_local_volumes(pod):
            return
        for volume in (pod.spec.volumes if pod.spec is not None else None) or ():
            try:
                bound = bound_volume(pod, volume, self.claim, self.volume)
                if bound is not None:
                    found = spec_of_volume(bound)
                else:
                    found = spec_of_inline(volume, pod.metadata.namespace or "")
            except (NotBound, Untranslatable):
                continue
            if found is not None:
                yield found

    def attachable(self, pod: V1Pod) -> list[VolumeSpec]:
        """Return the volumes of a pod that have to be attached to its node."""
        return [spec for spec in self.specs(pod) if self.is_attachable(spec)]
