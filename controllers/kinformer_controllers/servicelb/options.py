"""The options of the service load balancer controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers
from kinformer_controllers.shared.options import cloud_provider, cluster_name

__all__ = ("ServiceLBOptions",)


@dataclass(frozen=True)
class ServiceLBOptions:
    cloud_provider: str = cloud_provider()
    cluster_name: str = cluster_name()
    concurrent_service_syncs: int = workers(1, "Services with load balancers")
