"""The node route controller, as in Kubernetes' cloud-controller-manager: it creates routes to the pods of each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import duration, option
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import allocate_node_cidrs, cloud_provider, cluster_cidr, cluster_name

__all__ = ("NodeRouteOptions", "SPEC")


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


SPEC: Final = ControllerSpec(
    name="node-route-controller",
    aliases=("route",),
    summary="keeps the cloud's routes to the nodes' networks",
    factory="kinformer_controllers.noderoute.controller:make_controller",
    options=NodeRouteOptions,
    permissions=(
        allow("get list watch", "nodes"),
        allow("patch", "nodes/status"),
        RECORD_EVENTS,
    ),
    metrics=("route_controller_route_sync_total",),
    sharded_by="name",
    page="cloud.md",
    differs="routes are also compared as soon as a node changes; routes are deleted before new ones are made",
)
