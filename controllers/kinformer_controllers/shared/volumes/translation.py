"""In-tree volumes as their CSI drivers know them: the volumes of clouds, whose plug-ins Kubernetes 1.36 no longer has.

If the provisioner of a volume or claim is one of these plug-ins, an annotation with the driver's name is added. Then
only the external provisioner of that driver handles the volume or claim. The source of a PersistentVolume, or of a
volume in a pod, is translated to the handle that the driver knows the volume by. The handles are those of Kubernetes'
``csi-translation-lib``: a controller that builds others would not find the attachments that kube-controller-manager has
made. Storage classes and topologies are not translated here: nothing that uses this module reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from kinformer.models import (
    V1CSIPersistentVolumeSource,
    V1PersistentVolume,
    V1PersistentVolumeSpec,
    V1SecretReference,
    V1Volume,
)
from kinformer_controllers.shared.volumes.facts import BETA_STORAGE_PROVISIONER, PROVISIONED_BY, STORAGE_PROVISIONER

__all__ = (
    "MIGRATED",
    "MIGRATED_TO",
    "CsiVolume",
    "Untranslatable",
    "driver_of_volume",
    "migration_of_claim",
    "migration_of_volume",
    "translate_inline",
    "translate_volume",
)

MIGRATED_TO: Final = "pv.kubernetes.io/migrated-to"

#: The driver of each plug-in.
MIGRATED: Final = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
_BY_SOURCE: Final = {
    "aws_elastic_block_store": "kubernetes.io/aws-ebs",
    "azure_disk": "kubernetes.io/azure-disk",
    "azure_file": "kubernetes.io/azure-file",
    "cinder": "kubernetes.io/cinder",
    "gce_persistent_disk": "kubernetes.io/gce-pd",
    "portworx_volume": "kubernetes.io/portworx-volume",
    "vsphere_volume": "kubernetes.io/vsphere-volume",
}

_ONCE: Final = "ReadWriteOnce"
_READ_MANY: Final = "ReadOnlyMany"
_WRITE_MANY: Final = "ReadWriteMany"
_UNSPECIFIED: Final = "UNSPECIFIED"
_ZONE_LABELS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_ACCOUNT: Final = re.compile(r"azure-storage-account-(.+)-secret")
_EBS_VOLUME: Final = re.compile(r"vol-[^/]*")


def migration_of_claim(annotations: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the annotations that a claim should have; None if it already has them."""
    annotations = annotations or {}
    provisioner = annotations.get(STORAGE_PROVISIONER)
    return _migrated(annotations, provisioner if provisioner is not None else annotations.get(BETA_STORAGE_PROVISIONER))


