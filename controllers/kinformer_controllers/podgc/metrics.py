"""The pod garbage collector's metrics, under Kubernetes' names."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

__all__ = ("FORCED_DELETIONS", "FORCED_DELETION_ERRORS")

FORCED_DELETIONS: Final = Counter(
    "pod_gc_collector_force_delete_pods_total",
    "Number of pods that are being forcefully deleted since the Pod GC Controller started.",
    ["namespace", "reason"],
)
FORCED_DELETION_ERRORS: Final = Counter(
    "pod_gc_collector_force_delete_pod_errors_total",
    "Number of errors encountered when forcefully deleting the pods since the Pod GC Controller started.",
    ["namespace", "reason"],
)
