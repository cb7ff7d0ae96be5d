"""Tallies: counters and histograms for what happens with each request and each sync.

They have the names and samples of prometheus-client's, and are computed when Prometheus scrapes. To count takes a
quarter of the time, because there is no lock. That is safe with CPython's global lock: threads take turns only where a
function is called or a loop begins again, and an addition has neither.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

__all__ = ("Count", "Counts", "Histogram", "Histograms")

T = TypeVar("T")


class Count:
    """A number that only grows."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0

    def inc(self) -> None:
        self.total += 1


class Histogram:
    """
    Durations by bucket.

    :param bounds: the greatest duration of each bucket but the last one
    """

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.total += seconds

    def buckets(self) -> Iterator[tuple[str, float]]:
        count = 0
        for label, more in zip((*map(repr, self._bounds), "+Inf"), tuple(self.counts), strict=True):
            count += more
            yield label, count


class _Labelled(Collector, Generic[T]):
    """A family of metrics, registered with Prometheus. :meth:`labels` gives one of them, always the same one."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str]) -> None:
        self._name, self._documentation, self._labels = name, documentation, labels
        self._children: dict[tuple[str, ...], T] = {}
        REGISTRY.register(self)

    def labels(self, *values: str) -> T:
        child = self._children.get(values)
        if child is None:
            child = self._children.setdefault(values, self._new())
        return child

    def describe(self) -> Iterable[Metric]:
        yield self._family({})

    def collect(self) -> Iterable[Metric]:
        yield self._family(self._children.copy())

    @abstractmethod
    def _new(self) -> T: ...

    @abstractmethod
    def _family(self, children: dict[tuple[str, ...], T]) -> Metric: ...


class Counts(_Labelled[Count]):
    """Counters by labels."""

    def _new(self) -> Count:
        return Count()

    def _family(self, children: dict[tuple[str, ...], Count]) -> Metric:
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for labels, count in children.items():
            family.add_metric(labels, count.total)
        return family


class Histograms(_Labelled[Histogram]):
    """
    Histograms of durations by labels.

    :param bounds: the greatest duration of each bucket but the last one
    """

    def __init__(self, name: str, documentation: str, labels: Sequence[str], bounds: Iterable[float]) -> None:
        self._bounds = tuple(map(float, bounds))
        super().__init__(name, documentation, labels)

    def _new(self) -> Histogram:
        return Histogram(self._bounds)

    def _family(self, children: dict[tuple[str, ...], Histogram]) -> Metric:
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._labels)
        for labels, histogram in children.items():
            family.add_metric(labels, list(histogram.buckets()), histogram.total)
        return family
