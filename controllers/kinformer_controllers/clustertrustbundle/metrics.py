"""The metrics of the publisher of ClusterTrustBundles, under Kubernetes' names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

__all__ = ("SYNCS", "SYNC_SECONDS")

SYNCS: Final = Counter(
    "clustertrustbundle_publisher_sync_total",
    "Number of syncs that occurred in cluster trust bundle publisher.",
    ["code"],
)
SYNC_SECONDS: Final = Histogram(
    "clustertrustbundle_publisher_sync_duration_seconds",
    "The time it took to sync a cluster trust bundle.",
    ["code"],
    buckets=[0.001 * 2**power for power in range(15)],
)
