"""The metrics of the endpoint slice controller, with Kubernetes' names."""

from __future__ import annotations

import math
from typing import Final

from prometheus_client import Gauge, Histogram

from kinformer_controllers.endpointslice.endpoints import PortsKey
from kinformer_controllers.shared.gauges import SummedGauges

__all__ = ("SliceMetrics",)

_PREFIX = "endpoint_slice_controller"
_POWERS_OF_TWO = tuple(2.0**power for power in range(1, 16))

_ADDED: Final = Histogram(
    f"{_PREFIX}_endpoints_added_per_sync", "Number of endpoints added on each Service sync", buckets=_POWERS_OF_TWO
)
_REMOVED: Final = Histogram(
    f"{_PREFIX}_endpoints_removed_per_sync", "Number of endpoints removed on each Service sync", buckets=_POWERS_OF_TWO
)
_SLICES_CHANGED: Final = Histogram(
    f"{_PREFIX}_endpointslices_changed_per_sync",
    "Number of EndpointSlices changed on each Service sync",
    ("topology", "traffic_distribution"),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_ENDPOINTS: Final = Gauge(f"{_PREFIX}_endpoints_desired", "Number of endpoints desired")
_SLICES: Final = Gauge(f"{_PREFIX}_num_endpoint_slices", "Number of EndpointSlices")
_IDEAL_SLICES: Final = Gauge(
    f"{_PREFIX}_desired_endpoint_slices", "Number of EndpointSlices that would exist with perfect endpoint allocation"
)
_DISTRIBUTIONS: Final = Gauge(
    f"{_PREFIX}_services_count_by_traffic_distribution",
    "Number of Services using some specific trafficDistribution",
    ("traffic_distribution",),
)
# Gauges, although they only ever grow: prometheus-client adds _total to a counter's name.
_CHANGES: Final = Gauge(f"{_PREFIX}_changes", "Number of EndpointSlice changes", ("operation",))
_SYNCS: Final = Gauge(f"{_PREFIX}_syncs", "Number of EndpointSlice syncs", ("result",))


class SliceMetrics:
    """One controller's metrics. Some are sums over services, so the numbers of each service are kept."""

    def __init__(self, max_per_slice: int) -> None:
        self._max_per_slice = max_per_slice
        #: By service and address type.
        self._counts = SummedGauges(_ENDPOINTS, _SLICES, _IDEAL_SLICES)
        self._distributions: dict[str, str] = {}
        self._services_by_distribution: dict[str, int] = {}

    def changed(self, operation: str) -> None:
        """Count a write: ``create``, ``update`` or ``delete``."""
        _CHANGES.labels(operation).inc()

    def synced(self, result: str) -> None:
        """Count a sync: ``success``, ``stale`` or ``error``."""
        _SYNCS.labels(result).inc()

    def placed(self, added: int, removed: int) -> None:
        """Observe the endpoints that one sync has added and removed."""
        _ADDED.observe(added)
        _REMOVED.observe(removed)

    def wrote(self, slices: int, topology: str, distribution: str) -> None:
        """
        Observe the slices that one sync has written or deleted.

        :param topology: ``Auto`` for a service with hints by the size of zones, else ``Disabled``
        """
        _SLICES_CHANGED.labels(topology, distribution).observe(slices)

    def counts(self, service: str, address_type: str, by_ports: dict[PortsKey, tuple[int, int]]) -> None:
        """
        Set the numbers of a service for one address type.

        :param by_ports: for each set of ports, the numbers of endpoints and of slices
        """
        endpoints = sum(each[0] for each in by_ports.values())
        slices = sum(each[1] for each in by_ports.values())
        # There is always one slice, even without endpoints.
        ideal = sum(math.ceil(each[0] / self._max_per_slice) for each in by_ports.values()) or 1
        self._counts.set((service, address_type), endpoints, slices, ideal)

    def distribution(self, service: str, distribution: str) -> None:
        """Set a service's traffic distribution; ``""`` for none."""
        before = self._distributions.pop(service, "")
        if distribution:
            self._distributions[service] = distribution
        if before != distribution:
            self._count_distribution(before, -1)
            self._count_distribution(distribution, 1)

    def forget(self, service: str) -> None:
        """Forget a service that is gone."""
        for address_type in ("IPv4", "IPv6"):
            self._counts.forget((service, address_type))
        self.distribution(service, "")

    def _count_distribution(self, distribution: str, sign: int) -> None:
        if distribution:
            count = self._services_by_distribution.get(distribution, 0) + sign
            self._services_by_distribution[distribution] = count
            _DISTRIBUTIONS.labels(distribution).set(count)
