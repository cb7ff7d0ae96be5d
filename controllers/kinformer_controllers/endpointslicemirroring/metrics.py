"""The metrics of the mirroring of Endpoints, under Kubernetes' names.

Kubernetes counts endpoints and slices over all Endpoints objects that were mirrored since the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

__all__ = ("CHANGES", "SKIPPED", "SYNC_SECONDS", "Sizes", "count_endpoints")

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
_ENDPOINTS: Final = Gauge(f"{_PREFIX}_endpoints_desired", "Number of endpoints desired")
_SLICES: Final = Gauge(f"{_PREFIX}_num_endpoint_slices", "Number of EndpointSlices")
_FEWEST: Final = Gauge(
    f"{_PREFIX}_desired_endpoint_slices",
    "Number of EndpointSlices that would exist with perfect endpoint allocation",
)


def count_endpoints(added: int, updated: int, removed: int) -> None:
    """Count the changes of one sync."""
    _ADDED.observe(added)
    _UPDATED.observe(updated)
    _REMOVED.observe(removed)


class Sizes:
    """
    How many endpoints and slices there are.

    :param most: the largest number of endpoints in a slice
    """

    def __init__(self, most: int) -> None:
        self._most = most
        #: By the key of Endpoints: the numbers of endpoints, slices, and slices that would be enough.
        self._by_key: dict[str, tuple[int, int, int]] = {}
        self._sums = (0, 0, 0)

    def set(self, key: str, sizes: Sequence[tuple[int, int]]) -> None:
        """
        Note the sizes of one Endpoints object.

        :param sizes: numbers of endpoints, and of slices for them
        """
        endpoints = sum(count for count, _ in sizes)
        new = endpoints, sum(slices for _, slices in sizes), sum(-(-count // self._most) for count, _ in sizes)
        self._change(self._by_key.get(key, (0, 0, 0)), new)
        self._by_key[key] = new

    def forget(self, key: str) -> None:
        """Called when Endpoints are not mirrored any more."""
        if (old := self._by_key.pop(key, None)) is not None:
            self._change(old, (0, 0, 0))

    def _change(self, old: tuple[int, int, int], new: tuple[int, int, int]) -> None:
        before = self._sums
        self._sums = before[0] - old[0] + new[0], before[1] - old[1] + new[1], before[2] - old[2] + new[2]
        for gauge, value in zip((_ENDPOINTS, _SLICES, _FEWEST), self._sums, strict=True):
            gauge.set(value)
