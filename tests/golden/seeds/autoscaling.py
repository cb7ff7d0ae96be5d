"""A Deployment with an autoscaler: what users do to both, and what metrics say of its pods and of a queue."""

from __future__ import annotations

from typing import Any

from tests.definitions import definition
from tests.golden.seeds.daemons import healthy_elsewhere, node
from tests.golden.seeds.parts import Draw, Operation, Step, patch, pods

__all__ = ("Autoscaled",)

_CPU = ("10m", "30m", "48m", "52m", "80m", "150m", "400m")
_MEMORY = ("10Mi", "30Mi", "60Mi")


class Autoscaled:
    kind = "Deployment"
    name = "w"
    selector = "app=w"
    looks = ("HorizontalPodAutoscaler", "Deployment")
    controllers = ("horizontal-pod-autoscaler-controller",)
    settle = 2.2
    #: Longer than all windows and periods, so that only the end of them is compared.
    settled = 8.0

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        requests = {"cpu": "100m", "memory": "100Mi"}
        containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
        metadata, labels = {"name": self.name}, {"app": self.name}
        self.object = {
            "apiVersion": "apps/v1",
            "kind": self.kind,
            "metadata": metadata,
            "spec": {
                "replicas": draw.number(1, 3),
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }
        spec = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": self.kind, "name": self.name},
            **self._bounds(),
            "metrics": self._metrics(),
        }
        if draw.chance(0.6):
            spec["behavior"] = self._behavior()
        self.autoscaler = {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h"},
            "spec": spec,
        }

    def begin(self) -> list[Step]:
        definitions = [
            definition("pods", "PodMetrics", "metrics.k8s.io", name="v1beta1", approved=True),
            definition("queue", "ExternalMetricValue", "external.metrics.k8s.io", name="v1beta1", approved=True),
        ]
        return [
            {"ensure": definitions},
            # Pods of a node that is not there are deleted.
            {"ensure": [healthy_elsewhere(), node("a")]},
            {"sleep": 3},
            {"create": self._queue("10")},
            {"create": self.object},
            {"settle": self.settle},
            *self.serve()[1],
            *self.load()[1],
            {"create": self.autoscaler},
        ]

    def _queue(self, length: str) -> dict[str, Any]:
        about = {"metricName": "queue", "timestamp": "2026-01-01T00:00:00Z", "value": length}
        metadata = {"name": "queue"}
        version = "external.metrics.k8s.io/v1beta1"
        return {"apiVersion": version, "kind": "ExternalMetricValue", "metadata": metadata, **about}

    def _bounds(self) -> dict[str, int]:
        return {"minReplicas": self._draw.number(1, 2), "maxReplicas": self._draw.number(3, 8)}

    def _metrics(self) -> list[dict[str, Any]]:
        draw = self._draw
        cpu = {"type": "Utilization", "averageUtilization": draw.one([30, 50, 120])}
        each = {"type": "AverageValue", "averageValue": draw.one(["20Mi", "40Mi"])}
        length = draw.one([{"type": "Value", "value": "10"}, {"type": "AverageValue", "averageValue": "5"}])
        name = draw.weighted([("queue", 4), ("nowhere", 1)])
        container = draw.weighted([("c", 4), ("x", 1)])
        every = [
            {"type": "Resource", "resource": {"name": "cpu", "target": cpu}},
            {"type": "Resource", "resource": {"name": "memory", "target": each}},
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": container, "target": cpu},
            },
            {"type": "External", "external": {"metric": {"name": name}, "target": length}},
        ]
        first = draw.number(0, 3)
        chosen = [every[first]] if draw.chance(0.6) else [every[first], every[(first + draw.number(1, 3)) % 4]]
        return [*chosen, *([self._unserved()] if draw.chance(0.15) else [])]

    def _unserved(self) -> dict[str, Any]:
        """A metric of an API that no definition can serve: why it cannot be read is in the status."""
        metric: dict[str, Any] = {"name": "requests"}
        if self._draw.chance(0.5):
            metric["selector"] = {"matchLabels": {"verb": "GET", "code": "200"}}
        if self._draw.chance(0.5):
            target = {"type": "AverageValue", "averageValue": "1500m"}
            return {"type": "Pods", "pods": {"metric": metric, "target": target}}
        about = {"kind": self._draw.one(["Service", "Namespace", "Nothing"]), "name": "s", "apiVersion": "v1"}
        target = self._draw.one([{"type": "Value", "value": "3"}, {"type": "AverageValue", "averageValue": "2"}])
        return {"type": "Object", "object": {"describedObject": about, "metric": metric, "target": target}}

    def _behavior(self) -> dict[str, Any]:
        def rules() -> dict[str, Any]:
            policies = [
                {"type": "Pods", "value": self._draw.number(1, 3), "periodSeconds": self._draw.number(1, 3)},
                {"type": "Percent", "value": self._draw.one([50, 100, 200]), "periodSeconds": self._draw.number(1, 3)},
            ]
            return {
                "stabilizationWindowSeconds": self._draw.one([0, 0, 3]),
                "selectPolicy": self._draw.weighted([("Max", 3), ("Min", 2), ("Disabled", 1)]),
                "policies": policies[: self._draw.number(1, 2)],
            }

        behavior = {"scaleUp": rules(), "scaleDown": rules()}
        if self._draw.chance(0.4):
            behavior[self._draw.one(["scaleUp", "scaleDown"])]["tolerance"] = self._draw.one(["0", "500m", "10m"])
        return behavior

    def _replace(self, **spec: Any) -> list[Step]:
        body = [{"op": "add", "path": f"/spec/{name}", "value": value} for name, value in spec.items()]
        return [patch("HorizontalPodAutoscaler", "h", body, "json")]

    def load(self) -> Operation:
        usage = {"cpu": self._draw.one(_CPU), "memory": self._draw.one(_MEMORY)}
        if self._draw.chance(0.1):
            del usage["cpu"]
        how = pods("measure", self.selector, self._draw.weighted([(9, 4), (1, 1), (2, 1)]), usage=usage)
        return f"pods use {usage}", [how]

    def lengthen(self) -> Operation:
        length = self._draw.one(["0", "4", "10500m", "25", "60", "1k"])
        return f"the queue has {length}", [{"replace_metric": self._queue(length)}]

    def serve(self) -> Operation:
        return "pods serve", [pods("serve", self.selector, 9)]

    def fail(self) -> Operation:
        return "a pod fails", [pods("fail", self.selector, 1, code=1)]

    def unready(self) -> Operation:
        return "a pod is unready", [pods("unready", self.selector, 1)]

    def bound(self) -> Operation:
        bounds = self._bounds()
        return f"bounds {bounds}", self._replace(**bounds)

    def change_metrics(self) -> Operation:
        return "other metrics", self._replace(metrics=self._metrics())

    def behave(self) -> Operation:
        return "another behavior", self._replace(behavior=self._behavior())

    def scale(self) -> Operation:
        replicas = self._draw.number(0, 9)
        return f"scale to {replicas}", [patch(self.kind, self.name, {"spec": {"replicas": replicas}})]

    def lose(self) -> Operation:
        steps: list[Step] = [{"delete": {"kind": self.kind, "name": self.name}}, {"sleep": 5}, {"create": self.object}]
        return "delete the Deployment and make it anew", steps

    def aim(self) -> Operation:
        kind = self._draw.one(["Deployment", "ReplicaSet", "Nothing", "ConfigMap"])
        body = {"scaleTargetRef": {"apiVersion": self._draw.one(["apps/v1", "v1"]), "kind": kind, "name": self.name}}
        return f"aim at a {kind}", self._replace(**body)

    def aim_back(self) -> Operation:
        return "aim at the Deployment", self._replace(scaleTargetRef=self.autoscaler["spec"]["scaleTargetRef"])

    def make_anew(self) -> Operation:
        gone = {"delete": {"kind": "HorizontalPodAutoscaler", "name": "h"}}
        return "make the autoscaler anew", [gone, {"sleep": 3}, {"create": self.autoscaler}]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.load, 8),
            (self.lengthen, 4),
            (self.serve, 6),
            (self.fail, 1),
            (self.unready, 1),
            (self.bound, 2),
            (self.change_metrics, 3),
            (self.behave, 2),
            (self.scale, 2),
            (self.lose, 1),
            (self.aim, 1),
            (self.aim_back, 2),
            (self.make_anew, 1),
        ]
