"""Budgets over pods of several controllers, or of none: overlapping, with percentages, and evictions between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.golden.seeds.daemons import healthy_elsewhere, node
from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch, pods

__all__ = ("Budgeted",)

_OWNERS = {"d": "Deployment", "r": "ReplicaSet", "s": "StatefulSet", "c": "ReplicationController", "j": "Job"}


class Budgeted:
    looks = ("PodDisruptionBudget", "Pod")
    #: The Job controller gathers what happens to pods for a second.
    settle = 2.4
    settled = 3.5
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._owners = list(dict.fromkeys(draw.one([*_OWNERS]) for _ in range(2)))

    def begin(self) -> list[Step]:
        steps: list[Step] = [{"ensure": [healthy_elsewhere(), node("a")]}]
        steps += [{"create": self._owner(name)} for name in self._owners]
        steps += [{"settle": self.settle}, self.ready()[1][0], *self._bare("p")]
        return [*steps, {"create": self._budget("1")}, {"create": self._budget("2")}]

    def _owner(self, name: str) -> dict[str, Any]:
        kind, count = _OWNERS[name], self._draw.number(1, 4)
        version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
        labels = {"app": "w", "of": name}
        pod: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec: dict[str, Any] = {"template": template, "selector": {"matchLabels": labels}, "replicas": count}
        if kind == "Job":
            spec = {"template": {**template, "spec": {**pod, "restartPolicy": "Never"}}, "parallelism": count}
        elif kind == "ReplicationController":
            spec["selector"] = labels
        elif kind == "StatefulSet":
            spec |= {"serviceName": "s", "podManagementPolicy": "Parallel"}
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}

    def _bare(self, name: str) -> list[Step]:
        labels = {"app": self._draw.one(["w", "v"]), "of": "nobody"}
        spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}
        return [{"create": pod}]

    def _selector(self) -> dict[str, Any]:
        every: list[dict[str, Any]] = [
            {"matchLabels": {"app": "w"}},
            {"matchLabels": {"of": self._draw.one([*self._owners, "nobody"])}},
            {"matchExpressions": [{"key": "of", "operator": "NotIn", "values": [self._draw.one(self._owners)]}]},
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            {},
        ]
        return self._draw.one(every)

    def _bound(self) -> dict[str, Any]:
        amount = self._draw.one([0, 1, 2, 4, "1%", "34%", "50%", "100%"])
        return {self._draw.one(["minAvailable", "maxUnavailable"]): amount}

    def _budget(self, name: str) -> dict[str, Any]:
        spec: dict[str, Any] = {"selector": self._selector(), **self._bound()}
        if self._draw.chance(0.4):
            spec["unhealthyPodEvictionPolicy"] = self._draw.one(["AlwaysAllow", "IfHealthyBudget"])
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}

    def ready(self) -> Operation:
        return "all pods are ready", [pods("ready", "of", 20)]

    def some_ready(self) -> Operation:
        return "some pods are ready", [pods("ready", "of", self._draw.number(1, 3))]

    def unready(self) -> Operation:
        return "pods are unready", [pods("unready", "of", self._draw.number(1, 3), last=self._draw.chance(0.5))]

    def end(self) -> Operation:
        verb = self._draw.one(["delete", "fail", "succeed"])
        return f"pods: {verb}", [pods(verb, "of", 1, last=self._draw.chance(0.5), code=1), {"settle": self.settle}]

    def evict(self) -> Operation:
        count = self._draw.number(1, 3)
        how = pods("evict", self._draw.one(["app=w", "of=nobody", "of"]), count, settle=self.settle)
        how["each_pod"]["last"] = self._draw.chance(0.5)
        return f"evict {count}", [how, {"settle": self.settle}]

    def scale(self) -> Operation:
        name, count = self._draw.one(self._owners), self._draw.number(0, 5)
        key = "parallelism" if name == "j" else "replicas"
        return f"scale {name} to {count}", [patch(_OWNERS[name], name, {"spec": {key: count}})]

    def change(self) -> Operation:
        name = self._draw.one("12")
        if self._draw.chance(0.4):
            body: list[Step] = [{"op": "replace", "path": "/spec/selector", "value": self._selector()}]
            return f"budget {name} selects others", [patch("PodDisruptionBudget", name, body, "json")]
        bound = {"minAvailable": None, "maxUnavailable": None} | self._bound()
        return f"budget {name} {bound}", [patch("PodDisruptionBudget", name, {"spec": bound})]

    def make_anew(self) -> Operation:
        name = self._draw.one("12")
        return f"make budget {name} anew", [
            delete("PodDisruptionBudget", name),
            {"settle": self.settle},
            {"create": self._budget(name)},
        ]

    def orphan(self) -> Operation:
        name = self._draw.one(self._owners)
        return f"delete {name} (Orphan)", [delete(_OWNERS[name], name, "Orphan")]

    def make_owner(self) -> Operation:
        name = self._draw.one(self._owners)
        return f"make {name}", [{"create": self._owner(name)}]

    def run(self) -> Operation:
        name = self._draw.one("pq")
        return f"run {name}", self._bare(name)

    def relabel(self) -> Operation:
        name, app = self._draw.one("pq"), self._draw.one(["w", "v", "x"])
        return f"label {name} {app}", [patch("Pod", name, {"metadata": {"labels": {"app": app}}})]

    def disrupt(self) -> Operation:
        status = {"disruptedPods": {self._draw.one(["p", "nobody"]): "2026-01-01T00:00:00Z"}, "disruptionsAllowed": 3}
        body = {"status": status}
        return "write a wrong status", [patch("PodDisruptionBudget", "1", body, subresource="status")]

    def operations(self) -> list[tuple[Any, int]]:
        return [(self._counted(do), weight) for do, weight in self._drawn()]

    def _counted(self, do: Callable[[], Operation]) -> Callable[[], Operation]:
        """
        Touch the budgets after each operation, so that all of them are counted.

        Where several budgets select a pod, Kubernetes counts one of them when the pod changes. This project's
        controller counts all of them.
        """

        def operation() -> Operation:
            name, steps = do()
            body = {"metadata": {"annotations": {"touched": str(self._draw.number(0, 99999))}}}
            touches = [patch("PodDisruptionBudget", each, body) for each in "12"]
            return name, [*steps, {"settle": self.settle}, *touches]

        return operation

    def _drawn(self) -> list[tuple[Callable[[], Operation], int]]:
        return [
            (self.ready, 4),
            (self.some_ready, 4),
            (self.unready, 3),
            (self.end, 3),
            (self.evict, 6),
            (self.scale, 4),
            (self.change, 5),
            (self.make_anew, 1),
            (self.orphan, 1),
            (self.make_owner, 1),
            (self.run, 1),
            (self.relabel, 1),
            (self.disrupt, 1),
        ]
