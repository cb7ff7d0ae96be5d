"""The metrics of the taint eviction controller, under Kubernetes' names."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

__all__ = ("POD_DELETIONS", "POD_DELETION_SECONDS")

POD_DELETIONS = Counter(
    "taint_eviction_controller_pod_deletions_total",
    "Total number of Pods deleted by TaintEvictionController since its start.",
)
POD_DELETION_SECONDS = Histogram(
    "taint_eviction_controller_pod_deletion_duration_seconds",
    "Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion via "
    "TaintEvictionController.",
    buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240),
)
