"""The metrics of the node lifecycle controller, under Kubernetes' names."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

__all__ = ("ALL_NODES_SECONDS", "EVICTIONS", "NODE_SECONDS", "forget_zone", "tell_zone")

_ZONE_HEALTH = Gauge(
    "node_collector_zone_health", "Gauge measuring percentage of healthy nodes per zone.", labelnames=["zone"]
)
_ZONE_SIZE = Gauge(
    "node_collector_zone_size", "Gauge measuring number of registered Nodes per zones.", labelnames=["zone"]
)
_UNHEALTHY_NODES = Gauge(
    "node_collector_unhealthy_nodes_in_zone",
    "Gauge measuring number of not Ready Nodes per zones.",
    labelnames=["zone"],
)
EVICTIONS = Counter(
    "node_collector_evictions_total",
    "Number of Node evictions that happened since current instance of NodeController started.",
    labelnames=["zone"],
)
NODE_SECONDS = Histogram(
    "node_collector_update_node_health_duration_seconds",
    "Duration in seconds for NodeController to update the health of a single node.",
    buckets=[0.001 * 4**power for power in range(8)],
)
ALL_NODES_SECONDS = Histogram(
    "node_collector_update_all_nodes_health_duration_seconds",
    "Duration in seconds for NodeController to update the health of all nodes.",
    buckets=[0.01 * 4**power for power in range(8)],
)


def tell_zone(zone: str, size: int, unhealthy: int) -> None:
    """Set the number of a zone's nodes, and of those that are not ready."""
    _ZONE_SIZE.labels(zone).set(size)
    _ZONE_HEALTH.labels(zone).set(100 * (size - unhealthy) / size)
    _UNHEALTHY_NODES.labels(zone).set(unhealthy)


def forget_zone(zone: str) -> None:
    """Set the numbers of a zone that has no nodes any more."""
    _ZONE_SIZE.labels(zone).set(0)
    _ZONE_HEALTH.labels(zone).set(100)
    _UNHEALTHY_NODES.labels(zone).set(0)
