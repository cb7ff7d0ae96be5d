"""Kubernetes' own cases of its replica calculator: each under the name of its test, without ``TestReplicaCalc``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from kinformer.models import V1Pod
from kinformer_controllers.horizontalpodautoscaler.replicas import (
    MAX_INT32,
    MAX_INT64,
    PodMetric,
    Proposal,
    ReplicaError,
    Terms,
    Timing,
    Tolerances,
    replicas_by_average,
    replicas_by_ratio,
    replicas_by_total,
    replicas_by_utilization,
)
from tests.controllers.horizontalpodautoscaler.pods import NOW, pods_in_states

TIMING = Timing(120.0, 10.0)


class Load(NamedTuple):
    """
    A case with CPU, of pods with two containers.

    :param pods: see :func:`pods_in_states`
    :param levels: what both containers of the first pod, the second one, … use; or ``1/2``: what each uses; then only
        the second one counts
    :param target: a percentage of the requests
    :param wanted: replicas, average and utilization; or an error
    :param current: the present number of pods; None: those that have not failed and do not go
    """

    name: str
    pods: str
    levels: str
    target: int
    wanted: tuple[int, int, int] | str
    requests: str = "1"
    container: str = ""
    current: int | None = None
    tolerances: tuple[float, float] = (0.1, 0.1)


class Metric(NamedTuple):
    """
    A case with another metric.

    :param kind: ``pods``: an average over pods; ``value``: one value for all; ``total``: the same, to be divided
    :param wanted: replicas, and the value for the status
    """

    name: str
    pods: str
    kind: str
    levels: str
    target: int
    wanted: tuple[int, int]
    current: int | None = None
    tolerances: tuple[float, float] = (0.1, 0.1)


# fmt: off
LOADS = (
    Load("ScaleUp", "rrr", "300 500 700", 30, (5, 1000, 50)),
    Load("ContainerScaleUp", "rrr", "1000/300 1000/500 1000/700", 30, (5, 500, 50)),
    Load("ScaleUpUnreadyLessScale", "urr", "300 500 700", 30, (4, 1200, 60)),
    Load("ScaleUpContainerHotCpuLessScale", "hrr", "0/300 0/500 0/700", 30, (4, 600, 60)),
    Load("ScaleUpHotCpuLessScale", "hrr", "300 500 700", 30, (4, 1200, 60)),
    Load("ScaleUpUnreadyNoScale", "ruu", "400 500 700", 30, (3, 800, 40)),
    Load("ScaleHotCpuNoScale", "rxx", "400 500 700", 30, (3, 800, 40)),
    Load("ScaleUpIgnoresFailedPods", "rrff", "500 700", 30, (4, 1200, 60)),
    Load("MissingContainerMetricScaleUpIgnoresFailedPods", "rrff", "1000/500 9000/700 1000 9000", 30, (4, 600, 60)),
    Load("ScaleUpContainerIgnoresFailedPods", "rrff", "1000/500 9000/700", 30, (4, 600, 60)),
    Load("ScaleUpIgnoresDeletionPods", "rrdd", "500 700", 30, (4, 1200, 60)),
    Load("ScaleUpContainerIgnoresDeletionPods", "rrdd", "500 700", 30, (4, 600, 60), container="container1"),
    Load("ScaleDown", "rrrrr", "100 300 500 250 250", 50, (3, 560, 28)),
    Load("ContainerScaleDown", "rrrrr", "1000/100 1000/300 1000/500 1000/250 1000/250", 50, (3, 280, 28)),
    Load("ScaleDownExcludeUnreadyPods", "rrruu", "100 300 500 250 250", 50, (2, 600, 30)),
    Load("ScaleDownContainerExcludeUnreadyPods", "rrruu", "1000/100 1000/300 1000/500 1000/250 1000/250", 50,
         (2, 300, 30)),
    Load("ScaleDownExcludeUnscheduledPods", "rpppp", "100", 50, (1, 200, 10)),
    Load("ScaleDownContainerExcludeUnscheduledPods", "rpppp", "1000/100 1000/300 1000/500 1000/250 1000/250", 50,
         (1, 100, 10)),
    Load("ScaleDownIgnoreHotCpuPods", "rrrhh", "100 300 500 250 250", 50, (2, 600, 30)),
    Load("ScaleDownContainerIgnoreHotCpuPods", "rrrhh", "1000/100 1000/300 1000/500 1000/1000 1000/1000", 50,
         (2, 300, 30)),
    Load("ScaleDownIgnoresFailedPods", "rrrrrff", "100 300 500 250 250", 50, (3, 560, 28)),
    Load("ScaleDownContainerIgnoresFailedPods", "rrrrrff", "1000/100 1000/300 1000/500 1000/250 1000/250", 50,
         (3, 280, 28)),
    Load("ScaleDownIgnoresDeletionPods", "rrrrrdd", "100 300 500 250 250", 50, (3, 560, 28)),
    Load("ScaleDownIgnoresDeletionPods_StillRunning", "rrrrrdd", "1000/100 1000/300 1000/500 1000/250 1000/250", 50,
         (3, 280, 28)),
    Load("Tolerance", "rrr", "1010 1030 1020", 100, (3, 2040, 102), requests="0.9 1 1.1"),
    Load("ConfigurableTolerance none", "rrr", "909 1010 1111", 100, (4, 2020, 101), tolerances=(0.0, 0.0),
         requests="0.9 1 1.1"),
    Load("ConfigurableTolerance within 200%", "rrr", "1890 1910 1900", 100, (3, 3800, 190), tolerances=(0.1, 2.0),
         requests="0.9 1 1.1"),
    Load("ConfigurableTolerance beyond 8%", "rrr", "1100 1080 1090", 100, (4, 2180, 109), tolerances=(2.0, 0.08),
         requests="0.9 1 1.1"),
    Load("ConfigurableTolerance within 36%", "rrr", "660 640 650", 100, (3, 1300, 65), tolerances=(0.36, 0.1),
         requests="0.9 1 1.1"),
    Load("ConfigurableTolerance beyond 34%", "rrr", "660 640 650", 100, (2, 1300, 65), tolerances=(0.34, 0.1),
         requests="0.9 1 1.1"),
    Load("SuperfluousMetrics", "rrrr", "4000 9500 3000 7000 3200 2000", 100, (24, 11750, 587)),
    Load("MissingMetrics", "rrrr", "400 95", 100, (3, 495, 24)),
    Load("EmptyCPURequest", "r", "200", 100, "missing request for", requests=""),
    Load("MissingMetricsNoChangeEq", "rr", "1000", 100, (2, 2000, 100)),
    Load("MissingMetricsNoChangeGt", "rr", "1900", 100, (2, 3800, 190)),
    Load("MissingMetricsNoChangeLt", "rr", "600", 100, (2, 1200, 60)),
    Load("MissingMetricsUnreadyChange", "urr", "100 450", 50, (3, 900, 45)),
    Load("MissingMetricsHotCpuNoChange", "hrr", "100 450", 50, (3, 900, 45)),
    Load("MissingMetricsUnreadyScaleUp", "urr", "100 2000", 50, (4, 4000, 200)),
    Load("MissingMetricsHotCpuScaleUp", "xrr", "100 2000", 50, (4, 4000, 200)),
    Load("MissingMetricsUnreadyScaleDown", "urrr", "100 100 100", 50, (3, 200, 10)),
    Load("MissingMetricsScaleDownTargetOver100", "urrr", "200 100 100", 300, (2, 200, 6), requests="1 1 2 2"),
    Load("DuringRollingUpdateWithMaxSurge", "rrr", "100 100", 50, (2, 200, 10), current=2),
)

METRICS = (
    Metric("ScaleUpOverflow", "rrr", "value", str(MAX_INT64), 1, (MAX_INT32, MAX_INT64)),
    Metric("ExternalPerPodMetricReplicaOverflow", "r", "total", str(MAX_INT64), 1, (MAX_INT32, MAX_INT64)),
    Metric("ExternalPerPodMetricUsageOverflow", "r", "total", str(MAX_INT64), MAX_INT64, (1, MAX_INT64)),
    Metric("ScaleUpCM", "rrr", "pods", "20000 10000 30000", 15000, (4, 20000)),
    Metric("ScaleUpCMUnreadyHotCpuNoLessScale", "rrx", "pods", "50000 10000 30000", 15000, (6, 30000)),
    Metric("ScaleUpCMUnreadyHotCpuScaleWouldScaleDown", "xrx", "pods", "50000 15000 30000", 15000, (7, 31666)),
    Metric("ScaleUpCMObject", "rrr", "value", "20000", 15000, (4, 20000)),
    Metric("ScaleUpCMPerPodObject", "rrr", "total", "20000", 5000, (4, 6667)),
    Metric("ScaleUpCMObjectIgnoresUnreadyPods", "uru", "value", "50000", 10000, (5, 50000)),
    Metric("ScaleUpCMExternal", "r", "pods", "8600", 4400, (2, 8600)),
    Metric("ScaleUpCMExternalIgnoresUnreadyPods", "uru", "value", "8600", 4400, (2, 8600)),
    Metric("ScaleUpCMExternalNoLabels", "r", "pods", "8600", 4400, (2, 8600)),
    Metric("ScaleUpPerPodCMExternal", "rrr", "total", "8600", 2150, (4, 2867)),
    Metric("ScaleDownCM", "rrrrr", "pods", "12000 12000 12000 12000 12000", 20000, (3, 12000)),
    Metric("ScaleDownPerPodCMObject", "rrrrr", "total", "6000", 2000, (3, 1200)),
    Metric("ScaleDownCMObject", "rrrrr", "value", "12000", 20000, (3, 12000)),
    Metric("ScaleDownCMExternal", "rrrrr", "value", "8600", 14334, (3, 8600)),
    Metric("ScaleDownPerPodCMExternal", "rrrrr", "total", "8600", 2867, (3, 1720)),
    Metric("ToleranceCM", "rrr", "pods", "20000 21000 21000", 20000, (3, 20666)),
    Metric("ToleranceCMObject", "rrr", "value", "20666", 20000, (3, 20666)),
    Metric("TolerancePerPodCMObject", "rrrr", "total", "20166", 5000, (4, 5042)),
    Metric("ToleranceCMExternal", "rrr", "value", "8600", 8888, (3, 8600)),
    Metric("TolerancePerPodCMExternal", "rrr", "total", "8600", 2900, (3, 2867)),
    Metric("ConfigurableToleranceCM", "rrr", "pods", "20000 21000 21000", 20000, (4, 20666), tolerances=(0.1, 0.01)),
    Metric("ConfigurableToleranceCMObject", "rrr", "value", "20666", 20000, (4, 20666), tolerances=(0.1, 0.01)),
    Metric("ConfigurableTolerancePerPodCMObject", "rrrr", "total", "20208", 5000, (5, 5052), tolerances=(0.1, 0.01)),
    Metric("ConfigurableToleranceCMExternal", "rrr", "value", "8900", 8800, (4, 8900), tolerances=(0.1, 0.01)),
    Metric("ConfigurableTolerancePerPodCMExternal", "rrr", "total", "8600", 2800, (4, 2867), tolerances=(0.1, 0.01)),
    Metric("PlainMetricMissingMetricsNoChangeEq", "rrrrr", "pods", "20000 19000 21000", 20000, (5, 20000)),
    Metric("DuringRollingUpdateWithMaxSurgeCM", "rrr", "pods", "10000 10000", 17000, (2, 10000), current=2),
    Metric("ExternalMetricUsageOverflow", "rrr", "value", "4611686018427387904 4611686018427387904", MAX_INT64,
           (3, MAX_INT64)),
)
# fmt: on


def current(case: Load | Metric, pods: list[V1Pod]) -> int:
    there = [pod for pod in pods if pod.metadata.deletion_timestamp is None and pod.status.phase != "Failed"]
    return len(there) if case.current is None else case.current


def measured(case: Load, container: str) -> Mapping[str, PodMetric]:
    """What the metrics API says: nothing of a pod without this container."""
    found = {}
    for index, level in enumerate(case.levels.split()):
        each = [int(part) for part in level.split("/")]
        if "/" not in case.levels:
            each *= 2
        if container:
            each = each[int(container[-1]) - 1 :][:1]
        if each:
            found[f"p{index}"] = PodMetric(sum(each), NOW)
    return found


@pytest.mark.parametrize("case", LOADS, ids=lambda case: case.name)
def test_a_load_asks_for_as_many_pods_as_in_kubernetes(case: Load) -> None:
    pods = pods_in_states(case.pods, *case.requests.split())
    container = case.container or ("container2" if "/" in case.levels else "")

    def found() -> Proposal:
        return replicas_by_utilization(
            pods,
            measured(case, container),
            current(case, pods),
            case.target,
            resource="cpu",
            container=container,
            terms=Terms(Tolerances(*case.tolerances), TIMING, NOW),
        )

    if isinstance(case.wanted, str):
        with pytest.raises(ReplicaError, match=case.wanted):
            found()
    else:
        assert found() == Proposal(*case.wanted)


@pytest.mark.parametrize("case", METRICS, ids=lambda case: case.name)
def test_a_metric_asks_for_as_many_pods_as_in_kubernetes(case: Metric) -> None:
    pods, tolerances = pods_in_states(case.pods), Tolerances(*case.tolerances)
    levels = [int(level) for level in case.levels.split()]
    there, whole = current(case, pods), min(sum(levels), MAX_INT64)
    if case.kind == "pods":
        values = {f"p{index}": PodMetric(level, NOW) for index, level in enumerate(levels)}
        found = replicas_by_average(pods, values, there, case.target, terms=Terms(tolerances, TIMING, NOW))
    elif case.kind == "value":
        found = replicas_by_ratio(pods, there, whole, case.target, terms=Terms(tolerances, TIMING, NOW))
    else:
        found = replicas_by_total(there, whole, case.target, terms=Terms(tolerances, TIMING, NOW))

    assert found == Proposal(*case.wanted)


@pytest.mark.parametrize(("target", "replicas"), [(56, 9), (55, 10)])
def test_a_change_just_beyond_the_tolerance_counts(target: int, replicas: int) -> None:
    """TestReplicaCalcComputedToleranceAlgImplementation: half of the requests is used, and the tolerance is a tenth."""
    requests = [f"{300 + more}m" for more in (100, -100, 10, -10, 2, -2, 1, -1, 0, 0)]
    pods, values = pods_in_states("r" * 10, *requests), {f"p{index}": PodMetric(300, NOW) for index in range(10)}
    found = replicas_by_utilization(
        pods, values, 10, target, resource="cpu", terms=Terms(Tolerances(0.1, 0.1), TIMING, NOW)
    )

    assert found == Proposal(replicas, 300, 50)
