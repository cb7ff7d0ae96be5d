"""The metrics of the node IPAM controller, with Kubernetes' names (one of which has a typing error)."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

__all__ = ("ALLOCATIONS", "MAX_CIDRS", "RELEASES", "TRIES", "USAGE")

_LABELS = ("clusterCIDR",)

ALLOCATIONS = Counter(
    "node_ipam_controller_cidrset_cidrs_allocations_total",
    "Counter measuring total number of CIDR allocations.",
    _LABELS,
)
RELEASES = Counter(
    "node_ipam_controller_cidrset_cidrs_releases_total", "Counter measuring total number of CIDR releases.", _LABELS
)
MAX_CIDRS = Gauge("node_ipam_controller_cirdset_max_cidrs", "Maximum number of CIDRs that can be allocated.", _LABELS)
USAGE = Gauge("node_ipam_controller_cidrset_usage_cidrs", "Gauge measuring percentage of allocated CIDRs.", _LABELS)
TRIES = Histogram(
    "node_ipam_controller_cidrset_allocation_tries_per_request",
    "Number of CIDRs that were tried for an allocation.",
    _LABELS,
    buckets=(1, 5, 25, 125, 625),
)
