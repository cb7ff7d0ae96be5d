"""The metrics of the horizontal pod autoscaler, under kube-controller-manager's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from prometheus_client import Counter, Gauge, Histogram

from kinformer.clock import Clock
from kinformer.models import V2MetricStatus

__all__ = ("AUTOSCALERS", "DESIRED", "Computation", "Evaluation")

_PREFIX: Final = "horizontal_pod_autoscaler_controller_"
_BUCKETS: Final = [0.001 * 2**power for power in range(15)]

AUTOSCALERS: Final = Gauge(f"{_PREFIX}num_horizontal_pod_autoscalers", "Current number of controlled HPA objects.")
DESIRED: Final = Gauge(
    f"{_PREFIX}desired_replicas", "Current desired replica count for HPA objects.", ["namespace", "hpa_name"]
)
_RECONCILIATIONS: Final = Counter(
    f"{_PREFIX}reconciliations", "Number of reconciliations of HPA controller.", ["action", "error"]
)
_SECONDS: Final = Histogram(
    f"{_PREFIX}reconciliation_duration_seconds",
    "The time(seconds) that the HPA controller takes to reconcile once.",
    ["action", "error"],
    buckets=_BUCKETS,
)
_COMPUTATIONS: Final = Counter(
    f"{_PREFIX}metric_computation", "Number of metric computations.", ["action", "error", "metric_type"]
)
_COMPUTATION_SECONDS: Final = Histogram(
    f"{_PREFIX}metric_computation_duration_seconds",
    "The time(seconds) that the HPA controller takes to calculate one metric.",
    ["action", "error", "metric_type"],
    buckets=_BUCKETS,
)


@dataclass
class Computation:
    """The labels of one metric's computation."""

    current: int
    action: str = "none"
    error: str = "none"

    def proposed(self, replicas: int) -> None:
        if replicas != self.current:
            self.action = "scale_up" if replicas > self.current else "scale_down"

    def failed(self, *, is_spec: bool) -> None:
        self.error = "spec" if is_spec else "internal"


@dataclass
class Evaluation:
    """
    One evaluation of an autoscaler: a context, which counts and times what happens in it.

    :ivar action: ``scale_up``, ``scale_down`` or ``none``
    :ivar statuses: of the metrics, as far as they were computed. None before that
    """

    clock: Clock
    action: str = "none"
    statuses: list[V2MetricStatus] | None = None
    _began: float = field(default=0.0, init=False)

    def __enter__(self) -> Self:
        self._began = self.clock.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        labels = (self.action, "none" if error is None else "spec" if getattr(error, "is_spec", False) else "internal")
        _RECONCILIATIONS.labels(*labels).inc()
        _SECONDS.labels(*labels).observe(self.clock.monotonic() - self._began)

    @contextmanager
    def of_metric(self, type_: str, current: int) -> Iterator[Computation]:
        """Count and time the computation of one metric."""
        computation, began = Computation(current), self.clock.monotonic()
        yield computation
        labels = (computation.action, computation.error, type_)
        _COMPUTATIONS.labels(*labels).inc()
        _COMPUTATION_SECONDS.labels(*labels).observe(self.clock.monotonic() - began)
