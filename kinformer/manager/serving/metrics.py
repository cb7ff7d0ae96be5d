"""Metrics of a process that works for many clusters: each series of a cluster has the label ``cluster``.

Inside the process, the name of the cluster is a part of another label's value (:mod:`kinformer.cluster`). Here it
becomes a label. Series that belong to no cluster are served as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from kinformer.cluster import SEPARATOR

__all__ = ("ClusterMetrics",)


class ClusterMetrics(Collector):
    """
    The metrics of another collector, with the label ``cluster``.

    :param ready: returns whether each cluster is ready, by its name. Series of other clusters are left out: a cluster
        that has gone has no metrics
    :param metrics: the other collector; by default all metrics of the process
    """

    def __init__(self, ready: Callable[[], Mapping[str, bool]], metrics: Collector = REGISTRY) -> None:
        self._ready = ready
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        known = self._ready()
        ready = GaugeMetricFamily(
            "kinformer_cluster_ready", "Whether the controllers of a cluster are ready: 1 or 0", labels=("cluster",)
        )
        for cluster, is_ready in sorted(known.items()):
            ready.add_metric((cluster,), is_ready)
        yield ready
        for family in self._metrics.collect():
            shown = Metric(family.name, family.documentation, family.type, family.unit)
            shown.samples = list(_labelled(family.samples, known))
            yield shown


def _labelled(samples: Iterable[Sample], known: Collection[str]) -> Iterator[Sample]:
    for sample in samples:
        label = next((name for name, value in sample.labels.items() if SEPARATOR in value), "")
        if not label:
            yield sample
            continue
        cluster, _, value = sample.labels[label].partition(SEPARATOR)
        if cluster in known:
            yield sample._replace(labels={"cluster": cluster, **sample.labels, label: value})
