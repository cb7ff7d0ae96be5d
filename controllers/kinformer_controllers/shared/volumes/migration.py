"""In-tree volume plug-ins that were replaced by CSI drivers: those of all clouds, in Kubernetes 1.36.

If the provisioner of a volume or claim is one of these plug-ins, an annotation with the driver's name is added. Then
only the external provisioner of that driver handles the volume or claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kinformer_controllers.shared.volumes.facts import BETA_STORAGE_PROVISIONER, PROVISIONED_BY, STORAGE_PROVISIONER

__all__ = ("MIGRATED", "MIGRATED_TO", "driver_of_volume", "migration_of_claim", "migration_of_volume")

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
