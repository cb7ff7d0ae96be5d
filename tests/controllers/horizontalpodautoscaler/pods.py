"""Pods of an autoscaler's target."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kinformer.models import V1Pod, from_dict
from kinformer_controllers.horizontalpodautoscaler.replicas import PodMetric, Timing, Tolerances

__all__ = ("NOW", "TIMING", "TOLERANCES", "metrics", "pod", "pods")

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TIMING = Timing(300.0, 30.0)
TOLERANCES = Tolerances(0.1, 0.1)


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(
    name: str,
    cpu: str | None = "1",
    *,
    phase: str = "Running",
    ready: bool | None = True,
    since: float = 3600,
    started: float | None = 7200,
    gone: bool = False,
    **spec: Any,
) -> V1Pod:
    """
    :param ready: its Ready condition; None if it has none
    :param since: how many seconds ago the condition changed
    :param started: how many seconds ago it was started
    """
    container: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu} if cpu else {}}}
    conditions = [] if ready is None else [{"type": "Ready", "status": str(ready), "lastTransitionTime": ago(since)}]
    return from_dict(
        V1Pod,
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "labels": {"app": "a"},
                **({"deletionTimestamp": ago(1)} if gone else {}),
            },
            "spec": {"containers": [container], **spec},
            "status": {
                "phase": phase,
                "conditions": conditions,
                **({} if started is None else {"startTime": ago(started)}),
            },
        },
    )


def pods(count: int, **fields: Any) -> list[V1Pod]:
    return [pod(f"p{index}", **fields) for index in range(count)]


def metrics(*values: int, age: float = 10) -> dict[str, PodMetric]:
    """What was measured of p0, p1, …, in thousandths."""
    return {f"p{index}": PodMetric(value, NOW - timedelta(seconds=age)) for index, value in enumerate(values)}
