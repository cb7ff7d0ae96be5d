"""The service load balancer controller, as Kubernetes' cloud-controller-manager has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import cloud_provider, cluster_name

__all__ = ("ServiceLBOptions", "SPEC")


@dataclass(frozen=True)
class ServiceLBOptions:
    cloud_provider: str = cloud_provider()
    cluster_name: str = cluster_name()
    concurrent_service_syncs: int = workers(1, "Services with load balancers")


SPEC: Final = ControllerSpec(
    name="service-lb-controller",
    aliases=("service",),
    summary="keeps load balancers of Services",
    factory="kinformer_controllers.servicelb.controller:make_controller",
    options=ServiceLBOptions,
    permissions=(
        allow("list watch", "services", "nodes"),
        allow("patch", "services/status"),
        RECORD_EVENTS,
    ),
    metrics=(
        "service_controller_loadbalancer_sync_total",
        "service_controller_nodesync_error_total",
        "service_controller_nodesync_latency_seconds",
        "service_controller_update_loadbalancer_host_latency_seconds",
    ),
    on_leader="remembers the load balancers of all Services, and would go on updating those of ranges that it gave up",
    page="cloud.md",
    differs="a Service's address is removed from its status before its finalizer is removed",
)
