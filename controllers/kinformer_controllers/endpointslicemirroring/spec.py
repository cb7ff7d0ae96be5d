"""The mirroring of Endpoints, as in kube-controller-manager: it makes EndpointSlices of Endpoints that users write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, option, workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("MirroringOptions", "SPEC")


@dataclass(frozen=True)
class MirroringOptions:
    mirroring_concurrent_service_endpoint_syncs: int = workers(5, "Endpoints that are mirrored")
    mirroring_max_endpoints_per_subset: int = option(
        1000, "The largest number of addresses of one subset that are mirrored.", minimum=1, maximum=1000
    )
    mirroring_endpointslice_updates_batch_period: float = duration(
        0.0, "How long changes of mirrored EndpointSlices are collected before a sync."
    )


SPEC: Final = ControllerSpec(
    name="endpointslice-mirroring-controller",
    aliases=("endpointslicemirroring",),
    summary="makes EndpointSlices from Endpoints that users write",
    factory="kinformer_controllers.endpointslicemirroring.controller:MirroringController",
    options=MirroringOptions,
    permissions=(
        allow("list watch", "services"),
        allow("get list watch", "endpoints"),
        allow("list watch create update delete", "endpointslices.discovery.k8s.io"),
        # Slices have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "endpoints/finalizers"),
        # OpenShift requires this permission for addresses in its cluster network. Other servers ignore it.
        allow("create", "endpointslices.discovery.k8s.io/restricted"),
        RECORD_EVENTS,
    ),
    metrics=(
        "endpoint_slice_mirroring_controller_addresses_skipped_per_sync",
        "endpoint_slice_mirroring_controller_changes_total",
        "endpoint_slice_mirroring_controller_desired_endpoint_slices",
        "endpoint_slice_mirroring_controller_endpoints_added_per_sync",
        "endpoint_slice_mirroring_controller_endpoints_desired",
        "endpoint_slice_mirroring_controller_endpoints_removed_per_sync",
        "endpoint_slice_mirroring_controller_endpoints_sync_duration",
        "endpoint_slice_mirroring_controller_endpoints_updated_per_sync",
        "endpoint_slice_mirroring_controller_num_endpoint_slices",
    ),
    sharded_by="namespace",
    page="small.md",
    differs="a slice is updated only if nobody has changed it since it was read",
)
