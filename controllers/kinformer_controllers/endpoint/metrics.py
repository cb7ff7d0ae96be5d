"""What the endpoints controller tells of itself.

Kubernetes' own has no metrics beyond its queue's; these are called as those of its slice controller are.
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
        """:param operation: ``create``, ``update`` or ``delete``"""
        _CHANGES.labels(operation).inc()

    def synced(self, result: str) -> None:
        """:param result: ``success``, ``stale`` or ``error``"""
        _SYNCS.labels(result).inc()

    def desired(self, key: str, endpoints: int) -> None:
        """A service has so many addresses, ready or not; 0 once it is gone."""
        self._total += endpoints - self._desired.pop(key, 0)
        if endpoints:
            self._desired[key] = endpoints
        _DESIRED.set(self._total)
