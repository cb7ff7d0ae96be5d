"""The options of the node lifecycle controller. Names and defaults are kube-controller-manager's."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option
from kinformer_controllers.shared.options import node_monitor_period

__all__ = ("NodeLifecycleOptions",)


@dataclass(frozen=True)
class NodeLifecycleOptions:
    node_monitor_period: float = node_monitor_period()
    node_monitor_grace_period: float = duration(
        50.0,
        "How long a node may go without an update of its status or its Lease before it counts as unknown.",
    )
    node_startup_grace_period: float = duration(
        60.0, "How long a new node may take for the first update of its status before it counts as unknown."
    )
    node_eviction_rate: float = option(
        0.1, "The number of nodes that are tainted NoExecute each second in a healthy zone.", minimum=0.0
    )
    secondary_node_eviction_rate: float = option(
        0.01,
        "The same number for an unhealthy zone (--unhealthy-zone-threshold). In an unhealthy zone that is not larger "
        "than --large-cluster-size-threshold no node is tainted.",
        minimum=0.0,
    )
    large_cluster_size_threshold: int = option(
        50, "The nodes of a zone with more nodes than this are tainted at --secondary-node-eviction-rate if unhealthy."
    )
    unhealthy_zone_threshold: float = option(
        0.55, "The share of a zone's nodes, at least three, that must be not ready for the zone to be unhealthy."
    )
