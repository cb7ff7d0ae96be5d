"""Kubernetes' own cases of one evaluation of an autoscaler, each under the name of its test without ``Test``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.client import ApiResource
from kinformer.client.codec import decode_as
from kinformer.client.errors import ClientError
from kinformer.clock import FakeClock
from kinformer.manager import SyncError
from kinformer.meta import GroupKind, GroupVersionResource
from kinformer.models import V1Pod, V1Scale, V2HorizontalPodAutoscaler, from_dict, to_dict
from kinformer_controllers.horizontalpodautoscaler.controller import HorizontalPodAutoscalerController
from tests.controllers.horizontalpodautoscaler.pods import NOW, pods_in_states
from tests.controllers.objects import FakeContext, FakeInformers, conflict
from tests.metrics import metric_value

OK = "+SucceededRescale +ValidMetricFound -DesiredWithinRange"
SAME = "+ReadyForNewScale +ValidMetricFound -DesiredWithinRange"
STABLE = "+ScaleDownStabilized +ValidMetricFound -DesiredWithinRange"
DISABLED = "+SucceededGetScale -ScalingDisabled"
RESCALED = "+SucceededRescale"
TOO_MANY = "+SucceededRescale +ValidMetricFound +TooManyReplicas"
TOO_FEW = "+SucceededRescale +ValidMetricFound +TooFewReplicas"
INVALID = "+SucceededGetScale -InvalidMetricSourceType"
NO_SELECTOR = "+SucceededGetScale -InvalidSelector"
UNSCALED = "-FailedUpdateScale +ValidMetricFound -DesiredWithinRange"
LIMITED = "+SucceededRescale +ValidMetricFound +ScaleUpLimit"
TO_ZERO = "HPAScaleToZero=true"


def no(metric_type: str) -> str:
    """The conditions if a metric cannot be read."""
    return f"+SucceededGetScale -FailedGet{metric_type}Metric"


@dataclass(frozen=True)
class Case:
    """
    One evaluation.

    :param limits: minReplicas and maxReplicas
    :param pods: see :func:`pods_in_states`
    :param levels: what is measured of the first pod, the second one, … in thousandths
    :param metrics: ``cpu 30%``, ``cpu/container1 30%``, or a type with a value; ``each``: for each pod; joined by ``+``
    :param conditions: the conditions of the status in their order: their reasons, and ``+`` if they are true
    :param settled: evaluate it once five minutes before, so that the initial number is no recommendation any more
    :param percent: by how much it may grow in a minute
    :param tolerance: of its own, up and down
    :param was_zero: whether it has the condition ScaledToZero
    :param failing: what the servers refuse: ``external``, ``metrics``, ``scale``, ``update`` or ``conflict``
    :param computed: how each metric's computation is counted: type, action and error; empty: as the conditions say
    """

    name: str
    limits: tuple[int, int]
    replicas: int
    wanted: int
    pods: str
    levels: str
    metrics: str
    conditions: str = OK
    observed: int | None = None
    requests: str = "1"
    settled: bool = False
    percent: int = 0
    tolerance: tuple[str, str] | None = None
    gates: str = ""
    was_zero: bool = False
    selector: str = "app=a"
    failing: str = ""
    computed: str = ""

    @property
    def fails(self) -> bool:
        """Whether the evaluation ends with an error."""
        return (
            "internal" in self.computed
            or "spec" in self.computed
            or "-Failed" in self.conditions
            or ("-Invalid" in self.conditions or self.failing == "external")
        )

    @property
    def action(self) -> str:
        return "up" if self.wanted > self.replicas else "down" if self.wanted < self.replicas else "none"


# fmt: off
CASES = (
    Case("ScaleUp", (2, 6), 3, 5, "rrr", "300 500 700", "cpu 30%"),
    Case("ScaleUpContainer", (2, 6), 3, 5, "rrr", "300 500 700", "cpu/container1 30%"),
    Case("ScaleUpUnreadyLessScale", (2, 6), 3, 4, "urr", "300 500 700", "cpu 30%"),
    Case("ScaleUpHotCpuLessScale", (2, 6), 3, 4, "hrr", "300 500 700", "cpu 30%"),
    Case("ScaleUpUnreadyNoScale", (2, 6), 3, 3, "ruu", "400 500 700", "cpu 30%", SAME),
    Case("ScaleUpHotCpuNoScale", (2, 6), 3, 3, "rxx", "400 500 700", "cpu 30%", SAME),
    Case("ScaleUpIgnoresFailedPods", (2, 6), 2, 4, "rrff", "500 700", "cpu 30%"),
    Case("ScaleUpIgnoresDeletionPods", (2, 6), 2, 4, "rrdd", "500 700", "cpu 30%"),
    Case("ScaleUpDeployment", (2, 6), 3, 5, "rrr", "300 500 700", "cpu 30%"),
    Case("ScaleUpReplicaSet", (2, 6), 3, 5, "rrr", "300 500 700", "cpu 30%"),
    Case("ScaleUpCM", (2, 6), 3, 4, "rrr", "20000 10000 30000", "Pods 15 each"),
    Case("ScaleUpCMUnreadyAndHotCpuNoLessScale", (2, 6), 3, 6, "rrx", "50000 10000 30000", "Pods 15 each"),
    Case("ScaleUpCMUnreadyandCpuHot", (2, 6), 3, 6, "xrx", "50000 15000 30000", "Pods 15 each", TOO_MANY),
    Case("ScaleUpHotCpuNoScaleWouldScaleDown", (2, 6), 3, 6, "hrh", "50000 15000 30000", "Pods 15 each", TOO_MANY),
    Case("ScaleUpCMObject", (2, 6), 3, 4, "rrr", "20000", "Object 15"),
    Case("ScaleUpPerPodCMObject", (2, 6), 3, 4, "rrr", "40000", "Object 10 each"),
    Case("ScaleUpCMExternal", (2, 6), 3, 4, "rrr", "8600", "External 6666m"),
    Case("ScaleUpPerPodCMExternal", (2, 6), 3, 4, "rrr", "8600", "External 2222m each"),
    Case("ScaleDown", (2, 6), 5, 3, "rrrrr", "100 300 500 250 250", "cpu 50%", settled=True),
    Case("ScaleDownContainerResource", (2, 6), 5, 3, "rrrrr", "100 300 500 250 250", "cpu/container2 50%",
         settled=True),
    Case("ScaleDownWithScalingRules", (2, 6), 5, 3, "rrrrr", "100 300 500 250 250", "cpu 50%", settled=True,
         percent=100),
    Case("ScaleUpOneMetricInvalid", (2, 6), 3, 4, "rrr", "300 400 500", "cpu 30% + Cheese",
         computed="Resource:up:none Cheese:none:spec"),
    Case("ScaleUpFromZeroOneMetricInvalid", (0, 6), 0, 0, "rrr", "300 400 500", "cpu 30% + Cheese", DISABLED,
         settled=True),
    Case("ScaleUpBothMetricsEmpty", (2, 6), 3, 3, "rrr", "", "Cheese", INVALID),
    Case("ScaleDownStabilizeInitialSize", (2, 6), 5, 5, "rrrrr", "100 300 500 250 250", "cpu 50%", STABLE,
         computed="Resource:down:none"),
    Case("ScaleDownCM", (2, 6), 5, 3, "rrrrr", "12000 12000 12000 12000 12000", "Pods 20 each", settled=True),
    Case("ScaleDownCMObject", (2, 6), 5, 3, "rrrrr", "12000", "Object 20", settled=True),
    Case("ScaleDownToZeroCMObject", (0, 6), 5, 0, "rrrrr", "0", "Object 20", settled=True),
    Case("ScaleDownToZeroCMObject, gate on", (0, 6), 5, 0, "rrrrr", "0", "Object 20", f"{OK} +ScaledToZero",
        gates=TO_ZERO, settled=True),
    Case("ScaleDownPerPodCMObject", (2, 6), 5, 3, "rrrrr", "60000", "Object 20 each", settled=True),
    Case("ScaleDownCMExternal", (2, 6), 5, 3, "rrrrr", "8600", "External 14400m", settled=True),
    Case("ScaleDownToZeroCMExternal", (0, 6), 5, 0, "rrrrr", "0", "External 14400m", settled=True),
    Case("ScaleDownPerPodCMExternal", (2, 6), 5, 3, "rrrrr", "8600", "External 3000m each", settled=True),
    Case("ScaleDownIncludeUnreadyPods", (2, 6), 5, 2, "rrruu", "100 300 500 250 250", "cpu 50%", settled=True),
    Case("ScaleDownIgnoreHotCpuPods", (2, 6), 5, 2, "rrrhh", "100 300 500 250 250", "cpu 50%", settled=True),
    Case("ScaleDownIgnoresFailedPods", (2, 6), 5, 3, "rrrrrff", "100 300 500 250 250", "cpu 50%", settled=True),
    Case("ScaleDownIgnoresDeletionPods", (2, 6), 5, 3, "rrrrrdd", "100 300 500 250 250", "cpu 50%", settled=True),
    Case("Tolerance", (1, 5), 3, 3, "rrr", "1010 1030 1020", "cpu 100%", SAME, requests="0.9 1 1.1"),
    Case("ToleranceCM", (1, 5), 3, 3, "rrr", "20000 20001 21000", "Pods 20 each", SAME, requests="0.9 1 1.1"),
    Case("ToleranceCMObject", (1, 5), 3, 3, "rrr", "20050", "Object 20", SAME, requests="0.9 1 1.1"),
    Case("ToleranceCMExternal", (2, 6), 4, 4, "rrrr", "8600", "External 8666m", SAME),
    Case("TolerancePerPodCMObject", (2, 6), 4, 4, "rrrr", "8600", "Object 2200m each", SAME),
    Case("TolerancePerPodCMExternal", (2, 6), 4, 4, "rrrr", "8600", "External 2200m each", SAME),
    Case("MinReplicas", (2, 5), 3, 2, "rrr", "10 95 10", "cpu 90%", TOO_FEW, requests="0.9 1 1.1", settled=True),
    Case("ZeroMinReplicasDesiredZero", (0, 5), 3, 0, "rrr", "0 0 0", "cpu 90%", requests="0.9 1 1.1", settled=True),
    Case("MinReplicasDesiredZero", (2, 5), 3, 2, "rrr", "0 0 0", "cpu 90%", TOO_FEW, requests="0.9 1 1.1",
         settled=True),
    Case("ZeroReplicas", (3, 5), 0, 0, "", "", "cpu 90%", DISABLED),
    Case("TooFewReplicas", (3, 5), 2, 3, "", "", "cpu 90%", RESCALED),
    Case("TooManyReplicas", (3, 5), 10, 5, "", "", "cpu 90%", RESCALED),
    Case("MaxReplicas", (2, 5), 3, 5, "rrr", "8000 9500 1000", "cpu 90%", TOO_MANY, requests="0.9 1 1.1"),
    Case("SuperfluousMetrics", (2, 6), 4, 6, "rrrr", "4000 9500 3000 7000 3200 2000", "cpu 100%", TOO_MANY),
    Case("MissingMetrics", (2, 6), 4, 3, "rrrr", "400 95", "cpu 100%", settled=True),
    Case("EmptyMetrics", (2, 6), 4, 4, "rrrr", "", "cpu 100%", no("Resource")),
    Case("EmptyCPURequest", (1, 5), 1, 1, "", "200", "cpu 100%", no("Resource")),
    Case("EventCreated", (1, 5), 1, 2, "r", "200", "cpu 50%", requests="0.2"),
    Case("EventNotCreated", (1, 5), 2, 2, "rr", "200 200", "cpu 50%", SAME, requests="0.4"),
    Case("MissingReports", (1, 5), 4, 2, "r", "200", "cpu 50%", requests="0.2", settled=True),
    Case("UpscaleCap", (1, 100), 3, 24, "rrr", "100 200 300", "cpu 10%", LIMITED, requests="0.1", percent=700),
    Case("UpscaleCapGreaterThanMaxReplicas", (1, 20), 3, 20, "rrr", "100 200 300", "cpu 10%", TOO_MANY,
         requests="0.1", percent=700),
    Case("MoreReplicasThanSpecNoScale", (1, 8), 4, 4, "rrrrr", "500 500 500 500 500", "cpu 50%", SAME, observed=5),
    Case("ConditionInvalidSourceType", (2, 6), 3, 3, "rrr", "20000", "Cheese", INVALID),
    Case("NoBackoffUpscaleCM", (1, 5), 3, 4, "rrr", "20000 10000 30000", "Pods 15 each"),
    Case("NoBackoffUpscaleCMNoBackoffCpu", (1, 5), 3, 5, "rrr", "20000 10000 30000", "cpu 10% + Pods 15 each",
         TOO_MANY),
    Case("ScaleUpRCImmediately", (2, 6), 1, 2, "rrrr", "0 0 0 0", "", RESCALED),
    Case("ScaleDownRCImmediately", (2, 5), 6, 5, "rrr", "8000 9500 1000", "cpu 50%", RESCALED, requests="0.9 1 1.1"),
    Case("ScaleUpOneMetricEmpty", (2, 6), 3, 4, "rrr", "300 400 500", "cpu 30% + External 100m",
         computed="Resource:up:none External:none:internal", failing="external"),
    Case("NoScaleDownOneMetricInvalid", (2, 6), 5, 5, "rrrrr", "100 300 500 250 250", "cpu 50% + Cheese", INVALID,
         settled=True, computed="Resource:down:none Cheese:none:spec"),
    Case("NoScaleDownOneMetricEmpty", (2, 6), 5, 5, "rrrrr", "100 300 500 250 250", "cpu 50% + External 1000m",
         no("External"), settled=True, computed="Resource:down:none External:none:internal", failing="external"),
    Case("StabilizeDownscale", (1, 5), 4, 4, "rrr", "50 50 50", "cpu 100%", STABLE, requests="0.1",
         computed="Resource:down:none"),
    Case("ScaleUpFromZeroCMObject", (0, 6), 0, 2, "", "20000", "Object 15", f"-NotScaledToZero {OK}", gates=TO_ZERO,
         was_zero=True),
    Case("ScaleUpFromZeroCMObject, gate off", (0, 6), 0, 0, "", "20000", "Object 15", DISABLED, was_zero=True),
    Case("ScaleUpFromZeroIgnoresToleranceCMObject", (0, 6), 0, 1, "", "1000", "Object 1", f"-NotScaledToZero {OK}",
         gates=TO_ZERO, was_zero=True),
    Case("ScaleUpFromZeroWhenMinReplicasIncreased", (2, 6), 0, 2, "", "10000", "Object 15",
         f"-NotScaledToZero {TOO_FEW}", gates=TO_ZERO, was_zero=True),
    Case("ScaleUpFromZeroWhenMinReplicasIncreased, gate off", (2, 6), 0, 0, "", "10000", "Object 15", DISABLED,
         was_zero=True),
    Case("ScaledToZeroConditionHandledOnNormalRescale", (1, 6), 3, 5, "rrr", "300 500 700", "cpu 30%",
         f"-NotScaledToZero {OK}", gates=TO_ZERO, was_zero=True),
    Case("ScaledToZeroConditionHandledOnNormalRescale, gate off", (1, 6), 3, 5, "rrr", "300 500 700", "cpu 30%",
         was_zero=True),
    Case("ScaleUpFromZeroWithoutCondition", (0, 6), 0, 0, "", "20000", "Object 15", DISABLED),
    Case("ScaleUpFromZeroWithoutCondition, gate on", (0, 6), 0, 0, "", "20000", "Object 15", DISABLED, gates=TO_ZERO),
    Case("ManualScaleToZeroDisablesHPA, gate on", (1, 6), 0, 0, "", "", "cpu 50%", DISABLED, gates=TO_ZERO),
    Case("ConfigurableTolerance up", (1, 5), 3, 4, "rrr", "1010 1030 1020", "cpu 100%", requests="0.9 1 1.1",
         tolerance=("0.01", "0.1")),
    Case("ConfigurableTolerance down", (1, 5), 3, 3, "rrr", "300 300 300", "cpu 100%", SAME, tolerance=("0.1", "0.9")),
    Case("ConfigurableTolerance, gate off", (1, 5), 3, 3, "rrr", "1010 1030 1020", "cpu 100%", SAME,
         requests="0.9 1 1.1", tolerance=("0.01", "0.1"), gates="HPAConfigurableTolerance=false"),
    Case("ConditionFailedGetMetrics, resource", (1, 100), 3, 3, "rrr", "100 200 300", "cpu 10%", no("Resource"),
         failing="metrics"),
    Case("ConditionFailedGetMetrics, pods", (1, 100), 3, 3, "rrr", "100 200 300", "Pods 15 each", no("Pods"),
         failing="metrics"),
    Case("ConditionFailedGetMetrics, object", (1, 100), 3, 3, "rrr", "100 200 300", "Object 15", no("Object"),
         failing="metrics"),
    Case("ConditionFailedGetMetrics, external", (1, 100), 3, 3, "rrr", "100 200 300", "External 300m",
         no("External"), failing="metrics"),
    Case("ConditionFailedGetScale", (1, 100), 3, 3, "rrr", "100 200 300", "cpu 10%", "-FailedGetScale",
         failing="scale"),
    Case("ConditionFailedUpdateScale", (1, 5), 3, 3, "rrr", "150 150 150", "cpu 100%", UNSCALED, requests="0.1",
         failing="update", computed="Resource:up:none"),
    Case("HPARescaleWithSuccessfulConflictRetry", (2, 6), 3, 5, "rrr", "600 700 800", "cpu 50%", failing="conflict"),
    Case("ConditionInvalidSelectorMissing", (1, 100), 3, 3, "rrr", "100 200 300", "cpu 10%", NO_SELECTOR, selector=""),
    # Go's test has a client of its own that does not look at the selector. The real one refuses the scale.
    Case("ConditionInvalidSelectorUnparsable", (1, 100), 3, 3, "rrr", "100 200 300", "cpu 10%", "-FailedGetScale",
         selector="cheddar cheese"),
)
# fmt: on


@dataclass
class Servers:
    """
    The API server and the metrics servers. It stands for the client and for the target's resource.

    :ivar scaled: the numbers of pods that were written
    :ivar statuses: the statuses that were written
    """

    case: Case
    clock: FakeClock
    scaled: list[int] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    conflicts: int = 0

    @property
    def discovery(self) -> Any:
        return SimpleNamespace(groups=self.groups, resource_for_kind=self.kind, resources_for_kind=self.kinds)

    async def groups(self) -> dict[str, list[str]]:
        return {"custom.metrics.k8s.io": ["v1beta2"]}

    async def kind(self, kind: GroupKind) -> ApiResource:
        return ApiResource(GroupVersionResource(kind.group, "v1", f"{kind.kind.lower()}s"), kind.kind, namespaced=True)

    async def kinds(self, kind: GroupKind) -> list[ApiResource]:
        return [await self.kind(kind)]

    def resource(self, *_: Any, **__: Any) -> Any:
        return self

    async def get_scale(self, name: str, namespace: str) -> V1Scale:
        self._refuse("scale")
        case = self.case
        observed = case.replicas if case.observed is None else case.observed
        status = {"replicas": observed, "selector": case.selector}
        return from_dict(V1Scale, {"metadata": {"name": name}, "spec": {"replicas": case.replicas}, "status": status})

    async def update_scale(self, name: str, scale: V1Scale, namespace: str) -> None:
        self._refuse("update")
        if self.case.failing == "conflict" and not self.conflicts:
            self.conflicts += 1
            raise conflict()
        self.scaled.append(to_dict(scale)["spec"]["replicas"])

    async def update_status(self, hpa: V2HorizontalPodAutoscaler) -> None:
        self.statuses.append(to_dict(hpa.status))

    async def request(self, method: str, path: str, *, params: dict[str, str], about: Any, type_: type[Any]) -> Any:
        self._refuse("metrics")
        levels = [int(level) for level in self.case.levels.split()]
        time = self.clock.now().isoformat()
        if "/apis/metrics.k8s.io" in path:
            items = [
                {
                    "metadata": {"name": f"p{index}"},
                    "timestamp": time,
                    "window": "1m0s",
                    "containers": [{"name": f"container{n}", "usage": {"cpu": f"{level}m"}} for n in (1, 2)],
                }
                for index, level in enumerate(levels)
            ]
        else:
            if "external" in path:
                self._refuse("external")
            items = [
                {"describedObject": {"name": f"p{index}"}, "timestamp": time, "value": f"{level}m"}
                for index, level in enumerate(levels)
            ]
        return decode_as(type_, json.dumps({"items": items}).encode(), path)

    def _refuse(self, what: str) -> None:
        if self.case.failing == what:
            raise ClientError("something went wrong")


def metric(text: str) -> dict[str, Any]:
    """A metric of a spec, from the words of :class:`Case`."""
    source, _, value = text.partition(" ")
    if not value:
        return {"type": source}
    if source.startswith("cpu"):
        target = {"type": "Utilization", "averageUtilization": int(value.removesuffix("%"))}
        container = source.partition("/")[2]
        if container:
            of = {"name": "cpu", "container": container, "target": target}
            return {"type": "ContainerResource", "containerResource": of}
        return {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    is_each = value.endswith(" each")
    key, kind = ("averageValue", "AverageValue") if is_each else ("value", "Value")
    fields: dict[str, Any] = {"metric": {"name": "qps"}, "target": {"type": kind, key: value.removesuffix(" each")}}
    if source == "Object":
        fields["describedObject"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "some"}
    return {"type": source, source.lower(): fields}


def autoscaler(case: Case) -> V2HorizontalPodAutoscaler:
    least, most = case.limits
    metrics = [metric(text) for text in case.metrics.split(" + ") if text]
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec: dict[str, Any] = {"scaleTargetRef": about, "minReplicas": least, "maxReplicas": most, "metrics": metrics}
    if case.percent or case.tolerance:
        grow = {"type": "Percent", "value": case.percent or 100, "periodSeconds": 60}
        shrink = {"type": "Percent", "value": 100, "periodSeconds": 15}
        spec["behavior"] = {
            "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [grow]},
            "scaleDown": {"selectPolicy": "Max", "policies": [shrink]},
        }
    if case.tolerance:
        spec["behavior"]["scaleUp"]["tolerance"], spec["behavior"]["scaleDown"]["tolerance"] = case.tolerance
    zero = {"type": "ScaledToZero", "status": "True", "reason": "ScaledToZero"}
    status = {
        "currentReplicas": case.replicas,
        "desiredReplicas": case.replicas,
        "conditions": [zero] if case.was_zero else [],
    }
    return from_dict(
        V2HorizontalPodAutoscaler,
        {"metadata": {"name": "h", "namespace": "ns"}, "spec": spec, "status": status},
    )


class Turning(FakeClock):
    """A clock that nobody has to wait for."""

    async def sleep(self, seconds: float) -> None:
        self.turn(seconds)


class Evaluation:
    """A controller, and the autoscaler of a case."""

    def __init__(self, case: Case) -> None:
        self.clock = Turning()
        self.clock.turn((NOW - self.clock.now()).total_seconds() - (301 if case.settled else 0))
        self.servers, informers = Servers(case, self.clock), FakeInformers()
        self._hpas = informers.informer_for(V2HorizontalPodAutoscaler).indexer
        self._hpas.add(autoscaler(case))
        for pod in pods_in_states(case.pods, *case.requests.split()):
            informers.informer_for(V1Pod).indexer.add(pod)
        context = FakeContext(self.servers, informers, clock=self.clock, feature_gates=case.gates)
        context.options["horizontal_pod_autoscaler_cpu_initialization_period"] = 120.0
        context.options["horizontal_pod_autoscaler_initial_readiness_delay"] = 10.0
        self._controller = HorizontalPodAutoscalerController(context)

    async def run(self) -> str:
        """Evaluate it once. Returns the error."""
        try:
            await self._controller.sync("ns/h")
        except SyncError as error:
            return str(error)
        return ""

    def seen(self) -> None:
        """Let the cache show the status that was written last."""
        hpa = to_dict(self._hpas.get_by_key("ns/h"))
        self._hpas.update(from_dict(V2HorizontalPodAutoscaler, hpa | {"status": self.servers.statuses[-1]}))


def counted(name: str, **labels: str) -> float:
    full = f"horizontal_pod_autoscaler_controller_{name}_total"
    actions = {"up": "scale_up", "down": "scale_down"}
    labels["action"] = actions.get(labels["action"], labels["action"])
    return metric_value(full, labels) or 0.0


def shown(status: dict[str, Any]) -> str:
    """The conditions of a status, as :class:`Case` has them."""
    return " ".join(f"{'+' if one['status'] == 'True' else '-'}{one['reason']}" for one in status["conditions"])


def computations(case: Case) -> str:
    """How the computation of each metric is counted: type, action and error."""
    if case.computed:
        return case.computed
    if case.conditions == INVALID:
        return "Cheese:none:spec"
    if "ValidMetricFound" in case.conditions:
        return " ".join(f"{metric(text)['type']}:{case.action}:none" for text in case.metrics.split(" + "))
    _, failed, rest = case.conditions.partition("-FailedGet")
    return f"{rest.removesuffix('Metric')}:none:internal" if failed and rest != "Scale" else ""


def counts(case: Case) -> list[float]:
    """How often what is expected was counted: the evaluation, and the computation of each metric."""
    found = [counted("reconciliations", action=case.action, error="internal" if case.fails else "none")]
    for one in computations(case).split():
        type_, action, error = one.split(":")
        found.append(counted("metric_computation", action=action, error=error, metric_type=type_))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_an_evaluation_ends_as_in_kubernetes(case: Case) -> None:
    evaluation = Evaluation(case)
    if case.settled:
        await evaluation.run()
        evaluation.servers.scaled.clear()
        evaluation.clock.turn(301)
    before = counts(case)

    error = await evaluation.run()

    assert bool(error) == case.fails, error
    assert evaluation.servers.scaled == ([case.wanted] if case.wanted != case.replicas else [])
    status = evaluation.servers.statuses[-1]
    assert status.get("desiredReplicas", 0) == case.wanted
    assert shown(status) == case.conditions
    assert counts(case) == [count + 1 for count in before]


async def test_a_status_that_has_not_changed_is_not_written_again() -> None:
    """TestAvoidUnnecessaryUpdates."""
    evaluation = Evaluation(Case("", (2, 6), 2, 2, "rhh", "400 500 700", "cpu 30%"))
    await evaluation.run()
    evaluation.seen()
    evaluation.clock.turn(15)
    await evaluation.run()

    assert len(evaluation.servers.statuses) == 1
