"""Kubernetes' own volume plug-ins whose work was given to CSI drivers: all of the clouds, in 1.36.

A volume or claim whose provisioner is one of them has an annotation with the driver's name. The external provisioner of
that driver looks after it, and nobody else does.
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
    """The annotations that a claim is to have, None if they are as they should be."""
    annotations = annotations or {}
    provisioner = annotations.get(STORAGE_PROVISIONER)
    return _migrated(annotations, provisioner if provisioner is not None else annotations.get(BETA_STORAGE_PROVISIONER))


def migration_of_volume(annotations: Mapping[str, str] | None) -> dict[str, str] | None:
    """The annotations that a volume is to have, None if they are as they should be."""
    annotations = annotations or {}
    return _migrated(annotations, annotations.get(PROVISIONED_BY))


def driver_of_volume(spec: Any) -> tuple[str, str] | None:
    """The plug-in of a volume's source and its driver, None if it has not been migrated."""
    for source, plugin in _BY_SOURCE.items():
        if getattr(spec, source) is not None:
            return plugin, MIGRATED[plugin]
    return None


def _migrated(annotations: Mapping[str, str], provisioner: str | None) -> dict[str, str] | None:
    if provisioner is None:
        return None  # nobody knows whose it is
    driver, current = MIGRATED.get(provisioner), annotations.get(MIGRATED_TO)
    if driver is not None and current != driver:
        return {**annotations, MIGRATED_TO: driver}
    if driver is None and current:
        return {name: value for name, value in annotations.items() if name != MIGRATED_TO}
    return None
