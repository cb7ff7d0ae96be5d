"""Workloads whose selectors overlap, pods that belong to nobody, and references to owners that somebody edits."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.daemons import healthy_elsewhere, node
from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch, pods

__all__ = ("Overlapping",)

_KINDS = {"d": "Deployment", "e": "Deployment", "r": "ReplicaSet", "c": "ReplicationController", "s": "StatefulSet"}
_KINDS |= {"j": "Job"}
_PODS = ("p", "q", "s-0", "s-1")


class Overlapping:
    """Workload x has pods of ``app=x``. Two share pods of ``app=w``, and are made one after the other."""

    looks = (*dict.fromkeys(_KINDS.values()), "ControllerRevision", "Pod", "Event")
    settle = 2.4
    #: Longer than the deadline of four seconds, and the second after which it is looked at.
    settled = 6.0
    length = (7, 12)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._names = list(dict.fromkeys(draw.one([*_KINDS]) for _ in range(3)))
        self._shares = {name: draw.chance(0.3) for name in _KINDS}

    def begin(self) -> list[Step]:
        steps: list[Step] = [{"ensure": [healthy_elsewhere(), node("a")]}]
        for name in self._names:
            if self._draw.chance(0.4):
                steps += self._bare(name)
        return [*steps, *self._make(self._names[0])]

    def _labels(self, name: str) -> dict[str, str]:
        return {"app": "w" if self._shares[name] else name}

    def _make(self, name: str) -> list[Step]:
        draw, kind, labels = self._draw, _KINDS[name], self._labels(name)
        version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
        pod: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
        template = {"metadata": {"labels": labels | {"of": name}}, "spec": pod}
        spec: dict[str, Any] = {
            "template": template,
            "selector": {"matchLabels": labels},
            "replicas": draw.number(0, 3),
        }
        if kind == "Job":
            template["spec"] = {**pod, "restartPolicy": "Never"}
            spec = {"template": template, "selector": spec["selector"], "manualSelector": True}
            spec |= {"parallelism": draw.number(0, 3), "completions": draw.number(1, 3), "backoffLimit": 6}
        elif kind == "ReplicationController":
            spec["selector"] = labels
        elif kind == "StatefulSet":
            spec |= {"serviceName": "s", "podManagementPolicy": draw.one(["Parallel", "OrderedReady"])}
        elif kind == "Deployment":
            spec |= {"progressDeadlineSeconds": draw.one([3600, 4]), "revisionHistoryLimit": draw.number(0, 2)}
            if draw.chance(0.3):
                spec["strategy"] = {"type": "Recreate"}
        metadata: dict[str, Any] = {"name": name, "labels": labels}
        if draw.chance(0.15):
            metadata["finalizers"] = ["example.com/held"]
        made = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        return [{"create": made}, {"settle": self.settle}]

    def make(self) -> Operation:
        name = self._draw.one(self._names)
        return f"make {name}", self._make(name)

    def delete(self) -> Operation:
        name, policy = self._draw.one(self._names), self._draw.one(["Orphan", "Orphan", "Background", "Foreground"])
        return f"delete {name} ({policy})", [delete(_KINDS[name], name, policy), {"settle": self.settle}]

    def free(self) -> Operation:
        name = self._draw.one(self._names)
        return f"free {name}", [patch(_KINDS[name], name, {"metadata": {"finalizers": None}})]

    def scale(self) -> Operation:
        name, count = self._draw.one(self._names), self._draw.number(0, 4)
        key = "parallelism" if _KINDS[name] == "Job" else "replicas"
        return f"scale {name} to {count}", [patch(_KINDS[name], name, {"spec": {key: count}})]

    def roll(self) -> Operation:
        name, image = self._draw.one(self._names), self._draw.one(["i", "j", "k"])
        body = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
        return f"roll {name} to {image}", [patch(_KINDS[name], name, body)]

    def _bare(self, of: str) -> list[Step]:
        name = self._draw.one(_PODS)
        metadata = {"name": name, "labels": self._labels(of) | {"of": "nobody"}}
        spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
        pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        owners: list[dict[str, Any]] = []
        if self._draw.chance(0.3):
            owner = self._draw.one(self._names)
            owners = [{"apiVersion": "apps/v1", "kind": _KINDS[owner], "name": owner, "controller": True}]
            if _KINDS[owner] in ("Job", "ReplicationController"):
                owners[0]["apiVersion"] = "batch/v1" if _KINDS[owner] == "Job" else "v1"
            if self._draw.chance(0.2):
                owners[0]["controller"] = False
        return [{"make": {"object": pod, "owners": owners}}, {"settle": self.settle}]

    def run(self) -> Operation:
        name = self._draw.one(self._names)
        return f"run a pod for {name}", self._bare(name)

    def relabel(self) -> Operation:
        name, of = self._draw.one(self._names), self._draw.one(self._names)
        how = {"do": "relabel", "selector": f"of={name}", "count": 1, "app": self._labels(of)["app"]}
        how["last"] = self._draw.chance(0.5)
        return f"a pod of {name} becomes one of {of}", [{"each_pod": how}]

    def end(self) -> Operation:
        verb = self._draw.one(["delete", "fail", "succeed"])
        how = pods(verb, "of", 1, last=self._draw.chance(0.5), code=1)
        return f"pods: {verb}", [how, {"settle": self.settle}]

    def ready(self) -> Operation:
        return "pods are ready", [pods("ready", "of", self._draw.one([2, 9]))]

    def disown(self) -> Operation:
        name = self._draw.one(_PODS)
        owner = self._draw.one(self._names)
        version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(_KINDS[owner], "apps/v1")
        owners = [{"apiVersion": version, "kind": _KINDS[owner], "name": owner, "controller": True}]
        chosen = self._draw.one([[], owners])
        return f"pod {name} is owned by {[each['name'] for each in chosen]}", [
            {"own": {"kind": "Pod", "name": name, "owners": chosen}}
        ]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.make, 6),
            (self.delete, 4),
            (self.free, 1),
            (self.scale, 3),
            (self.roll, 2),
            (self.run, 4),
            (self.relabel, 3),
            (self.end, 3),
            (self.ready, 3),
            (self.disown, 3),
        ]
