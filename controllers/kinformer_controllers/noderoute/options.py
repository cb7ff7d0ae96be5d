"""The options of the node route controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option
from kinformer_controllers.shared.options import allocate_node_cidrs, cloud_provider, cluster_cidr, cluster_name

__all__ = ("NodeRouteOptions",)


@dataclass(frozen=True)
class NodeRouteOptions:
    cloud_provider: str = cloud_provider()
    cluster_name: str = cluster_name()
    cluster_cidr: str = cluster_cidr()
    allocate_node_cidrs: bool = allocate_node_cidrs()
    configure_cloud_routes: bool = option(
        True, "Whether routes to the pods of nodes are created in the cloud, if --allocate-node-cidrs is given."
    )
    route_reconciliation_period: float = duration(
        10.0, "How often the routes of the cloud are compared with the nodes.", minimum=0.1
    )
