"""The endpoint slice controller, as in kube-controller-manager: it keeps the EndpointSlices of services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, option, workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("EndpointSliceOptions", "SPEC")


@dataclass(frozen=True)
class EndpointSliceOptions:
    concurrent_service_endpoint_syncs: int = workers(5, "Services' EndpointSlices")
    max_endpoints_per_slice: int = option(100, "The largest number of endpoints in a slice.", minimum=1, maximum=1000)
    endpointslice_updates_batch_period: float = duration(
        0.0, "How long changes of a Service's pods are collected before a sync."
    )


SPEC: Final = ControllerSpec(
    name="endpointslice-controller",
    aliases=("endpointslice",),
    summary="keeps EndpointSlices of Services",
    factory="kinformer_controllers.endpointslice.controller:EndpointSliceController",
    options=EndpointSliceOptions,
    permissions=(
        allow("list watch", "services", "pods", "nodes"),
        allow("list watch create update delete", "endpointslices.discovery.k8s.io"),
        # Slices have owner references with blockOwnerDeletion. Some servers require this permission for them.
        allow("update", "services/finalizers"),
        # OpenShift requires this permission for addresses in its cluster network. Other servers ignore it.
        allow("create", "endpointslices.discovery.k8s.io/restricted"),
        RECORD_EVENTS,
    ),
    metrics=(
        "endpoint_slice_controller_changes",
        "endpoint_slice_controller_desired_endpoint_slices",
        "endpoint_slice_controller_endpoints_added_per_sync",
        "endpoint_slice_controller_endpoints_desired",
        "endpoint_slice_controller_endpoints_removed_per_sync",
        "endpoint_slice_controller_endpointslices_changed_per_sync",
        "endpoint_slice_controller_num_endpoint_slices",
        "endpoint_slice_controller_services_count_by_traffic_distribution",
        "endpoint_slice_controller_syncs",
    ),
    sharded_by="namespace",
    page="endpoints.md",
)
