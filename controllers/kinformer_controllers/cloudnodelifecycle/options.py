"""The options of the cloud node lifecycle controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration
from kinformer_controllers.shared.options import cloud_provider

__all__ = ("CloudNodeLifecycleOptions",)


@dataclass(frozen=True)
class CloudNodeLifecycleOptions:
    cloud_provider: str = cloud_provider()
    node_monitor_period: float = duration(5.0, "How often all nodes are checked.")
