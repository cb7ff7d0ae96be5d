"""Nodes whose conditions and taints change, and pods that tolerate some of it, for ever or for a second."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.daemons import healthy_elsewhere, node
from tests.golden.seeds.parts import LONG_AGO, Draw, Operation, Step, delete, patch

__all__ = ("Tainted",)

_NODES, _PODS = ("a", "b"), ("p", "q", "r", "s", "t")
_KEYS = ("dedicated", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "other")
_EFFECTS = ("NoExecute", "NoExecute", "NoSchedule", "PreferNoSchedule")
#: A second to be tainted in, a second that is tolerated, and time for the deletion.
_GONE = 4.5


class Tainted:
    looks = ("Node", "Pod", "Event")
    settle = 1.1
    settled = 3.5
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def begin(self) -> list[Step]:
        nodes = [self._node(letter) for letter in _NODES]
        pods = [step for name in _PODS if self._draw.chance(0.6) for step in self._pod(name)]
        return [{"ensure": healthy_elsewhere()}, {"create": nodes}, {"settle": self.settle}, *pods]

    def _node(self, letter: str) -> dict[str, Any]:
        made = node(letter)
        if self._draw.chance(0.3):
            made["spec"] = {"taints": self._taints()}
        for key in ("kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os"):
            if self._draw.chance(0.3):
                made["metadata"]["labels"][key] = self._draw.one(["linux", "amd64"])
        return made

    def _taints(self) -> list[dict[str, Any]]:
        taints: dict[tuple[str, str], dict[str, Any]] = {}
        for _ in range(self._draw.number(0, 2)):
            key, effect = self._draw.one(_KEYS), self._draw.one(_EFFECTS)
            taints[key, effect] = {"key": key, "effect": effect}
            if self._draw.chance(0.5):
                taints[key, effect]["value"] = self._draw.one(["x", "y"])
        return list(taints.values())

    def _tolerations(self) -> list[dict[str, Any]]:
        draw, tolerations = self._draw, []
        for _ in range(draw.number(0, 3)):
            one: dict[str, Any] = {"operator": draw.weighted([("Exists", 3), ("Equal", 1)])}
            if one["operator"] == "Equal":
                one["value"] = draw.one(["x", "y"])
            if one["operator"] == "Equal" or draw.chance(0.85):
                one["key"] = draw.one(_KEYS)
            if draw.chance(0.85):
                one["effect"] = draw.one(_EFFECTS)
            if one.get("effect") == "NoExecute" and draw.chance(0.6):
                one["tolerationSeconds"] = draw.one([0, -1, 1, 3600])
            tolerations.append(one)
        return tolerations

    def _pod(self, name: str) -> list[Step]:
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "tolerations": self._tolerations()}
        spec["terminationGracePeriodSeconds"] = self._draw.one([0, 0, 30])
        if self._draw.chance(0.9):
            spec["nodeName"] = f"${{ns}}-{self._draw.one(_NODES)}"
        metadata: dict[str, Any] = {"name": name, "labels": {"app": "w"}}
        if self._draw.chance(0.2):
            metadata["finalizers"] = ["example.com/held"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        phase = self._draw.weighted([("Running", 6), ("Succeeded", 1), ("Failed", 1)])
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}
        status = {"phase": phase, "conditions": [ready]}
        return [{"create": pod}, patch("Pod", name, {"status": status}, "strategic", "status")]

    def run(self) -> Operation:
        name = self._draw.one(_PODS)
        return f"run {name}", [*self._pod(name), {"sleep": _GONE}]

    def end(self) -> Operation:
        name = self._draw.one(_PODS)
        held = {"hold": {"kind": "Pod", "name": name, "finalizers": []}}
        options = {"gracePeriodSeconds": 0}
        return f"end {name}", [held, {"delete": {"kind": "Pod", "name": name, "options": options}}]

    def taint(self) -> Operation:
        letter, taints = self._draw.one(_NODES), self._taints()
        body = [{"op": "add", "path": "/spec/taints", "value": taints}]
        name = f"taint {letter} {[(each['key'][-9:], each['effect']) for each in taints]}"
        return name, [patch("Node", f"${{ns}}-{letter}", body, "json"), {"sleep": _GONE}]

    def turn(self) -> Operation:
        draw, letter = self._draw, self._draw.one(_NODES)
        kind = draw.weighted([("Ready", 6), ("MemoryPressure", 1), ("DiskPressure", 1), ("NetworkUnavailable", 1)])
        status = draw.one(["True", "False", "Unknown"])
        condition = {"type": kind, "status": status, "lastTransitionTime": LONG_AGO}
        body = {"status": {"conditions": [condition]}}
        return f"{letter} {kind}={status}", [
            patch("Node", f"${{ns}}-{letter}", body, "strategic", "status"),
            {"sleep": _GONE},
        ]

    def close(self) -> Operation:
        letter, closed = self._draw.one(_NODES), self._draw.one([True, None])
        return f"{letter} unschedulable: {closed}", [
            patch("Node", f"${{ns}}-{letter}", {"spec": {"unschedulable": closed}})
        ]

    def label(self) -> Operation:
        letter, key = self._draw.one(_NODES), self._draw.one(["kubernetes.io/os", "beta.kubernetes.io/arch"])
        value = self._draw.one(["linux", "arm", None])
        body = {"metadata": {"labels": {key: value}}}
        return f"{letter} {key}: {value}", [patch("Node", f"${{ns}}-{letter}", body)]

    def tolerate(self) -> Operation:
        name = self._draw.one(_PODS)
        more = {"key": self._draw.one(_KEYS), "operator": "Exists", "effect": "NoExecute"}
        body = [{"op": "add", "path": "/spec/tolerations/-", "value": more}]
        return f"{name} tolerates {more['key']}", [patch("Pod", name, body, "json"), {"sleep": _GONE}]

    def bind(self) -> Operation:
        return "bind pods", [{"each_pod": {"do": "ready", "selector": "app=w", "count": 2}}, {"sleep": _GONE}]

    def make_node_anew(self) -> Operation:
        letter = self._draw.one(_NODES)
        steps: list[Step] = [delete("Node", f"${{ns}}-{letter}"), {"settle": self.settle}]
        return f"make node {letter} anew", [*steps, {"create": self._node(letter)}, {"sleep": _GONE}]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.run, 5),
            (self.end, 2),
            (self.taint, 7),
            (self.turn, 6),
            (self.close, 1),
            (self.label, 2),
            (self.tolerate, 2),
            (self.bind, 1),
            (self.make_node_anew, 1),
        ]
