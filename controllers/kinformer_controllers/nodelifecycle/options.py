"""What the node lifecycle controller can be told. Names and defaults are kube-controller-manager's."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option

__all__ = ("NodeLifecycleOptions",)


@dataclass(frozen=True)
class NodeLifecycleOptions:
    node_monitor_period: float = duration(5.0, "How often all nodes are looked at.")
    node_monitor_grace_period: float = duration(
        50.0,
        "How long a node that has reported may say nothing, by its status or its Lease, before it counts as unknown.",
    )
    node_startup_grace_period: float = duration(
        60.0, "How long a new node may take for its first report before it counts as unknown."
    )
    node_eviction_rate: float = option(
        0.1, "Nodes of a zone tainted NoExecute each second, where the zone is healthy.", minimum=0.0
    )
    secondary_node_eviction_rate: float = option(
        0.01,
        "The same where the zone is unhealthy (--unhealthy-zone-threshold). In a zone that is not larger than "
        "--large-cluster-size-threshold nothing is tainted then.",
        minimum=0.0,
    )
    large_cluster_size_threshold: int = option(
        50, "A zone with more nodes than this is tainted at --secondary-node-eviction-rate while it is unhealthy."
    )
    unhealthy_zone_threshold: float = option(
        0.55, "The share of a zone's nodes, three at least, that are not ready in an unhealthy zone."
    )
