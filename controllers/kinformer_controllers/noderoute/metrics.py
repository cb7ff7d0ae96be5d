"""The node route controller's metrics, under Kubernetes' names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

__all__ = ("ROUTE_SYNCS",)

ROUTE_SYNCS: Final = Counter(
    "route_controller_route_sync_total",
    "A metric counting the amount of times routes have been synced with the cloud provider.",
)
