"""The options of the node IPAM controller. Names and defaults are kube-controller-manager's."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import option
from kinformer_controllers.shared.options import allocate_node_cidrs, cluster_cidr

__all__ = ("NodeIpamOptions",)


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
