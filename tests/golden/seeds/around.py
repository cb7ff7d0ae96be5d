"""What stands around a workload: Services, disruption budgets, quotas, and the node that its pods run on."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch

__all__ = ("Budget", "Node", "Quota", "Service")


class Service:
    looks = ("Endpoints", "EndpointSlice")

    def __init__(self, draw: Draw, name: str, app: str) -> None:
        self._draw = draw
        self.name = name
        self._app = app
        spec: dict[str, Any] = {"selector": {"app": app}, "ports": self._ports()}
        if draw.chance(0.4):
            spec["clusterIP"] = "None"
        if draw.chance(0.3):
            spec["publishNotReadyAddresses"] = True
        self.object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        if draw.chance(0.3):
            self.object["metadata"] = {"name": name, "labels": {"x": "y"}}

    def _ports(self) -> list[dict[str, Any]]:
        several = [{"name": "a", "port": 80, "targetPort": 8080}, {"name": "b", "port": 53, "protocol": "UDP"}]
        named = [{"name": "n", "port": 80, "targetPort": "http"}]
        return self._draw.one([[{"port": 80}], several, named])

    def select(self) -> Operation:
        app = self._draw.one([self._app, "lost", "nobody"])
        return f"service selects {app}", [patch("Service", self.name, {"spec": {"selector": {"app": app}}})]

    def publish(self) -> Operation:
        publish = self._draw.chance(0.5)
        return f"publish: {publish}", [patch("Service", self.name, {"spec": {"publishNotReadyAddresses": publish}})]

    def change_ports(self) -> Operation:
        body = [{"op": "replace", "path": "/spec/ports", "value": self._ports()}]
        return "change ports", [patch("Service", self.name, body, "json")]

    def make_anew(self) -> Operation:
        steps: list[Step] = [
            {"delete": {"kind": "Service", "name": self.name}},
            {"settle": 1.1},
            {"create": self.object},
        ]
        return "delete the service and make it anew", steps

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.select, 1), (self.publish, 1), (self.change_ports, 1), (self.make_anew, 1)]


class Budget:
    looks = ("PodDisruptionBudget",)

    def __init__(self, draw: Draw, name: str, app: str) -> None:
        self._draw = draw
        self.name = name
        self._app = app
        spec = {"selector": {"matchLabels": {"app": app}}, **self._bound()}
        if draw.chance(0.3):
            spec["unhealthyPodEvictionPolicy"] = draw.one(["AlwaysAllow", "IfHealthyBudget"])
        self.object = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": spec,
        }

    def _bound(self) -> dict[str, Any]:
        return {self._draw.one(["minAvailable", "maxUnavailable"]): self._draw.one([0, 1, 2, "30%", "50%", "100%"])}

    def change(self) -> Operation:
        bound = {"minAvailable": None, "maxUnavailable": None} | self._bound()
        return f"budget {bound}", [patch("PodDisruptionBudget", self.name, {"spec": bound})]

    def evict(self) -> Operation:
        count = self._draw.number(1, 2)
        how = {"do": "evict", "selector": f"app={self._app}", "count": count, "last": self._draw.chance(0.5)}
        return f"evict {count}", [{"each_pod": how}]

    def make_anew(self) -> Operation:
        return "delete the budget and make it anew", [
            delete("PodDisruptionBudget", self.name),
            {"settle": 1.1},
            {"create": self.object},
        ]

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.change, 2), (self.evict, 4), (self.make_anew, 1)]


class Quota:
    """
    A quota that sometimes has no room.

    A controller whose pod is refused tries again later and later. When it does is not to be compared, so what is about
    the quota also touches the workload, which makes its controller try at once.
    """

    looks = ("ResourceQuota",)

    def __init__(self, draw: Draw, name: str) -> None:
        self._draw = draw
        self.name = name
        self.object = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": name},
            "spec": {"hard": self._hard()},
        }

    def _hard(self) -> dict[str, Any]:
        hard: dict[str, Any] = {"pods": str(self._draw.number(2, 12))}
        if self._draw.chance(0.4):
            hard |= {"services": "3", "persistentvolumeclaims": str(self._draw.number(1, 5))}
        if self._draw.chance(0.3):
            hard |= {"count/pods": str(self._draw.number(3, 12)), "count/jobs.batch": "2"}
        return hard

    def change(self) -> Operation:
        body = [{"op": "replace", "path": "/spec/hard", "value": self._hard()}]
        return "change the quota", [patch("ResourceQuota", self.name, body, "json")]

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.change, 3)]


class Node:
    """The node that all pods but those of DaemonSets are bound to."""

    looks = ("Node",)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def turn(self) -> Operation:
        status = self._draw.one(["True", "True", "False", "Unknown"])
        condition = {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        body = {"status": {"conditions": [condition]}}
        return f"node a Ready={status}", [patch("Node", "${ns}-a", body, "strategic", "status"), {"sleep": 2.5}]

    def taint(self) -> Operation:
        taints = self._draw.one([[], [], [{"key": "dedicated", "value": "x", "effect": "NoExecute"}]])
        body = [{"op": "add", "path": "/spec/taints", "value": taints}]
        return f"taint node a {taints}", [patch("Node", "${ns}-a", body, "json"), {"sleep": 2.5}]

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.turn, 2), (self.taint, 1)]
