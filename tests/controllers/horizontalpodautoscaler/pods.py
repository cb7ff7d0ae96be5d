"""Pods of an autoscaler's target."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kinformer.models import V1Pod, from_dict
from kinformer_controllers.horizontalpodautoscaler.replicas import PodMetric, Terms, Timing, Tolerances

__all__ = ("NOW", "TERMS", "metrics", "pod", "pods", "pods_in_states")

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TERMS = Terms(Tolerances(0.1, 0.1), Timing(300.0, 30.0), NOW)


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


#: The letters of :func:`pods_in_states`: ready; not ready; ready, started just now; not ready, started just now;
#: pending; failed; being deleted.
_STATES: Final[dict[str, dict[str, Any]]] = {
    "r": {},
    "u": {"ready": False, "since": 7195},
    "h": {"started": 0, "since": 0},
    "x": {"started": 0, "since": 0, "ready": False},
    "p": {"phase": "Pending", "ready": False},
    "f": {"phase": "Failed", "ready": False},
    "d": {"gone": True, "ready": False},
}


def pods_in_states(states: str, *requests: str) -> list[V1Pod]:
    """
    Pods of two containers, as the tests of Kubernetes have them.

    :param states: a letter for each pod
    :param requests: what each container of the first pod, the second one, … asks for. One: all pods ask for it
    """
    found = []
    for index, state in enumerate(states):
        asked = dict(enumerate(requests)).get(index, requests[0] if len(requests) == 1 else None)
        resources = {"requests": {"cpu": asked}} if asked else {}
        containers = [{"name": f"container{n}", "image": "i", "resources": resources} for n in (1, 2)]
        found.append(pod(f"p{index}", containers=containers, **_STATES[state]))
    return found
