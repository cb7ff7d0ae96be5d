"""The metrics of the mirroring of Endpoints, under Kubernetes' names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

__all__ = ("CHANGES", "SKIPPED", "SYNC_SECONDS")

_PREFIX: Final = "endpoint_slice_mirroring_controller"

CHANGES: Final = Counter(f"{_PREFIX}_changes", "Number of EndpointSlice changes", ["operation"])
SKIPPED: Final = Histogram(
    f"{_PREFIX}_addresses_skipped_per_sync",
    "Number of addresses skipped on each Endpoints sync due to being invalid or exceeding MaxEndpointsPerSubset",
    buckets=[2.0**power for power in range(1, 16)],
)
SYNC_SECONDS: Final = Histogram(
    f"{_PREFIX}_endpoints_sync_duration",
    "Duration of syncEndpoints() in seconds",
    buckets=[0.001 * 2**power for power in range(15)],
)
