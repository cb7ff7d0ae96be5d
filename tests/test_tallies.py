"""Tallies: counters and histograms that Prometheus sees as its own."""

from __future__ import annotations

from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from kinformer.tallies import Counts, Histograms

BOUNDS = (0.005, 1, 60)
SECONDS = (0.001, 0.005, 0.7, 1.0, 60.5)


def samples(collector: Any) -> list[tuple[str, dict[str, str], float]]:
    found = [sample for metric in collector.collect() for sample in metric.samples]
    return [(sample.name, sample.labels, sample.value) for sample in found if not sample.name.endswith("_created")]


def test_a_tally_shows_prometheus_what_its_own_metric_would() -> None:
    apart = CollectorRegistry()
    counts, own_counts = Counts("tallied", "What.", ("verb",)), Counter("tallied", "What.", ("verb",), registry=apart)
    seconds = Histograms("tallied_seconds", "How long.", ("verb",), BOUNDS)
    own_seconds = Histogram("tallied_seconds", "How long.", ("verb",), buckets=BOUNDS, registry=apart)

    try:
        for verb in ("GET", "PUT", "GET"):
            counts.labels(verb).inc()
            own_counts.labels(verb).inc()
            for each in SECONDS:
                seconds.labels(verb).observe(each)
                own_seconds.labels(verb).observe(each)

        assert samples(counts) == samples(own_counts)
        assert samples(seconds) == samples(own_seconds)
        assert REGISTRY.get_sample_value("tallied_total", {"verb": "GET"}) == 2
    finally:
        REGISTRY.unregister(counts)
        REGISTRY.unregister(seconds)
