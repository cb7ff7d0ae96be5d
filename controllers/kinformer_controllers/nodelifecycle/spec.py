"""The node lifecycle controller: checks which nodes are alive, and taints those that are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, option
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import node_monitor_period

__all__ = ("NodeLifecycleOptions", "SPEC")


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


SPEC: Final = ControllerSpec(
    name="node-lifecycle-controller",
    aliases=("nodelifecycle",),
    summary="watches which nodes are alive, and taints those that are not",
    factory="kinformer_controllers.nodelifecycle.controller:NodeLifecycleController",
    options=NodeLifecycleOptions,
    permissions=(
        allow("get list watch patch", "nodes"),
        allow("patch", "nodes/status"),
        allow("list watch", "leases.coordination.k8s.io"),
        allow("list watch", "pods"),
        allow("patch", "pods/status"),
        RECORD_EVENTS,
    ),
    metrics=(
        "node_collector_evictions_total",
        "node_collector_unhealthy_nodes_in_zone",
        "node_collector_update_all_nodes_health_duration_seconds",
        "node_collector_update_node_health_duration_seconds",
        "node_collector_zone_health",
        "node_collector_zone_size",
    ),
    on_leader="how fast nodes are tainted depends on how many nodes of the zone and of the cluster are not ready",
    page="node-lifecycle.md",
    differs="a taint is replaced by another one in one write; a write that failed is tried again",
)
