"""How many pods a metric asks for: Kubernetes' replica calculator, without any I/O.

In: the target's pods, what was measured, the wanted value, and a time. Out: a :class:`Proposal`, or a
:class:`ReplicaError` in Kubernetes' words. All amounts are integers in thousandths, as in Kubernetes.

Pods that are being deleted or have failed are left out. Pods that are not ready, and pods without metrics, count as
idle if the others ask for more pods. Pods without metrics count as busy if the others ask for fewer. If that would turn
the direction round, the number of pods stays.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from kinformer.controllerutil.pods import is_pod_ready, ready_condition
from kinformer.meta.quantity import Quantity
from kinformer.models import V1Pod, to_dict
from kinformer_controllers.shared.quota.pod_resources import pod_requests
from kinformer_controllers.shared.quota.views import PodView

__all__ = (
    "MAX_INT32",
    "MAX_INT64",
    "PodMetric",
    "Proposal",
    "ReplicaError",
    "Terms",
    "Timing",
    "Tolerances",
    "replicas_by_average",
    "replicas_by_ratio",
    "replicas_by_total",
    "replicas_by_utilization",
)

MAX_INT32: Final = 2**31 - 1
MAX_INT64: Final = 2**63 - 1
#: A time that is missing is before all others, as in Go.
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)


class ReplicaError(Exception):
    """The number of pods cannot be computed. The text is Kubernetes'."""


class PodMetric(NamedTuple):
    """
    What was measured of one pod.

    :param value: in thousandths
    :param window: over which time it was measured, in seconds
    """

    value: int
    timestamp: datetime | None = None
    window: float = 60.0


class Tolerances(NamedTuple):
    """By how much the ratio of usage to target may differ from 1."""

    down: float
    up: float

    def cover(self, ratio: float) -> bool:
        return (1.0 - self.down) <= ratio <= (1.0 + self.up)


class Timing(NamedTuple):
    """
    Which CPU samples count.

    :param cpu_initialization: seconds after a pod's start in which samples may be left out
    :param initial_readiness: a pod that became unready within so many seconds after its start was never ready
    """

    cpu_initialization: float
    initial_readiness: float


class Terms(NamedTuple):
    """
    What holds for all metrics of one evaluation.

    :param now: the time of the evaluation
    """

    tolerances: Tolerances
    timing: Timing
    now: datetime


class Proposal(NamedTuple):
    """
    What one metric asks for.

    :param average: the value for the status, in thousandths
    :param utilization: the usage as a percentage of the requests; None if the metric has none
    """

    replicas: int
    average: int
    utilization: int | None = None


class _Usage(NamedTuple):
    ratio: float
    average: int
    utilization: int | None = None


class _Groups(NamedTuple):
    ready: int
    unready: set[str]
    missing: set[str]
    ignored: set[str]


def replicas_by_utilization(
    pods: Sequence[V1Pod],
    metrics: Mapping[str, PodMetric],
    current: int,
    target: int,
    *,
    resource: str,
    container: str = "",
    terms: Terms,
) -> Proposal:
    """
    Aim at a percentage of the pods' requests.

    :param current: the present number of pods
    :param target: the percentage
    :param container: the container that counts; empty for the whole pod
    :raises ReplicaError: if a request is missing, or nothing was measured
    """

    @functools.cache
    def requests() -> dict[str, int]:
        return {pod.metadata.name: _request(pod, resource, container) for pod in pods}

    def usage(measured: Mapping[str, PodMetric]) -> _Usage:
        known = [(metric.value, requests()[name]) for name, metric in measured.items() if name in requests()]
        total, requested = sum(value for value, _ in known), sum(request for _, request in known)
        if requested == 0:
            raise ReplicaError("no metrics returned matched known pods")
        utilization = min(_quotient(total * 100, requested), MAX_INT32)
        return _Usage(_ratio(utilization, target), _quotient(total, len(known)), utilization)

    def if_missing(name: str) -> int:
        return _quotient(requests()[name] * max(100, target), 100)

    return _by_pods(pods, metrics, current, usage, if_missing, resource, terms)


def replicas_by_average(
    pods: Sequence[V1Pod],
    metrics: Mapping[str, PodMetric],
    current: int,
    target: int,
    *,
    resource: str = "",
    terms: Terms,
) -> Proposal:
    """
    Aim at an average value of each pod.

    :param target: the average, in thousandths
    :param resource: the resource that was measured; empty for any other metric
    :raises ReplicaError: if nothing was measured
    """

    def usage(measured: Mapping[str, PodMetric]) -> _Usage:
        average = _quotient(sum(metric.value for metric in measured.values()), len(measured))
        return _Usage(_ratio(average, target), average)

    return _by_pods(pods, metrics, current, usage, lambda _: target, resource, terms)


