"""The metrics of the mirroring of Endpoints, under Kubernetes' names.

Kubernetes counts endpoints and slices over all Endpoints objects that were mirrored since the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

__all__ = ("CHANGES", "SIZES", "SKIPPED", "SYNC_SECONDS", "count_endpoints", "sums_of")

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
_POWERS: Final = [2.0**power for power in range(1, 16)]
_ADDED: Final = Histogram(
    f"{_PREFIX}_endpoints_added_per_sync", "Number of endpoints added on each Endpoints sync", buckets=_POWERS
)
_UPDATED: Final = Histogram(
    f"{_PREFIX}_endpoints_updated_per_sync", "Number of endpoints updated on each Endpoints sync", buckets=_POWERS
)
_REMOVED: Final = Histogram(
    f"{_PREFIX}_endpoints_removed_per_sync", "Number of endpoints removed on each Endpoints sync", buckets=_POWERS
)
#: The numbers of endpoints, of slices, and of slices that would be enough.
SIZES: Final = (
    Gauge(f"{_PREFIX}_endpoints_desired", "Number of endpoints desired"),
    Gauge(f"{_PREFIX}_num_endpoint_slices", "Number of EndpointSlices"),
    Gauge(
        f"{_PREFIX}_desired_endpoint_slices",
        "Number of EndpointSlices that would exist with perfect endpoint allocation",
    ),
)


def count_endpoints(added: int, updated: int, removed: int) -> None:
    """Count the changes of one sync."""
    _ADDED.observe(added)
    _UPDATED.observe(updated)
    _REMOVED.observe(removed)


def sums_of(sizes: Sequence[tuple[int, int]], most: int) -> tuple[int, int, int]:
    """
    Return the numbers for :data:`SIZES` of one Endpoints object.

    :param sizes: numbers of endpoints, and of slices for them
    :param most: the largest number of endpoints in a slice
    """
    enough = sum(-(-count // most) for count, _ in sizes)
    return sum(count for count, _ in sizes), sum(slices for _, slices in sizes), enough
