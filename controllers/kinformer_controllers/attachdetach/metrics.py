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
from prometheus_client.core import UnknownMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kinformer_controllers.shared.gauges import LiveGauge

__all__ = ("FORCED_DETACHES", "counted_volumes")

#: How often volumes were detached that nodes may have used, by the reason. The metric's name does not end in `_total`.
FORCED_DETACHES: Final[Tally[str]] = Tally()

_IN_USE: Final = LiveGauge(
    "storage_count_attachable_volumes_in_use", "Measure number of volumes in use", ("node", "volume_plugin")
)
_TOTAL: Final = LiveGauge(
    "attachdetach_controller_total_volumes", "Number of volumes in A/D Controller", ("plugin_name", "state")
)


class _Forced(Collector):
    """Shows the forced detaches."""

    def describe(self) -> list[Metric]:
        return [*self.collect()]

    def collect(self) -> Iterator[Metric]:
        name = "attach_detach_controller_attachdetach_controller_forced_detaches"
        what = "Number of times the A/D Controller performed a forced detach"
        family = UnknownMetricFamily(name, what, labels=("reason",))
        for reason, times in FORCED_DETACHES.items():
            family.add_metric([reason], times)
        yield family


REGISTRY.register(_Forced())


@contextmanager
def counted_volumes(
    in_use: Callable[[], Tally[tuple[str, str]]], total: Callable[[], Tally[tuple[str, str]]]
) -> Iterator[None]:
    """
    Show the numbers of volumes.

    :param in_use: returns the number of volumes in use by node and plug-in
    :param total: returns the number of volumes in each state by plug-in and state
    """
    with _IN_USE.shown(in_use), _TOTAL.shown(total):
        yield
