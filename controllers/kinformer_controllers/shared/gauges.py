"""Gauges of controllers: one that is counted when the metrics are read, and some that show sums.

A :class:`LiveGauge` is shown only while a controller runs. So a process that is not the leader shows none, and nothing
is counted for metrics that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from prometheus_client import REGISTRY, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

__all__ = ("LiveGauge", "SummedGauges")


class LiveGauge(Collector):
    """
    A gauge.

    :param name: its name, as Kubernetes has it
    :param what: its description
    :param labels: the names of its labels
    """

    def __init__(self, name: str, what: str, labels: Sequence[str]) -> None:
        self._name, self._what, self._labels = name, what, labels
        self._count: Callable[[], Mapping[Any, float]] | None = None
        REGISTRY.register(self)

    def describe(self) -> list[Metric]:
        return [GaugeMetricFamily(self._name, self._what, labels=self._labels)]

    def collect(self) -> Iterator[Metric]:
        if self._count is None:
            return
        family = GaugeMetricFamily(self._name, self._what, labels=self._labels)
        for labels, number in self._count().items():
            family.add_metric(labels, number)
        yield family

    @contextmanager
    def shown(self, count: Callable[[], Mapping[Any, float]]) -> Iterator[None]:
        """
        Show the gauge while the block runs.

        :param count: returns the numbers by the values of the labels; any thread may call it
        """
        self._count = count
        try:
            yield
        finally:
            self._count = None


class SummedGauges:
    """
    Gauges that show sums over keys. For each key, there is a number for each gauge.

    :param gauges: the gauges
    """

    def __init__(self, *gauges: Gauge) -> None:
        self._gauges = gauges
        self._nothing = (0,) * len(gauges)
        self._sums = self._nothing
        self._by_key: dict[Hashable, tuple[int, ...]] = {}

    def set(self, key: Hashable, *numbers: int) -> None:
        """Set the numbers of a key, in the order of the gauges."""
        before = self._by_key.pop(key, self._nothing)
        if any(numbers):
            self._by_key[key] = numbers
        self._sums = tuple(map(sum, zip(self._sums, numbers, (-number for number in before), strict=True)))
        for gauge, value in zip(self._gauges, self._sums, strict=True):
            gauge.set(value)

    def forget(self, key: Hashable) -> None:
        """Forget a key that is gone."""
        if key in self._by_key:
            self.set(key, *self._nothing)
