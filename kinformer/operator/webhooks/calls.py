"""Calls: what a webhook server counts of each of its paths, for the metrics and for the status page.

The metrics have controller-runtime's names. The label ``webhook`` is the path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from kinformer.clock import Clock

__all__ = ("Calls",)

_TOTAL: Final = Counter(
    "controller_runtime_webhook_requests_total", "Requests to a webhook, by HTTP status", ("webhook", "code")
)
_REFUSED: Final = Counter("kinformer_webhook_refused_total", "Requests that a webhook has refused", ("webhook",))
_SECONDS: Final = Histogram(
    "controller_runtime_webhook_latency_seconds",
    "Seconds that a webhook took to answer",
    ("webhook",),
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
_IN_FLIGHT: Final = Gauge(
    "controller_runtime_webhook_requests_in_flight", "Requests that a webhook answers now", ("webhook",)
)

#: How many durations are remembered.
_REMEMBERED: Final = 256
_FAILED: Final = 400


class Calls:
    """
    Counts the calls of one path.

    :ivar requests: requests that were answered
    :ivar refused: those whose answer refuses the user's request
    :ivar failed: those that got an error instead of a review, so that the failure policy decides
    :ivar running: requests that are answered now
    """

    __slots__ = ("_clock", "_path", "_seconds", "failed", "refused", "requests", "running")

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self.requests = self.refused = self.failed = self.running = 0

    @property
    def times(self) -> list[float]:
        """The seconds that the last calls took, in order of size."""
        return sorted(self._seconds)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count a call as running while the block runs, and remember how long it took."""
        began = self._clock.monotonic()
        self.running += 1
        in_flight = _IN_FLIGHT.labels(self._path)
        in_flight.inc()
        try:
            yield
        finally:
            in_flight.dec()
            self.running -= 1
            took = self._clock.monotonic() - began
            self._seconds.append(took)
            _SECONDS.labels(self._path).observe(took)

    def answered(self, code: int) -> None:
        """
        Count an answer.

        :param code: its HTTP status
        """
        self.requests += 1
        self.failed += code >= _FAILED
        _TOTAL.labels(self._path, str(code)).inc()

    def refuse(self) -> None:
        """Count an answer that refuses the user's request."""
        self.refused += 1
        _REFUSED.labels(self._path).inc()
