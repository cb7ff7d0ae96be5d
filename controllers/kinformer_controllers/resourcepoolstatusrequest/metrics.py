"""The metrics of the answers to ResourcePoolStatusRequests, under Kubernetes' names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter, Histogram

from kinformer.clock import Clock

__all__ = ("answering",)

_PREFIX: Final = "resourcepoolstatusrequest_controller"
_LABELS: Final = ("driver_name",)
_PROCESSED: Final = Counter(
    f"{_PREFIX}_requests_processed_total", "Total number of ResourcePoolStatusRequests processed", _LABELS
)
_ERRORS: Final = Counter(
    f"{_PREFIX}_request_processing_errors_total",
    "Total number of errors encountered while processing ResourcePoolStatusRequests",
    _LABELS,
)
_SECONDS: Final = Histogram(
    f"{_PREFIX}_request_processing_duration_seconds",
    "Time taken to process a ResourcePoolStatusRequest",
    _LABELS,
    buckets=[0.001 * 2**power for power in range(15)],
)


@contextmanager
def answering(clock: Clock, driver: str, began: float) -> Iterator[None]:
    """
    Count an answer that the block writes. If the block raises, it counts as an error, too.

    :param began: when the work on the request began, as the clock's monotonic time
    """
    try:
        yield
    except Exception:
        _ERRORS.labels(driver).inc()
        raise
    finally:
        _PROCESSED.labels(driver).inc()
        _SECONDS.labels(driver).observe(clock.monotonic() - began)
