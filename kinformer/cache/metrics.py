"""What informers tell Prometheus.

``informer_queued_items`` is the name under which Kubernetes 1.36 has the length of an informer's queue; client-go has
none for what waits for a handler, or for handlers that fail.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar
from weakref import ref

from prometheus_client import REGISTRY, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

__all__ = (
    "cache_changes_total",
    "failures_total",
    "handler_errors_total",
    "track_informer",
    "track_pending",
    "undecodable_objects",
    "undecodable_objects_total",
)


T = TypeVar("T")


class _Listener(Protocol):
    informer_name: str
    handler_name: str
    pending: Any


class _Informer(Protocol):
    name: str

    @property
    def queued(self) -> int: ...


class _Living(Generic[T]):
    """
    Objects, as long as anybody else has them.

    Prometheus is asked in a thread of its own while the event loop's thread adds some and others end. A WeakSet cannot
    be read then; each step here is one operation of a dict, which no other thread comes in between of.
    """

    def __init__(self) -> None:
        self._references: dict[int, ref[T]] = {}

    def add(self, obj: T) -> None:
        key, references = id(obj), self._references
        references[key] = ref(obj, lambda gone: references.pop(key, None) if references.get(key) is gone else None)

    def list(self) -> builtins.list[T]:
        return [obj for reference in list(self._references.values()) if (obj := reference()) is not None]


class _Depths(Collector):
    """Counts what waits when it is asked to: nothing is counted while events go by."""

    def __init__(self) -> None:
        self.informers: _Living[_Informer] = _Living()
        self.listeners: _Living[_Listener] = _Living()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield self._queued_items()
        yield self._pending_notifications()

    def _queued_items(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "informer_queued_items", "Number of items currently queued in the FIFO.", labels=("name",)
        )
        depths: dict[str, int] = {}
        for informer in self.informers.list():
            depths[informer.name] = depths.get(informer.name, 0) + informer.queued
        for name, depth in sorted(depths.items()):
            family.add_metric((name,), depth)
        return family

    def _pending_notifications(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "informer_pending_notifications",
            "Number of notifications that an event handler has not been given yet.",
            labels=("informer", "handler"),
        )
        depths: dict[tuple[str, str], int] = {}
        for listener in self.listeners.list():
            key = (listener.informer_name, listener.handler_name)
            depths[key] = depths.get(key, 0) + len(listener.pending)
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
    """Have the length of an informer's queue told for as long as the informer is there."""
    _depths.informers.add(informer)


def track_pending(listener: _Listener) -> None:
    """Have the depth of a listener's buffer told for as long as the listener is there."""
    _depths.listeners.add(listener)
