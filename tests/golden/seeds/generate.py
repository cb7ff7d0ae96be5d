"""A seed's scenario: which workloads there are, what stands around them, and what is done to them, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.golden.seeds.administered import Administered
from tests.golden.seeds.around import Budget, Node, Quota, Service
from tests.golden.seeds.attaching import Attached
from tests.golden.seeds.autoscaling import Autoscaled
from tests.golden.seeds.batch import CronJob, Job, LimitedJob
from tests.golden.seeds.budgeted import Budgeted
from tests.golden.seeds.certified import Certified
from tests.golden.seeds.daemons import DaemonSet, healthy_elsewhere, node
from tests.golden.seeds.devices import Devices
from tests.golden.seeds.emptied import Emptied
from tests.golden.seeds.limited import Limited
from tests.golden.seeds.overlapping import Overlapping
from tests.golden.seeds.owned import Owned
from tests.golden.seeds.parts import Draw, Operation, Step, patch, pods
from tests.golden.seeds.replicated import Deployment, ReplicaSet
from tests.golden.seeds.served import Served
from tests.golden.seeds.stateful import StatefulSet
from tests.golden.seeds.tainted import Tainted
from tests.golden.seeds.volumes import Volumes

__all__ = ("CONTROLLERS", "FAMILIES", "FLAGS", "Plan", "plan_of")

#: Families of workloads: what they are about, and how often beside each other.
_WORKLOADS: dict[str, Sequence[tuple[Any, int]]] = {
    "jobs": ((LimitedJob, 3), (CronJob, 1)),
    "workloads": ((Deployment, 8), (StatefulSet, 7), (DaemonSet, 5), (Job, 6), (ReplicaSet, 2), (CronJob, 2)),
}
_LEAST, _MOST = 4, 8

#: The controllers that a seed needs, by the names that they have here.
CONTROLLERS = (
    "cronjob",
    "daemonset",
    "deployment",
    "disruption",
    "endpoint",
    "endpointslice",
    "garbagecollector",
    "job",
    "namespace",
    "nodelifecycle",
    "persistentvolume-binder",
    "podgc",
    "pv-protection",
    "pvc-protection",
    "replicaset",
    "replicationcontroller",
    "resourcequota",
    "serviceaccount",
    "statefulset",
    "taint-eviction",
    "ttl-after-finished",
)
#: What their manager is told: a node without a kubelet stays as it is, and does not decide about nodes of other seeds.
FLAGS = {
    "node_monitor_period": 1.0,
    "node_monitor_grace_period": 36000.0,
    "node_startup_grace_period": 36000.0,
    "node_eviction_rate": 1000.0,
    "secondary_node_eviction_rate": 1000.0,
    "unhealthy_zone_threshold": 1.0,
    "large_cluster_size_threshold": 0,
    # Quotas that were counted from an old cache are soon right again, and claims that wait are soon looked at.
    "pvclaimbinder_sync_period": 2.0,
    "resource_quota_sync_period": 5.0,
    "attach_detach_reconcile_sync_period": 2.0,
    "horizontal_pod_autoscaler_sync_period": 1.0,
    "horizontal_pod_autoscaler_downscale_stabilization": 2.0,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """
    A seed's scenario.

    :param title: what it is about, for reports
    :param looks: the kinds that every snapshot shows
    :param settled: seconds for which nothing changes before a snapshot
    :param operations: what is done, in order. After each comes a snapshot
    """

    seed: int
    title: str
    looks: Sequence[str]
    settled: float
    operations: Sequence[Operation]


#: What seeds are about. Each seed is another scenario in each family.
FAMILIES: dict[str, Any] = {
    "administration": Administered,
    "attaching": Attached,
    "autoscaling": Autoscaled,
    "budgets": Budgeted,
    "certificates": Certified,
    "devices": Devices,
    "namespaces": Emptied,
    "nodes": Tainted,
    "overlaps": Overlapping,
    "owners": Owned,
    "quotas": Limited,
    "services": Served,
    "volumes": Volumes,
    **dict.fromkeys(_WORKLOADS),
}


def plan_of(seed: int, family: str = "workloads") -> Plan:
    """
    The scenario of a seed. It is the same in every process and on every machine.

    :param family: one of :data:`FAMILIES`
    """
    draw = Draw(seed)
    if (made := FAMILIES[family]) is not None:
        return _plan_of_family(seed, family, made(draw), draw)
    workload = draw.weighted(_WORKLOADS[family])(draw, "w")
    objects: list[Any] = [workload]
    if draw.chance(0.5):
        objects.append(Service(draw, "s", "w"))
    if workload.kind not in ("CronJob", "Job") and draw.chance(0.35):
        objects.append(Budget(draw, "b", "w"))
    # Which nodes' pods find room is left to chance, and so are no quotas for DaemonSets.
    if workload.kind not in ("CronJob", "DaemonSet") and draw.chance(0.12):
        objects.append(Quota(draw, "q"))
    if workload.kind != "CronJob" and draw.chance(0.25):
        objects.append(Node(draw))
    quota = any(isinstance(each, Quota) for each in objects)
    looks = [kind for each in objects for kind in each.looks]
    begin: list[Step] = [
        {"wait_for": ["ServiceAccount", "default"]},
        {"ensure": [healthy_elsewhere(), node("a")]},
        {"settle": workload.settle},
    ]
    if hasattr(workload, "before"):
        begin += workload.before()
        looks = [kind for each in objects for kind in each.looks]
    for each in reversed(objects):
        if hasattr(each, "object"):
            # A quota that is not known yet counts nothing.
            begin += [{"create": each.object}, {"settle": workload.settle}]
    if workload.kind == "DaemonSet" and "Node" not in looks:
        looks.append("Node")
    # A refusal for want of room is told as often as it is tried.
    looks += ["Pod"] if quota else ["Pod", "Event"]
    operations = [("begin", begin), *_drawn(draw, workload, objects)]
    if any(isinstance(each, Budget) for each in objects):
        operations = [(name, _counted(steps, workload.settle)) for name, steps in operations]
    if quota:
        operations = [(name, [*steps, *_touch(workload, number)]) for number, (name, steps) in enumerate(operations)]
    title = " ".join(type(each).__name__ for each in objects)
    return Plan(seed, title, list(dict.fromkeys(looks)), workload.settled, operations)


def _plan_of_family(seed: int, family: str, subject: Any, draw: Draw) -> Plan:
    begin: list[Step] = [{"wait_for": ["ServiceAccount", "default"]}, *subject.begin()]
    least, most = getattr(subject, "length", (_LEAST, _MOST))
    drawn = [draw.weighted(subject.operations())() for _ in range(draw.number(least, most))]
    return Plan(seed, family, subject.looks, subject.settled, [("begin", begin), *drawn])


def _drawn(draw: Draw, workload: Any, objects: Sequence[Any]) -> list[Operation]:
    users: list[tuple[Callable[[], Operation], int]] = []
    for each in objects:
        users += each.operations()
    kubelet = _Kubelet(draw, workload)
    batch = workload.kind in ("Job", "CronJob")
    drawn = [do() for do, probability in kubelet.duties(batch) if draw.chance(probability)]
    minutes = getattr(workload, "minutes", 0)
    for _ in range(draw.number(_LEAST, _MOST)):
        name, steps = draw.weighted(users if draw.chance(0.55) else kubelet.mishaps())()
        if any("until_minute" in step for step in steps):
            if not minutes:
                continue
            minutes -= 1
        drawn.append((name, steps))
        # Most of the time a kubelet does its part before something else happens.
        drawn += [do() for do, probability in kubelet.duties(batch) if draw.chance(probability)]
    return drawn


def _counted(steps: list[Step], settle: float) -> list[Step]:
    """
    With the budget touched after a pod was relabelled.

    Kubernetes' controller does not notice that a pod has left a budget, and this project's does.
    """
    if not any(step.get("each_pod", {}).get("do") == "relabel" for step in steps):
        return steps
    touch = {"metadata": {"annotations": {"touched": "now"}}}
    untouch = {"metadata": {"annotations": {"touched": None}}}
    return [*steps, {"settle": settle}, *(patch("PodDisruptionBudget", "b", body) for body in (touch, untouch))]


def _touch(workload: Any, number: int) -> list[Step]:
    return [
        {"settle": workload.settle},
        patch(workload.kind, workload.name, {"metadata": {"annotations": {"touched": str(number)}}}),
    ]


class _Kubelet:
    """What happens to pods, without a user."""

    def __init__(self, draw: Draw, workload: Any) -> None:
        self._draw = draw
        self._workload = workload

    def _do(self, name: str, verb: str, most: int, **how: Any) -> Operation:
        count = self._draw.number(1, most)
        step = pods(verb, self._workload.selector, count, settle=self._workload.settle, **how)
        if self._draw.chance(0.3):
            step["each_pod"]["last"] = True
        if verb in ("delete", "kill") and self._workload.kind in ("CronJob", "Job"):
            # A Job's pod that never had a node is not over before podgc, which looks each 20 seconds, says so.
            return f"{name} ({count})", [step, {"sleep": 25}]
        return f"{name} ({count})", [step]

    def ready(self) -> Operation:
        return self._do("pods become ready", "ready", 4, fresh=self._draw.chance(0.15))

    def all_ready(self) -> Operation:
        return self._do("pods become ready", "ready", 8)

    def unready(self) -> Operation:
        return self._do("pods become unready", "unready", 2)

    def fail(self) -> Operation:
        return self._do("pods fail", "fail", 2, code=self._draw.one([1, 3, 4]), later=self._draw.chance(0.15))

    def disrupt(self) -> Operation:
        return self._do("pods are disrupted", "fail", 1, code=137, disrupted=True)

    def succeed(self) -> Operation:
        return self._do("pods succeed", "succeed", 3)

    def delete(self) -> Operation:
        return self._do("pods are deleted", "delete", 2)

    def kill(self) -> Operation:
        return self._do("pods are deleted at once", "kill", 2)

    def end(self) -> Operation:
        return self._do("deleted pods end", "end", 8)

    def lose(self) -> Operation:
        return self._do("a pod is relabelled", "relabel", 1, app="lost")

    def find(self) -> Operation:
        how = {"do": "relabel", "selector": "app=lost", "count": 1, "app": self._workload.name}
        return "a lost pod is labelled back", [{"each_pod": how}]

    def restart(self) -> Operation:
        return self._do("containers restart", "restart", 2, restarts=self._draw.number(1, 5))

    def price(self) -> Operation:
        return self._do("pods cost more to delete", "price", 1, cost=self._draw.one(["-5", "10", "x"]))

    def mishaps(self) -> list[tuple[Callable[[], Operation], int]]:
        """What goes wrong, or on, and how often beside the others."""
        every = [
            (self.unready, 2),
            (self.fail, 4),
            (self.disrupt, 1),
            (self.delete, 3),
            (self.kill, 1),
            (self.lose, 1),
            (self.find, 1),
            (self.restart, 1),
        ]
        return [*every, (self.price, 1)] if self._workload.kind in ("Deployment", "ReplicaSet") else every

    def duties(self, batch: bool) -> list[tuple[Callable[[], Operation], float]]:
        """What a kubelet does in time, and how probable it is that it does."""
        if batch:
            return [(self.end, 0.4), (self.ready, 0.2), (self.fail, 0.2), (self.succeed, 0.5)]
        return [(self.end, 0.5), (self.ready, 0.35), (self.all_ready, 0.5), (self.succeed, 0.03)]
