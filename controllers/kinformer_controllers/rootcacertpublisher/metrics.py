"""The root CA publisher's metrics, under Kubernetes' names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

__all__ = ("SYNCS", "SYNC_SECONDS")

SYNCS: Final = Counter(
    "root_ca_cert_publisher_sync_total",
    "Number of namespace syncs happened in root ca cert publisher.",
    ["code"],
)
SYNC_SECONDS: Final = Histogram(
    "root_ca_cert_publisher_sync_duration_seconds",
    "Number of namespace syncs happened in root ca cert publisher.",
    ["code"],
    buckets=[0.001 * 2**power for power in range(15)],
)
