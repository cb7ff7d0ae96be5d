"""The service load balancer controller's metrics, under Kubernetes' names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

__all__ = ("HOST_UPDATES", "HOST_UPDATE_SECONDS", "NODE_SYNC_ERRORS", "NODE_SYNC_SECONDS")

_BUCKETS: Final = [2**power for power in range(15)]

HOST_UPDATES: Final = Counter(
    "service_controller_loadbalancer_sync_total",
    "A metric counting the amount of times any load balancer has been configured, as an effect of service/node changes "
    "on the cluster",
)
NODE_SYNC_ERRORS: Final = Counter(
    "service_controller_nodesync_error_total",
    "A metric counting the amount of times any load balancer has been configured and errored, as an effect of node "
    "changes on the cluster",
)
NODE_SYNC_SECONDS: Final = Histogram(
    "service_controller_nodesync_latency_seconds",
    "A metric measuring the latency for nodesync which updates loadbalancer hosts on cluster node updates.",
    buckets=_BUCKETS,
)
HOST_UPDATE_SECONDS: Final = Histogram(
    "service_controller_update_loadbalancer_host_latency_seconds",
    "A metric measuring the latency for updating each load balancer hosts.",
    buckets=_BUCKETS,
)
