"""The garbage collector of storage versions, as in kube-controller-manager: it forgets API servers that are gone."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import GateOptions

__all__ = ("SPEC",)

_VERSIONS: Final = "storageversions.internal.apiserver.k8s.io"

SPEC: Final = ControllerSpec(
    name="storageversion-garbage-collector-controller",
    aliases=("storage-version-gc",),
    summary="forgets the storage versions of API servers that are gone",
    factory="kinformer_controllers.storageversiongc.controller:StorageVersionCollector",
    options=GateOptions,
    permissions=(
        allow("get list watch", "leases.coordination.k8s.io"),
        allow("get list watch delete", _VERSIONS),
        allow("update", f"{_VERSIONS}/status"),
    ),
    on_leader="the end of an API server concerns the storage versions of all resources",
    feature_gate="StorageVersionAPI",
    page="storage-versions.md#api-servers-that-are-gone",
    differs="a server whose Lease cannot be read is not forgotten; a deletion names the version that was read",
)
