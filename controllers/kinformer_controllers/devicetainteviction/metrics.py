"""The metrics of the device taint eviction controller, under Kubernetes' names."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

__all__ = ("POD_DELETIONS", "POD_DELETION_SECONDS")

POD_DELETIONS = Counter(
    "device_taint_eviction_controller_pod_deletions_total",
    "Total number of Pods deleted by DeviceTaintEvictionController since its start.",
)
POD_DELETION_SECONDS = Histogram(
    "device_taint_eviction_controller_pod_deletion_duration_seconds",
    "Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion via "
    "DeviceTaintEvictionController.",
    buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240),
)
