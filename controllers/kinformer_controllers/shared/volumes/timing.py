"""How long operations on storage take, in the metric that all controllers of volumes share.

Each try is measured by itself. ``volume_operation_total_seconds`` of the binder counts from the first try to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Histogram

from kinformer.clock import Clock

__all__ = ("BUCKETS", "timed_operation")

#: The upper bounds of Kubernetes' histograms of storage operations, in seconds.
BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600)
_SECONDS: Final = Histogram(
    "storage_operation_duration_seconds",
    "Storage operation duration",
    ("volume_plugin", "operation_name", "status", "migrated"),
    buckets=BUCKETS,
)


@contextmanager
def timed_operation(clock: Clock, plugin: str, operation: str, *, is_migrated: bool = False) -> Iterator[None]:
    """
    Measure how long the block takes. If it raises, the operation counts as failed.

    :param operation: Kubernetes' name of it, such as ``volume_provision``
    :param is_migrated: whether a CSI driver does it in place of the in-tree plug-in of the volume
    """
    began, status = clock.monotonic(), "fail-unknown"
    try:
        yield
        status = "success"
    finally:
        migrated = "true" if is_migrated else "false"
        _SECONDS.labels(plugin, operation, status, migrated).observe(clock.monotonic() - began)
