"""The endpoints controller, as in kube-controller-manager: it keeps the Endpoints of services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec

__all__ = ("EndpointOptions", "SPEC")


@dataclass(frozen=True)
class EndpointOptions:
    concurrent_endpoint_syncs: int = workers(5, "Services' Endpoints")
    endpoint_updates_batch_period: float = duration(
        0.0, "How long changes of a Service's pods are collected before a sync."
    )


SPEC: Final = ControllerSpec(
    name="endpoints-controller",
    aliases=("endpoint",),
    summary="keeps Endpoints of Services",
    factory="kinformer_controllers.endpoint.controller:EndpointController",
    options=EndpointOptions,
    permissions=(
        allow("list watch", "services", "pods"),
        allow("list watch create update delete", "endpoints"),
        # OpenShift requires this permission for addresses in its cluster network. Other servers ignore it.
        allow("create", "endpoints/restricted"),
        RECORD_EVENTS,
    ),
    metrics=(
        "endpoint_controller_changes",
        "endpoint_controller_endpoints_desired",
        "endpoint_controller_syncs",
    ),
    sharded_by="namespace",
    page="endpoints.md",
    differs=(
        "ports and subsets are in another order, which has no meaning; a failed sync is tried again without a limit"
    ),
)
