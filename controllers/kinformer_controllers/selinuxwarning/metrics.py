"""The metric of conflicts, under Kubernetes' name. It is shown while the controller runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kinformer.meta import split_key
from kinformer_controllers.selinuxwarning.users import Conflict

__all__ = ("shown_conflicts",)

_LABELS: Final = (
    *("property", "pod1_namespace", "pod1_name", "pod1_value"),
    *("pod2_namespace", "pod2_name", "pod2_value"),
)


class _Conflicts(Collector):
    """Shows conflicts."""

    def __init__(self) -> None:
        self.read: Callable[[], set[Conflict]] | None = None

    def describe(self) -> list[Metric]:
        return [_family()]

    def collect(self) -> Iterator[Metric]:
        if self.read is None:
            return
        family = _family()
        for it in self.read():
            family.add_metric([it.what, *split_key(it.pod), it.value, *split_key(it.other), it.other_value], 1)
        yield family


def _family() -> GaugeMetricFamily:
    name = "selinux_warning_controller_selinux_volume_conflict"
    return GaugeMetricFamily(name, "Conflict between two Pods using the same volume", labels=_LABELS)


_CONFLICTS: Final = _Conflicts()
REGISTRY.register(_CONFLICTS)


@contextmanager
def shown_conflicts(read: Callable[[], set[Conflict]]) -> Iterator[None]:
    """
    Show conflicts.

    :param read: returns the present ones; any thread may call it
    """
    _CONFLICTS.read = read
    try:
        yield
    finally:
        _CONFLICTS.read = None