def migration_of_volume(annotations: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the annotations that a volume should have; None if it already has them."""
    annotations = annotations or {}
    return _migrated(annotations, annotations.get(PROVISIONED_BY))


def driver_of_volume(spec: Any) -> tuple[str, str] | None:
    """Return the in-tree plug-in of a volume's source and its CSI driver; None if there is no such driver."""
    for source, plugin in _BY_SOURCE.items():
        if getattr(spec, source) is not None:
            return plugin, MIGRATED[plugin]
    return None


def _migrated(annotations: Mapping[str, str], provisioner: str | None) -> dict[str, str] | None:
    if provisioner is None:
        return None  # its provisioner is not known
    driver, current = MIGRATED.get(provisioner), annotations.get(MIGRATED_TO)
    if driver is not None and current != driver:
        return {**annotations, MIGRATED_TO: driver}
    if driver is None and current:
        return {name: value for name, value in annotations.items() if name != MIGRATED_TO}
    return None


class Untranslatable(ValueError):
    """An in-tree volume that has no equivalent at its CSI driver. The message says why."""


class CsiVolume(NamedTuple):
    """
    A volume of a CSI driver.

    :param name: the name of the PersistentVolume. A volume in a pod gets the name that Kubernetes gives to its
        translation
    :param spec: the spec of a PersistentVolume with a CSI source. If a PersistentVolume was translated, it has only
        the driver, the handle and the access modes
    """

    name: str
    spec: V1PersistentVolumeSpec


def translate_volume(volume: V1PersistentVolume) -> CsiVolume | None:
    """
    Translate a PersistentVolume.

    :return: None if its source is not one of the in-tree sources that are translated
    :raises Untranslatable: if the driver has no equivalent
    """
    found = driver_of_volume(volume.spec)
    if found is None:
        return None
    plugin, driver = found
    handle, modes = _HANDLES[plugin](volume), volume.spec.access_modes
    if plugin == "kubernetes.io/gce-pd" and modes is not None:
        modes = _gce_modes(modes)
    source = V1CSIPersistentVolumeSource(driver=driver, volume_handle=handle)
    return CsiVolume(volume.metadata.name, V1PersistentVolumeSpec(access_modes=modes, csi=source))


def translate_inline(volume: V1Volume, namespace: str) -> CsiVolume | None:
    """
    Translate a volume that is written into a pod.

    :param namespace: of the pod
    :return: None if its source is not one of the in-tree sources that are translated
    :raises Untranslatable: if the driver has no equivalent
    """
    found = driver_of_volume(volume)
    if found is None:
        return None
    plugin, driver = found
    return _INLINE[plugin](volume, driver, namespace)


def _ebs_id(volume_id: str) -> str:
    if not volume_id.startswith("aws://"):
        return volume_id
    found = urlsplit(volume_id).path.strip("/")
    if _EBS_VOLUME.fullmatch(found) is None:
        raise Untranslatable(f"failed to translate Kubernetes ID to EBS Volume ID Invalid format ({volume_id})")
    return found


def _disk_uri(source: Any) -> str:
    if source.kind is not None and source.kind.lower() != "managed":
        raise Untranslatable(f"kind({source.kind}) is not supported in csi migration")
    uri: str = source.disk_uri
    return uri


def _share_id(source: Any, group: str, name: str, namespace: str) -> str:
    account = _ACCOUNT.search(source.secret_name)
    return "#".join(
        (group, account.group(1) if account is not None else source.secret_name, source.share_name, name, namespace)
    )


def _share_of_volume(volume: V1PersistentVolume) -> str:
    source: Any = volume.spec.azure_file
    claim, namespace = volume.spec.claim_ref, source.secret_namespace
    if namespace is None and claim is not None:
        namespace = claim.namespace
    if not namespace:
        raise Untranslatable("could not find a secret namespace in PersistentVolumeSource or ClaimRef")
    group = (volume.metadata.annotations or {}).get("kubernetes.io/azure-file-resource-group", "")
    return _share_id(source, group, volume.metadata.name, namespace)


def _gce_disk(place: str, name: str) -> str:
    return f"projects/{_UNSPECIFIED}/{place}/disks/{name}"


def _gce_of_volume(volume: V1PersistentVolume) -> str:
    labels, source = volume.metadata.labels or {}, volume.spec.gce_persistent_disk
    assert source is not None
    zones = next((labels[name] for name in _ZONE_LABELS if labels.get(name)), "").split("__")
    if len(zones) == 1:
        return _gce_disk(f"zones/{zones[0] or _UNSPECIFIED}", source.pd_name)
    regions = {zone.rpartition("-")[0] for zone in zones}
    if len(regions) != 1 or any(zone.count("-") != 2 for zone in zones):
        raise Untranslatable(f"failed to get region from zones: multiple or no regions gotten from zones, got: {zones}")
    return _gce_disk(f"regions/{regions.pop()}", source.pd_name)


def _gce_modes(modes: Sequence[str]) -> list[str]:
    """
    Return the access modes for the driver: read-only for many nodes if that is the only mode, or read-write for one.

    The in-tree plug-in attached a disk with any other modes for reading and writing by one node.
    """
    return [_READ_MANY] if set(modes) == {_READ_MANY} else [_ONCE]


def _inline(name: str, source: V1CSIPersistentVolumeSource, mode: str = _ONCE) -> CsiVolume:
    # A volume in a pod is never a block device.
    return CsiVolume(name, V1PersistentVolumeSpec(access_modes=[mode], csi=source, volume_mode="Filesystem"))


def _ebs_inline(volume: V1Volume, driver: str, namespace: str) -> CsiVolume:
    source: Any = volume.aws_elastic_block_store
    handle = _ebs_id(source.volume_id)
    csi = _csi(driver, handle, source, {"partition": str(source.partition or 0)})
    return _inline(f"{driver}-{handle}", csi)


def _azure_disk_inline(volume: V1Volume, driver: str, namespace: str) -> CsiVolume:
    source: Any = volume.azure_disk
    uri = _disk_uri(source)
    attributes = {"kind": "Managed"}
    if source.caching_mode:
        attributes["cachingmode"] = source.caching_mode
    if source.fs_type is not None:
        attributes["fstype"] = source.fs_type
    return _inline(uri, _csi(driver, uri, source, attributes))


def _azure_file_inline(volume: V1Volume, driver: str, namespace: str) -> CsiVolume:
    source: Any = volume.azure_file
    namespace = namespace or "default"
    handle = _share_id(source, "", volume.name, namespace)
    csi = V1CSIPersistentVolumeSource(
        driver=driver,
        volume_handle=handle,
        read_only=source.read_only or None,
        volume_attributes={"sharename": source.share_name},
        node_stage_secret_ref=V1SecretReference(name=source.secret_name, namespace=namespace),
    )
    return _inline(handle, csi, _WRITE_MANY)


def _gce_inline(volume: V1Volume, driver: str, namespace: str) -> CsiVolume:
    source: Any = volume.gce_persistent_disk
    partition = str(source.partition) if source.partition else ""
    csi = _csi(driver, _gce_disk(f"zones/{_UNSPECIFIED}", source.pd_name), source, {"partition": partition})
    return _inline(f"{driver}-{source.pd_name}", csi, _READ_MANY if source.read_only else _ONCE)


def _cinder_inline(volume: V1Volume, driver: str, namespace: str) -> CsiVolume:
    source: Any = volume.cinder
    return _inline(f"{driver}-{source.volume_id}", _csi(driver, source.volume_id, source))


def _portworx_inline(volume: V1Volume, driver: str, namespace: str) -> CsiVolume:
    source: Any = volume.portworx_volume
    csi = V1CSIPersistentVolumeSource(driver=driver, volume_handle=source.volume_id, fs_type=source.fs_type or None)
    return _inline(f"{driver}-{source.volume_id}", csi, _READ_MANY if source.read_only else _ONCE)


def _vsphere_inline(volume: V1Volume, driver: str, namespace: str) -> CsiVolume:
    source: Any = volume.vsphere_volume
    policy = source.storage_policy_name
    csi = V1CSIPersistentVolumeSource(
        driver=driver,
        volume_handle=source.volume_path,
        fs_type=source.fs_type or None,
        volume_attributes={"storagepolicyname": policy} if policy else None,
    )
    return _inline(f"{driver}-{source.volume_path}", csi)


def _csi(
    driver: str, handle: str, source: Any, attributes: dict[str, str] | None = None
) -> V1CSIPersistentVolumeSource:
    return V1CSIPersistentVolumeSource(
        driver=driver,
        volume_handle=handle,
        read_only=source.read_only or None,
        fs_type=source.fs_type or None,
        volume_attributes=attributes,
    )


_HANDLES: Final[dict[str, Callable[[Any], str]]] = {
    "kubernetes.io/aws-ebs": lambda it: _ebs_id(it.spec.aws_elastic_block_store.volume_id),
    "kubernetes.io/azure-disk": lambda it: _disk_uri(it.spec.azure_disk),
    "kubernetes.io/azure-file": _share_of_volume,
    "kubernetes.io/cinder": lambda it: str(it.spec.cinder.volume_id),
    "kubernetes.io/gce-pd": _gce_of_volume,
    "kubernetes.io/portworx-volume": lambda it: str(it.spec.portworx_volume.volume_id),
    "kubernetes.io/vsphere-volume": lambda it: str(it.spec.vsphere_volume.volume_path),
}


_INLINE: Final[dict[str, Callable[[V1Volume, str, str], CsiVolume]]] = {
    "kubernetes.io/aws-ebs": _ebs_inline,
    "kubernetes.io/azure-disk": _azure_disk_inline,
    "kubernetes.io/azure-file": _azure_file_inline,
    "kubernetes.io/cinder": _cinder_inline,
    "kubernetes.io/gce-pd": _gce_inline,
    "kubernetes.io/portworx-volume": _portworx_inline,
    "kubernetes.io/vsphere-volume": _vsphere_inline,
}
