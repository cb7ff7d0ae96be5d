"""Metrics of informers, for Prometheus.

``informer_queued_items``, ``informer_processing_latency_seconds`` and ``informer_store_resource_version`` have the
names and labels of Kubernetes 1.36. Their label ``name`` is the informer's name. client-go has no metrics for pending
notifications and for handlers that fail; those names are this project's.
"""

from __future__ import annotations

import builtins
import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, Generic, Protocol, TypeVar
from weakref import ref

from prometheus_client import REGISTRY, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kinformer.cluster import in_cluster
from kinformer.meta import GroupVersionResource

__all__ = (
    "ProcessingLatency",
    "cache_changes_total",
    "failures_total",
    "handler_errors_total",
    "processing_latency_of",
    "track_informer",
    "track_pending",
    "undecodable_objects",
    "undecodable_objects_total",
)


T = TypeVar("T")


class _Listener(Protocol):
    informer_name: str
    handler_name: str

    @property
    def untold(self) -> int: ...


class _Informer(Protocol):
    name: str
    resource: GroupVersionResource | None

    @property
    def queued(self) -> int: ...

    @property
    def store_resource_version(self) -> str: ...


_LABELS: Final = ("name", "group", "version", "resource")
#: The values of these labels for one series.
_Series = tuple[str, str, str, str]


def _series(name: str, resource: GroupVersionResource | None) -> _Series:
    if resource is None:
        return name, "", "", ""
    return name, resource.group, resource.version, resource.resource


class ProcessingLatency:
    """A histogram of the seconds that batches took from pop to end of processing."""

    __slots__ = ("_counts", "_total")

    #: Upper bounds of the buckets in seconds, as client-go has them.
    BOUNDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

    def __init__(self) -> None:
        self._counts = [0] * (len(self.BOUNDS) + 1)
        self._total = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self.BOUNDS, seconds)] += 1
        self._total += seconds

    def add_to(self, family: HistogramMetricFamily, series: _Series) -> None:
        labels = (*map(str, self.BOUNDS), "+Inf")
        buckets = list(zip(labels, accumulate(self._counts), strict=True))
        family.add_metric(series, buckets, self._total)


_latencies: dict[_Series, ProcessingLatency] = {}


def processing_latency_of(name: str, resource: GroupVersionResource | None) -> ProcessingLatency:
    """The histogram of an informer. Informers with the same name and resource share it."""
    return _latencies.setdefault(_series(in_cluster(name), resource), ProcessingLatency())


class _Living(Generic[T]):
    """
    A set of weakly referenced objects that one thread can read while another changes it.

    Prometheus collects metrics in its own thread, while the event loop's thread adds objects and others are freed. A
    WeakSet cannot be read then. Here each step is one atomic operation of a dict.
    """

    def __init__(self) -> None:
        self._references: dict[int, tuple[ref[T], str]] = {}

    def add(self, obj: T) -> None:
        key, references = id(obj), self._references

        def forget(gone: ref[T]) -> None:
            if (kept := references.get(key)) is not None and kept[0] is gone:
                del references[key]

        references[key] = ref(obj, forget), in_cluster("")

    def list(self) -> builtins.list[tuple[T, str]]:
        """The objects that still exist, each with the prefix of its name in metrics."""
        return [
            (obj, prefix) for reference, prefix in list(self._references.values()) if (obj := reference()) is not None
        ]


#: A resourceVersion that is a number; the metric leaves others out.
_NUMBER: Final = re.compile(r"[0-9]{1,40}")


class _Depths(Collector):
    """Counts items only when Prometheus collects: nothing is counted for each event."""

    def __init__(self) -> None:
        self.informers: _Living[_Informer] = _Living()
        self.listeners: _Living[_Listener] = _Living()

    def collect(self) -> Iterator[Metric]:
        yield from self._of_informers()
        yield self._latencies()
        yield self._pending_notifications()

    def _of_informers(self) -> Iterator[GaugeMetricFamily]:
        queued = GaugeMetricFamily(
            "informer_queued_items", "Number of items currently queued in the FIFO.", labels=_LABELS
        )
        versions = GaugeMetricFamily(
            "informer_store_resource_version",
            "The last 15 digits of the resource version that the store has reached.",
            labels=_LABELS,
        )
        depths: dict[_Series, int] = {}
        reached: dict[_Series, int] = {}
        for informer, prefix in self.informers.list():
            series = _series(prefix + informer.name, informer.resource)
            depths[series] = depths.get(series, 0) + informer.queued
            version = informer.store_resource_version
            if _NUMBER.fullmatch(version):  # other servers may have versions of any form
                reached[series] = int(version[-15:])
        for series, depth in sorted(depths.items()):
            queued.add_metric(series, depth)
        for series, version_number in sorted(reached.items()):
            versions.add_metric(series, version_number)
        yield queued
        yield versions

    def _latencies(self) -> HistogramMetricFamily:
        family = HistogramMetricFamily(
            "informer_processing_latency_seconds",
            "Time taken to process events after popping from the queue, a batch at a time.",
            labels=_LABELS,
        )
        for series, latency in sorted(_latencies.copy().items(), key=lambda item: item[0]):
            latency.add_to(family, series)
        return family

    def _pending_notifications(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "informer_pending_notifications",
            "Number of notifications that an event handler has not been given yet.",
            labels=("informer", "handler"),
        )
        depths: dict[tuple[str, str], int] = {}
        for listener, prefix in self.listeners.list():
            key = (prefix + listener.informer_name, listener.handler_name)
            depths[key] = depths.get(key, 0) + listener.untold
        for key, depth in sorted(depths.items()):
            family.add_metric(key, depth)
        return family


handler_errors_total = Counter(
    "informer_handler_errors_total",
    "Number of notifications at which an event handler raised an exception.",
    ("informer", "handler"),
)

failures_total = Counter(
    "informer_failures_total",
    "Number of times that listing or watching failed, by the exception's name.",
    ("name", "error"),
)

undecodable_objects = Gauge(
    "informer_undecodable_objects",
    "Number of objects of which the newest state does not decode: the cache has an older one, or none.",
    ("informer",),
)

undecodable_objects_total = Counter(
    "informer_undecodable_objects_seen_total",
    "Number of times that an object came in a list or watch and did not decode.",
    ("informer",),
)

cache_changes_total = Counter(
    "informer_cache_changes_total",
    "Number of times that an object of the cache was found changed by somebody, when its next version came.",
    ("informer",),
)

_depths = _Depths()
REGISTRY.register(_depths)


def track_informer(informer: _Informer) -> None:
    """Include an informer's queue length and version in the metrics, for as long as the informer exists."""
    _depths.informers.add(informer)


def track_pending(listener: _Listener) -> None:
    """Include the number of a listener's pending notifications in the metrics, for as long as the listener exists."""
    _depths.listeners.add(listener)
