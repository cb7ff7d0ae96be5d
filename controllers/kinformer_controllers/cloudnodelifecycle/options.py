"""The options of the cloud node lifecycle controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer_controllers.shared.options import cloud_provider, node_monitor_period

__all__ = ("CloudNodeLifecycleOptions",)


@dataclass(frozen=True)
class CloudNodeLifecycleOptions:
    cloud_provider: str = cloud_provider()
    node_monitor_period: float = node_monitor_period()
