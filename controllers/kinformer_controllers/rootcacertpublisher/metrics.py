"""The root CA publisher's metrics, under Kubernetes' names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter, Histogram

from kinformer.client.errors import ApiError
from kinformer.clock import Clock

__all__ = ("counted_sync",)

_SYNCS: Final = Counter(
    "root_ca_cert_publisher_sync_total",
    "Number of namespace syncs happened in root ca cert publisher.",
    ["code"],
)
_SECONDS: Final = Histogram(
    "root_ca_cert_publisher_sync_duration_seconds",
    "Number of namespace syncs happened in root ca cert publisher.",
    ["code"],
    buckets=[0.001 * 2**power for power in range(15)],
)


@contextmanager
def counted_sync(clock: Clock) -> Iterator[None]:
    """Count one sync and its duration, with the HTTP status code of its error as a label; 200 if there is none."""
    began, code = clock.monotonic(), 500
    try:
        yield
        code = 200
    except ApiError as error:
        code = error.status.code or 500
        raise
    finally:
        _SYNCS.labels(code=str(code)).inc()
        _SECONDS.labels(code=str(code)).observe(clock.monotonic() - began)
