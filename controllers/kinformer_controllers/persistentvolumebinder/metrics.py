"""The metrics of persistent volumes, under kube-controller-manager's names.

The numbers of volumes and claims are counted in the binder's caches when the metrics are read. They are shown
while a binder runs: a process that is not the leader shows none.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client import REGISTRY, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, UnknownMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kinformer.cache import Indexer
from kinformer.clock import Clock
from kinformer_controllers.shared.volumes.facts import Claim, Volume, class_of_claim
from kinformer_controllers.shared.volumes.timing import BUCKETS

__all__ = ("RETROACTIVE_CLASSES", "RETROACTIVE_CLASS_ERRORS", "OperationTimes", "counted_volumes")

RETROACTIVE_CLASSES: Final = Counter(
    "retroactive_storageclass", "Total number of retroactive StorageClass assignments to persistent volume claim"
)
RETROACTIVE_CLASS_ERRORS: Final = Counter(
    "retroactive_storageclass_errors",
    "Total number of failed retroactive StorageClass assignments to persistent volume claim",
)
_OPERATION: Final = ("plugin_name", "operation_name")
_ERRORS: Final = Counter("volume_operation_errors", "Total volume operation errors", _OPERATION)
_SECONDS: Final = Histogram(
    "volume_operation_total_seconds",
    "Storage operation end to end duration in seconds",
    _OPERATION,
    buckets=BUCKETS,
)
#: The volume plug-ins of kube-controller-manager that hold persistent volumes, by the field of a volume's spec.
_PLUGINS: Final = {
    "host_path": "kubernetes.io/host-path",
    "nfs": "kubernetes.io/nfs",
    "fc": "kubernetes.io/fc",
    "iscsi": "kubernetes.io/iscsi",
    "local": "kubernetes.io/local-volume",
}


def _plugin_of(volume: Volume) -> str:
    """The name of the plug-in of a volume; ``N/A`` if kube-controller-manager has none for it."""
    if volume.spec.csi is not None:
        return f"kubernetes.io/csi:{volume.spec.csi.driver}"
    return next((name for field, name in _PLUGINS.items() if getattr(volume.spec, field) is not None), "N/A")


class OperationTimes:
    """
    When operations on storage began, by the key of a claim or the name of a volume.

    An operation that fails goes on with its next try, so its time runs until it succeeds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: dict[str, tuple[float, str, str]] = {}

    def begin(self, key: str, plugin: str, operation: str) -> None:
        """Note the beginning of an operation, unless one is noted for this key."""
        self._began.setdefault(key, (self._clock.monotonic(), plugin, operation))

    def fail(self, key: str) -> None:
        """Count an error of the operation that is noted for a key."""
        if (found := self._began.get(key)) is not None:
            _, plugin, operation = found
            _ERRORS.labels(plugin or "N/A", operation).inc()

    def end(self, key: str) -> None:
        """Measure the operation that is noted for a key, and forget it."""
        if (found := self._began.pop(key, None)) is not None:
            began, plugin, operation = found
            _SECONDS.labels(plugin, operation).observe(self._clock.monotonic() - began)

    def forget(self, key: str) -> None:
        """Forget the operation that is noted for a key."""
        self._began.pop(key, None)

    @contextmanager
    def failures(self, key: str) -> Iterator[None]:
        """Count an error if the block raises."""
        try:
            yield
        except Exception:
            self.fail(key)
            raise


class _Volumes(Collector):
    """Counts volumes and claims, by their phase and class."""

    def __init__(self) -> None:
        self.caches: tuple[Indexer[Volume], Indexer[Claim]] | None = None

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        # kube-controller-manager keeps this older name beside `volume_operation_errors_total`.
        errors = UnknownMetricFamily(
            "volume_operation_total_errors", "Total volume operation errors", labels=_OPERATION
        )
        for family in _ERRORS.collect():
            for sample in family.samples:
                if sample.name.endswith("_total"):
                    errors.add_metric([sample.labels[label] for label in _OPERATION], sample.value)
        yield errors
        if self.caches is None:
            return
        volumes, claims = self.caches[0].list(), self.caches[1].list()
        modes = Tally((_plugin_of(it), it.spec.volume_mode or "Filesystem") for it in volumes)
        yield _family("total_pv_count", "total number of persistent volumes", ("plugin_name", "volume_mode"), modes)
        for name, is_bound in (("bound", True), ("unbound", False)):
            counted = Tally(
                (it.spec.storage_class_name or "",) for it in volumes if (_phase(it) == "Bound") is is_bound
            )
            what = f"number of persistent volume currently {name}"
            yield _family(f"{name}_pv_count", what, ("storage_class",), counted)
            counted_claims = Tally(
                (it.metadata.namespace or "", class_of_claim(it), it.spec.volume_attributes_class_name or "")
                for it in claims
                if (_phase(it) == "Bound") is is_bound
            )
            labels = ("namespace", "storage_class", "volume_attributes_class")
            what = f"number of persistent volume claim currently {name}"
            yield _family(f"{name}_pvc_count", what, labels, counted_claims)


def _phase(obj: Volume | Claim) -> str | None:
    return obj.status.phase if obj.status is not None else None


def _family(name: str, what: str, labels: Sequence[str], counted: Tally[Any]) -> Metric:
    family = GaugeMetricFamily(f"pv_collector_{name}", f"Gauge measuring {what}", labels=labels)
    for values, count in counted.items():
        family.add_metric(values, count)
    return family


_VOLUMES: Final = _Volumes()
REGISTRY.register(_VOLUMES)


@contextmanager
def counted_volumes(volumes: Indexer[Volume], claims: Indexer[Claim]) -> Iterator[None]:
    """Show the numbers of volumes and claims in these caches."""
    _VOLUMES.caches = volumes, claims
    try:
        yield
    finally:
        _VOLUMES.caches = None
