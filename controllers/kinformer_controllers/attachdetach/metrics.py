"""The metrics of the controller, under kube-controller-manager's names.

The numbers of volumes are counted when the metrics are read. They are shown while the controller runs: a
process that is not the leader shows none.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, UnknownMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

__all__ = ("FORCED_DETACHES", "Counted", "counted_volumes")

#: How often volumes were detached that nodes may have used, by the reason. The metric's name does not end in `_total`.
FORCED_DETACHES: Final[Tally[str]] = Tally()

#: Returns the number of volumes in use by node and plug-in, and of those in each state by plug-in and state.
Counted = Callable[[], tuple["Tally[tuple[str, str]]", "Tally[tuple[str, str]]"]]


class _Volumes(Collector):
    """Counts volumes."""

    def __init__(self) -> None:
        self.count: Counted | None = None

    def describe(self) -> list[Metric]:
        return [_forced(), _in_use(), _total()]

    def collect(self) -> Iterator[Metric]:
        forced = _forced()
        for reason, times in FORCED_DETACHES.items():
            forced.add_metric([reason], times)
        yield forced
        if self.count is None:
            return
        for family, counted in zip((_in_use(), _total()), self.count(), strict=True):
            for labels, number in counted.items():
                family.add_metric(labels, number)
            yield family


def _forced() -> UnknownMetricFamily:
    name = "attach_detach_controller_attachdetach_controller_forced_detaches"
    what = "Number of times the A/D Controller performed a forced detach"
    return UnknownMetricFamily(name, what, labels=("reason",))


def _in_use() -> GaugeMetricFamily:
    name, labels = "storage_count_attachable_volumes_in_use", ("node", "volume_plugin")
    return GaugeMetricFamily(name, "Measure number of volumes in use", labels=labels)


def _total() -> GaugeMetricFamily:
    name, labels = "attachdetach_controller_total_volumes", ("plugin_name", "state")
    return GaugeMetricFamily(name, "Number of volumes in A/D Controller", labels=labels)


_VOLUMES: Final = _Volumes()
REGISTRY.register(_VOLUMES)


@contextmanager
def counted_volumes(count: Counted) -> Iterator[None]:
    """Show the numbers of volumes."""
    _VOLUMES.count = count
    try:
        yield
    finally:
        _VOLUMES.count = None
