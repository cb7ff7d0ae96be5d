"""LiveGauge: a gauge that is counted when the metrics are read, and shown only while a controller runs.

So a process that is not the leader shows none, and nothing is counted for metrics that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

__all__ = ("LiveGauge",)


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
