"""Metrics of requests, with the names and labels of client-go.

There is one set for the process, in prometheus-client's own registry. To look up a labelled child costs more than to
count. So :class:`HostMetrics` keeps the children that one client has used.
"""

from __future__ import annotations

from typing import Final

from kinformer.cluster import in_cluster
from kinformer.tallies import Count, Counts, Histogram, Histograms

__all__ = ("HostMetrics",)

_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

_requests: Final = Counts(
    "rest_client_requests",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    ("code", "method", "host"),
)
_retries: Final = Counts(
    "rest_client_request_retries",
    "Number of request retries, partitioned by status code, verb, and host.",
    ("code", "verb", "host"),
)
_duration: Final = Histograms(
    "rest_client_request_duration_seconds",
    "Request latency in seconds. Broken down by verb, and host.",
    ("verb", "host"),
    _BUCKETS,
)
_throttled: Final = Histograms(
    "rest_client_rate_limiter_duration_seconds",
    "Client side rate limiter latency in seconds. Broken down by verb, and host.",
    ("verb", "host"),
    _BUCKETS,
)


class HostMetrics:
    """
    The metrics of one server.

    :param host: the value of the ``host`` label
    """

    __slots__ = ("_durations", "_host", "_requests", "_waits")

    def __init__(self, host: str):
        self._host = in_cluster(host)
        self._requests: dict[tuple[int, str], Count] = {}
        self._durations: dict[str, Histogram] = {}
        self._waits: dict[str, Histogram] = {}

    def answered(self, code: int, method: str) -> None:
        """Count one try of a request. The code is 0 for a try without a response."""
        child = self._requests.get((code, method))
        if child is None:
            child = _requests.labels(_code(code), method, self._host)
            self._requests[code, method] = child
        child.inc()

    def retried(self, code: int, method: str) -> None:
        """Count a try that got a response and was not the request's first."""
        _retries.labels(_code(code), method, self._host).inc()

    def took(self, method: str, seconds: float) -> None:
        """Note how many seconds a request took, including all its tries and waits."""
        child = self._durations.get(method)
        if child is None:
            child = self._durations[method] = _duration.labels(method, self._host)
        child.observe(seconds)

    def throttled(self, method: str, seconds: float) -> None:
        """Note how many seconds the client's own rate limiter held a request back."""
        child = self._waits.get(method)
        if child is None:
            child = self._waits[method] = _throttled.labels(method, self._host)
        child.observe(seconds)


def _code(code: int) -> str:
    return str(code) if code else "<error>"