def _by_pods(
    pods: Sequence[V1Pod],
    metrics: Mapping[str, PodMetric],
    current: int,
    usage_of: Callable[[Mapping[str, PodMetric]], _Usage],
    if_missing: Callable[[str], int],
    resource: str,
    terms: Terms,
) -> Proposal:
    if not pods:
        raise ReplicaError("no pods returned by selector while calculating replica count")
    groups, tolerances = _grouped(pods, metrics, resource, terms), terms.tolerances
    left_out = groups.ignored | groups.unready
    measured = {name: metric for name, metric in metrics.items() if name not in left_out}
    if not measured:
        raise ReplicaError("did not receive metrics for targeted pods (pods might be unready)")
    usage = usage_of(measured)
    unchanged = Proposal(current, usage.average, usage.utilization)
    up_with_unready = bool(groups.unready) and usage.ratio > 1.0
    if not up_with_unready and not groups.missing:
        if tolerances.cover(usage.ratio):
            return unchanged
        return unchanged._replace(replicas=_int32(usage.ratio * groups.ready))
    if usage.ratio < 1.0:
        measured |= {name: PodMetric(if_missing(name)) for name in groups.missing}
    elif usage.ratio > 1.0:
        measured |= dict.fromkeys(groups.missing, PodMetric(0))
    if up_with_unready:
        measured |= dict.fromkeys(groups.unready, PodMetric(0))
    ratio = usage_of(measured).ratio
    if tolerances.cover(ratio) or usage.ratio < 1.0 < ratio or ratio < 1.0 < usage.ratio:
        return unchanged
    replicas = _int32(ratio * len(measured))
    if (ratio < 1.0 and replicas > current) or (ratio > 1.0 and replicas < current):
        return unchanged
    return unchanged._replace(replicas=replicas)


def replicas_by_ratio(pods: Iterable[V1Pod], current: int, usage: int, target: int, *, terms: Terms) -> Proposal:
    """
    Aim at a value that all pods share: an Object or External metric with a ``Value``.

    If there are no pods, one for each target that the usage makes up: so a target can be scaled up from zero.

    :raises ReplicaError: if the target should have pods, and none is there
    """
    ratio = _ratio(usage, target)
    if current == 0:
        return Proposal(_int32(ratio), usage)
    if terms.tolerances.cover(ratio):
        return Proposal(current, usage)
    pods = list(pods)
    if not pods:
        raise ReplicaError(
            "unable to calculate ready pods: no pods returned by selector while calculating replica count"
        )
    ready = sum(1 for pod in pods if pod.status.phase == "Running" and is_pod_ready(pod))
    return Proposal(_int32(ratio * ready), usage)


def replicas_by_total(current: int, usage: int, target: int, *, terms: Terms) -> Proposal:
    """
    Aim at a value for each pod of something that is measured as a whole: a metric with an ``AverageValue``.

    :param current: the number of pods in the target's status
    """
    ratio = _ratio(usage, target * current)
    replicas = current if terms.tolerances.cover(ratio) else _int32(_ratio(usage, target))
    # Without pods there is no average. Kubernetes then shows a number that means nothing.
    average = math.ceil(usage / current) if current and usage < MAX_INT64 else usage
    return Proposal(replicas, average)


def _grouped(pods: Iterable[V1Pod], metrics: Mapping[str, PodMetric], resource: str, terms: Terms) -> _Groups:
    groups = _Groups(0, set(), set(), set())
    ready = 0
    for pod in pods:
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
            groups.ignored.add(name)
        elif pod.status.phase == "Pending":
            groups.unready.add(name)
        elif (metric := metrics.get(name)) is None:
            groups.missing.add(name)
        elif resource == "cpu" and _is_starting(pod, metric, terms):
            groups.unready.add(name)
        else:
            ready += 1
    return groups._replace(ready=ready)


def _is_starting(pod: V1Pod, metric: PodMetric, terms: Terms) -> bool:
    """Whether a pod's CPU sample says nothing yet about its load."""
    condition, started = ready_condition(pod), pod.status.start_time
    if condition is None or started is None:
        return True
    since = condition.last_transition_time
    if started + timedelta(seconds=terms.timing.cpu_initialization) > terms.now:
        # One window must have been measured since the pod has become ready.
        window = timedelta(seconds=metric.window)
        return condition.status == "False" or (metric.timestamp or _NO_TIME) < (since or _NO_TIME) + window
    never_ready = since is None or started + timedelta(seconds=terms.timing.initial_readiness) > since
    return condition.status == "False" and never_ready


def _request(pod: V1Pod, resource: str, container: str) -> int:
    """A pod's request in thousandths: that of the pod as a whole if it has one, else the sum of its containers."""
    name = pod.metadata.name
    if not container and _has_own_requests(pod):
        view = msgspec.convert({"metadata": {}, "spec": to_dict(pod.spec), "status": {}}, PodView)
        requests = pod_requests(view)
        if resource not in requests:
            raise ReplicaError(f"missing pod-level request for {resource} in Pod {name}")
        return requests[resource].milli_value()
    sidecars = [one for one in pod.spec.init_containers or () if one.restart_policy == "Always"]
    total = 0
    for one in (*pod.spec.containers, *sidecars):
        if container and one.name != container:
            continue
        asked = (one.resources.requests if one.resources is not None else None) or {}
        if resource not in asked:
            raise ReplicaError(f"missing request for {resource} in container {one.name} of Pod {name}")
        total += Quantity.parse(asked[resource]).milli_value()
        if container:
            return total
    if container:
        raise ReplicaError(f"container {container} not found in Pod {name}")
    return total


def _has_own_requests(pod: V1Pod) -> bool:
    own = pod.spec.resources.requests if pod.spec.resources is not None else None
    return any(name in ("cpu", "memory") or name.startswith("hugepages-") for name in own or ())


def _ratio(usage: int, target: int) -> float:
    """Divide as Go divides floats: something by zero is infinite, zero by zero is not a number."""
    if target == 0:
        return math.nan if usage == 0 else math.copysign(math.inf, usage)
    return usage / target


def _int32(replicas: float) -> int:
    """Round up. What does not fit into 32 bits is the greatest number: in Go it may come out negative."""
    if math.isnan(replicas):
        return 0
    return MAX_INT32 if replicas > MAX_INT32 else math.ceil(replicas)


def _quotient(dividend: int, divisor: int) -> int:
    """Divide integers as Go does: towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient
