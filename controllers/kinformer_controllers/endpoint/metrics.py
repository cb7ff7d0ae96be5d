"""The metrics of the endpoints controller.

Kubernetes' controller has only the metrics of its queue. The names here follow those of the endpoint slice controller.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Gauge

__all__ = ("EndpointMetrics",)

# Gauges, although they only ever grow: prometheus-client adds _total to a counter's name.
_CHANGES: Final = Gauge("endpoint_controller_changes", "Number of Endpoints changes", ("operation",))
_SYNCS: Final = Gauge("endpoint_controller_syncs", "Number of Endpoints syncs", ("result",))
_DESIRED: Final = Gauge("endpoint_controller_endpoints_desired", "Number of endpoints desired")


class EndpointMetrics:
    """One controller's metrics."""

    def __init__(self) -> None:
        self._desired: dict[str, int] = {}
        self._total = 0

    def changed(self, operation: str) -> None:
        """Count a write: ``create``, ``update`` or ``delete``."""
        _CHANGES.labels(operation).inc()

    def synced(self, result: str) -> None:
        """Count a sync: ``success``, ``stale`` or ``error``."""
        _SYNCS.labels(result).inc()

    def desired(self, key: str, endpoints: int) -> None:
        """Set the number of a service's addresses, ready or not; 0 if the service is gone."""
        self._total += endpoints - self._desired.pop(key, 0)
        if endpoints:
            self._desired[key] = endpoints
        _DESIRED.set(self._total)
