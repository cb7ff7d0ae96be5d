"""Metrics of work queues: their length, the time in the queue, the time of the work, and work that is stuck.

The names are those of every Kubernetes component. The label ``name`` is the queue's name. For each step of an item, the
queue makes a few additions. The rest is computed when Prometheus scrapes, including the time that work in progress has
taken so far. There is no task for it.

To send the metrics somewhere else, or nowhere, give queues another :class:`MetricsProvider`.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate
from operator import mul
from typing import Protocol

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kinformer.clock import Clock
from kinformer.cluster import in_cluster
from kinformer.tallies import Histogram

__all__ = (
    "Buffer",
    "MetricsProvider",
    "NoMetrics",
    "PrometheusMetrics",
    "QueueMetrics",
    "default_provider",
    "set_default_provider",
)


class QueueMetrics(Protocol):
    """The metrics of one queue, which it calls for each step of an item."""

    def add(self, item: Hashable) -> None:
        """`item` was queued, and was not in the queue before."""

    def get(self, item: Hashable) -> None:
        """A worker has taken `item`."""

    def done(self, item: Hashable) -> None:
        """The worker has finished `item`."""

    def retry(self) -> None:
        """An item was added with a delay."""


class MetricsProvider(Protocol):
    """Makes the metrics of queues."""

    def metrics_of(self, name: str, clock: Clock) -> QueueMetrics | None:
        """The metrics for a queue with this name; None for no metrics."""


class Buffer(Protocol):
    """Something that holds items as a queue does, and measures no times. It is read in any thread."""

    @property
    def waiting(self) -> int:
        """How many items are in it."""

    @property
    def taken(self) -> int:
        """How many items were taken from it."""


class NoMetrics:
    """A provider without metrics: ``Queue("pods", metrics=NoMetrics())``."""

    def metrics_of(self, name: str, clock: Clock) -> QueueMetrics | None:
        return None


#: Kubernetes' own buckets, from 10 ns to 10 s. They are multiplied step by step as there, so one is
#: 9.999999999999999e-06.
_BOUNDS = tuple(accumulate([1e-8] + [10.0] * 9, mul))


class _Name:
    """The totals of all queues with one name."""

    __slots__ = ("adds", "depth", "latency", "queues", "retries", "work")

    def __init__(self) -> None:
        self.depth = 0
        self.adds = 0
        self.retries = 0
        self.latency = Histogram(_BOUNDS)
        self.work = Histogram(_BOUNDS)
        self.queues: list[weakref.ref[_Queue]] = []

    def ages(self) -> list[float]:
        """Seconds since each item in progress was taken."""
        # A scrape may run in another thread while a queue works, so only copies are iterated.
        queues = [queue for ref in tuple(self.queues) if (queue := ref()) is not None]
        return [queue.now() - start for queue in queues for start in tuple(queue.started.values())]


class _Queue:
    """The metrics of one queue: the totals of its name, and the times at which its items were added and taken."""

    __slots__ = ("__weakref__", "_added", "_name", "now", "started")

    def __init__(self, name: _Name, clock: Clock) -> None:
        self._name = name
        self._added: dict[Hashable, float] = {}
        self.now = clock.monotonic
        self.started: dict[Hashable, float] = {}

    def add(self, item: Hashable) -> None:
        self._name.adds += 1
        self._name.depth += 1
        self._added[item] = self.now()

    def get(self, item: Hashable) -> None:
        self._name.depth -= 1
        self.started[item] = now = self.now()
        self._name.latency.observe(now - self._added.pop(item))

    def done(self, item: Hashable) -> None:
        self._name.work.observe(self.now() - self.started.pop(item))

    def retry(self) -> None:
        self._name.retries += 1


class PrometheusMetrics(Collector):
    """
    Keeps the metrics of queues, as a collector for a Prometheus registry.

    Queues with the same name share a series, and the series stays after they are gone. All queues with the same name
    must belong to one event loop.

    :param registry: where to register it; None: the caller registers it
    :raises ValueError: if the registry has these metrics already
    """

    def __init__(self, registry: CollectorRegistry | None = REGISTRY) -> None:
        self._names: dict[str, _Name] = {}
        self._buffers: dict[str, weakref.ref[Buffer]] = {}
        if registry is not None:
            registry.register(self)

    def metrics_of(self, name: str, clock: Clock) -> QueueMetrics | None:
        of_name = self._names.setdefault(in_cluster(name), _Name())
        of_name.queues = [queue for queue in of_name.queues if queue() is not None]
        metrics = _Queue(of_name, clock)
        of_name.queues.append(weakref.ref(metrics))
        return metrics

    def show_buffer(self, name: str, buffer: Buffer) -> None:
        """Show the depth and the adds of a buffer that is no work queue, for as long as it exists."""
        self._buffers[in_cluster(name)] = weakref.ref(buffer)

    def describe(self) -> Iterable[Metric]:
        return self._families([])

    def collect(self) -> Iterable[Metric]:
        return self._families(sorted(self._names.copy().items()))

    def _families(self, names: list[tuple[str, _Name]]) -> Iterator[Metric]:
        label = ("name",)
        depth = GaugeMetricFamily("workqueue_depth", "How many items need work.", labels=label)
        adds = CounterMetricFamily("workqueue_adds_total", "How many items were added.", labels=label)
        latency = HistogramMetricFamily(
            "workqueue_queue_duration_seconds",
            "How long items lay in the queue until a worker took them.",
            labels=label,
        )
        work = HistogramMetricFamily(
            "workqueue_work_duration_seconds", "How long the work on an item took.", labels=label
        )
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "How long all work in progress has taken so far, added up. It grows by one each second for each worker "
            "that is stuck.",
            labels=label,
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "How long the longest work in progress has taken so far.",
            labels=label,
        )
        retries = CounterMetricFamily("workqueue_retries_total", "How many items were to come back.", labels=label)
        for name, of_name in names:
            labels = (name,)
            ages = of_name.ages()
            depth.add_metric(labels, of_name.depth)
            adds.add_metric(labels, of_name.adds)
            latency.add_metric(labels, list(of_name.latency.buckets()), of_name.latency.total)
            work.add_metric(labels, list(of_name.work.buckets()), of_name.work.total)
            unfinished.add_metric(labels, sum(ages))
            longest.add_metric(labels, max(ages, default=0.0))
            retries.add_metric(labels, of_name.retries)
        for name, reference in sorted(self._buffers.copy().items()):
            if (buffer := reference()) is not None:
                waiting = buffer.waiting
                depth.add_metric((name,), waiting)
                adds.add_metric((name,), waiting + buffer.taken)
        yield from (depth, adds, latency, work, unfinished, longest, retries)


_default: MetricsProvider | None = None


def default_provider() -> MetricsProvider:
    """The provider of every queue that is not given one: Prometheus' default registry, unless another was set."""
    global _default
    if _default is None:
        _default = PrometheusMetrics()
    return _default


def set_default_provider(provider: MetricsProvider) -> None:
    """Use `provider` for all queues that are made from now on without a provider of their own."""
    global _default
    _default = provider
