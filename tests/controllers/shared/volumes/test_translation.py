"""In-tree volumes as their CSI drivers know them. What is wanted was taken from Kubernetes' csi-translation-lib."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1PersistentVolume, V1Volume, from_dict, to_dict
from kinformer_controllers.shared.volumes.translation import Untranslatable, translate_inline, translate_volume

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
EBS, GCE, DISK = "awsElasticBlockStore", "gcePersistentDisk", "azureDisk"


def volume(source: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> V1PersistentVolume:
    return from_dict(V1PersistentVolume, {"metadata": {"name": "v", "labels": labels}, "spec": {**source, **spec}})


@pytest.mark.parametrize(
    ("source", "labels", "want"),
    [
        ({EBS: {"volumeID": "vol-1"}}, {}, "ebs.csi.aws.com^vol-1"),
        ({EBS: {"volumeID": "aws://us-east-1a/vol-1"}}, {}, "ebs.csi.aws.com^vol-1"),
        ({EBS: {"volumeID": "aws:///vol-1"}}, {}, "ebs.csi.aws.com^vol-1"),
        ({EBS: {"volumeID": "aws:///disk-1"}}, {}, None),
        ({DISK: {"diskName": "d", "diskURI": "/sub/d", "kind": "Managed"}}, {}, "disk.csi.azure.com^/sub/d"),
        ({DISK: {"diskName": "d", "diskURI": "/sub/d", "kind": "Dedicated"}}, {}, None),
        (
            {"azureFile": {"secretName": "azure-storage-account-acc-secret", "shareName": "s", "secretNamespace": "n"}},
            {},
            "file.csi.azure.com^#acc#s#v#n",
        ),
        ({"azureFile": {"secretName": "mine", "shareName": "s"}}, {}, None),
        ({"cinder": {"volumeID": "c"}}, {}, "cinder.csi.openstack.org^c"),
        ({"portworxVolume": {"volumeID": "p"}}, {}, "pxd.portworx.com^p"),
        ({"vsphereVolume": {"volumePath": "[ds] x.vmdk"}}, {}, "csi.vsphere.vmware.com^[ds] x.vmdk"),
        ({GCE: {"pdName": "d"}}, {}, "pd.csi.storage.gke.io^projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        ({GCE: {"pdName": "d"}}, {ZONE: "us-a-b"}, "pd.csi.storage.gke.io^projects/UNSPECIFIED/zones/us-a-b/disks/d"),
        (
            {GCE: {"pdName": "d"}},
            {ZONE: "other", OLD_ZONE: "us-a-b__us-a-c"},
            "pd.csi.storage.gke.io^projects/UNSPECIFIED/regions/us-a/disks/d",
        ),
        ({GCE: {"pdName": "d"}}, {ZONE: "us-a-b__us-x-c"}, None),
    ],
)
def test_a_volume_has_the_handle_that_its_driver_knows(
    source: dict[str, Any], labels: dict[str, str], want: str | None
) -> None:
    if want is None:
        with pytest.raises(Untranslatable):
            translate_volume(volume(source, labels))
        return
    found = translate_volume(volume(source, labels))
    assert found is not None
    csi = found.spec.csi
    assert csi is not None
    assert f"{csi.driver}^{csi.volume_handle}" == want
    assert found.name == "v"


def test_a_share_is_in_its_claims_namespace_and_group() -> None:
    source = {"azureFile": {"secretName": "mine", "shareName": "s"}}
    there = volume(source, claimRef={"namespace": "ns", "name": "c"})
    there.metadata.annotations = {"kubernetes.io/azure-file-resource-group": "rg"}
    found = translate_volume(there)
    assert found is not None
    assert found.spec.csi is not None
    assert found.spec.csi.volume_handle == "rg#mine#s#v#ns"


@pytest.mark.parametrize(
    ("modes", "want"),
    [
        (["ReadWriteMany"], ["ReadWriteOnce"]),
        (["ReadOnlyMany"], ["ReadOnlyMany"]),
        (["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteOnce"]),
    ],
)
def test_a_writable_gce_disk_is_written_by_one_node(modes: list[str], want: list[str]) -> None:
    found = translate_volume(volume({GCE: {"pdName": "d"}}, accessModes=modes))
    assert found is not None
    assert found.spec.access_modes == want


@pytest.mark.parametrize(
    ("source", "name", "mode", "want"),
    [
        (
            {EBS: {"volumeID": "vol-1", "fsType": "ext4", "readOnly": True}},
            "ebs.csi.aws.com-vol-1",
            "ReadWriteOnce",
            {"volumeHandle": "vol-1", "fsType": "ext4", "readOnly": True, "volumeAttributes": {"partition": "0"}},
        ),
        (
            {DISK: {"diskName": "d", "diskURI": "/d", "cachingMode": "None", "fsType": "xfs"}},
            "/d",
            "ReadWriteOnce",
            {
                "volumeHandle": "/d",
                "fsType": "xfs",
                "volumeAttributes": {"kind": "Managed", "cachingmode": "None", "fstype": "xfs"},
            },
        ),
        (
            {"azureFile": {"secretName": "mine", "shareName": "s"}},
            "#mine#s#x#ns",
            "ReadWriteMany",
            {
                "volumeHandle": "#mine#s#x#ns",
                "volumeAttributes": {"sharename": "s"},
                "nodeStageSecretRef": {"name": "mine", "namespace": "ns"},
            },
        ),
        (
            {GCE: {"pdName": "d", "partition": 2, "readOnly": True}},
            "pd.csi.storage.gke.io-d",
            "ReadOnlyMany",
            {
                "volumeHandle": "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
                "readOnly": True,
                "volumeAttributes": {"partition": "2"},
            },
        ),
        ({"cinder": {"volumeID": "c"}}, "cinder.csi.openstack.org-c", "ReadWriteOnce", {"volumeHandle": "c"}),
        ({"portworxVolume": {"volumeID": "p"}}, "pxd.portworx.com-p", "ReadWriteOnce", {"volumeHandle": "p"}),
        (
            {"vsphereVolume": {"volumePath": "x", "storagePolicyName": "gold"}},
            "csi.vsphere.vmware.com-x",
            "ReadWriteOnce",
            {"volumeHandle": "x", "volumeAttributes": {"storagepolicyname": "gold"}},
        ),
    ],
)
def test_a_volume_in_a_pod_becomes_what_its_driver_is_told(
    source: dict[str, Any], name: str, mode: str, want: dict[str, Any]
) -> None:
    found = translate_inline(from_dict(V1Volume, {"name": "x", **source}), "ns")
    assert found is not None
    spec = to_dict(found.spec)
    driver = spec["csi"].pop("driver")
    assert driver.count(".") >= 2
    assert (found.name, spec) == (name, {"accessModes": [mode], "volumeMode": "Filesystem", "csi": want})


def test_other_volumes_are_not_translated() -> None:
    assert translate_volume(volume({"nfs": {"server": "s", "path": "/"}})) is None
    assert translate_inline(from_dict(V1Volume, {"name": "x", "emptyDir": {}}), "ns") is None
