"""The node IPAM controller: assigns each node a part of the cluster's network for its pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import option
from kinformer.permissions import RECORD_EVENTS, allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import allocate_node_cidrs, cluster_cidr

__all__ = ("NodeIpamOptions", "SPEC")


@dataclass(frozen=True)
class NodeIpamOptions:
    allocate_node_cidrs: bool = allocate_node_cidrs()
    cluster_cidr: str = cluster_cidr()
    service_cluster_ip_range: str = option(
        "", "The network of Services, or one of each family. Nodes get no part of it."
    )
    node_cidr_mask_size: int = option(
        0, "The mask of a node's part, if the cluster has one family. 0: 24 for IPv4, 64 for IPv6.", minimum=0
    )
    node_cidr_mask_size_ipv4: int = option(0, "The mask of a node's IPv4 part. 0: 24.", minimum=0, maximum=32)
    node_cidr_mask_size_ipv6: int = option(0, "The mask of a node's IPv6 part. 0: 64.", minimum=0, maximum=128)


SPEC: Final = ControllerSpec(
    name="node-ipam-controller",
    aliases=("nodeipam",),
    summary="gives each node a part of the cluster's network",
    factory="kinformer_controllers.nodeipam.controller:NodeIpamController",
    options=NodeIpamOptions,
    permissions=(allow("list watch patch", "nodes"), RECORD_EVENTS),
    metrics=(
        "node_ipam_controller_cidrset_allocation_tries_per_request",
        "node_ipam_controller_cidrset_cidrs_allocations_total",
        "node_ipam_controller_cidrset_cidrs_releases_total",
        "node_ipam_controller_cidrset_usage_cidrs",
        "node_ipam_controller_cirdset_max_cidrs",
    ),
    sharded_by="name",
    page="node-ipam.md",
    differs=(
        "a part of the network belongs to the node's uid; the manager starts even if a node has a part of "
        "another network"
    ),
)
