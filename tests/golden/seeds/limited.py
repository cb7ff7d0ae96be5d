"""Quotas of every sort, and what they count: pods with deadlines and priorities, claims, Services, others."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.daemons import node
from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch

__all__ = ("Limited",)

_SCOPES = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort")
_CLASSES = ("system-cluster-critical", "system-node-critical")
_AMOUNTS = ("cpu", "memory", "requests.cpu", "limits.cpu", "requests.memory", "limits.memory", "ephemeral-storage")


class Limited:
    """
    The limits are high: what is refused depends on when a quota was counted, and on which of two is asked first.
    Amounts of memory have binary suffixes. With both sorts, the pod that Kubernetes adds first decides about the sum.

    A quota that was counted from an old cache is right again after the next period, which is five seconds here.
    """

    looks = ("ResourceQuota",)
    controllers = ("root-ca-cert-publisher",)
    settle = 1.1
    settled = 7.0
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def begin(self) -> list[Step]:
        limits = self._limit_range() if self._draw.chance(0.3) else []
        return [{"create": node("a")}, *limits, *(step for name in ("1", "2") for step in self._quota(name))]

    def _limit_range(self) -> list[Step]:
        item = {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m", "memory": "10Mi"}}
        limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [item]}}
        return [{"create": limits}, {"settle": self.settle}]

    def _quota(self, name: str) -> list[Step]:
        draw = self._draw
        spec: dict[str, Any] = {}
        of_pods = draw.chance(0.5)
        hard = self._of_pods() if of_pods else self._of_all()
        if of_pods and draw.chance(0.6):
            spec["scopes"] = [draw.one(_SCOPES)]
            if draw.chance(0.3):
                spec["scopes"] = [draw.one(_SCOPES[:2]), draw.one(_SCOPES[2:])]
            if "BestEffort" in spec["scopes"]:
                hard = {"pods": "20"}
        elif of_pods and draw.chance(0.6):
            operator = draw.one(["In", "NotIn", "Exists", "DoesNotExist"])
            term: dict[str, Any] = {"scopeName": "PriorityClass", "operator": operator}
            if operator in ("In", "NotIn"):
                term["values"] = [draw.one(_CLASSES)]
            spec["scopeSelector"] = {"matchExpressions": [term]}
            if operator == "Exists" and draw.chance(0.3):
                spec["scopeSelector"]["matchExpressions"] = [term | {"scopeName": "CrossNamespacePodAffinity"}]
        made = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard, **spec}}
        return [{"create": made}, {"settle": self.settle}]

    def _of_pods(self) -> dict[str, str]:
        hard = {"pods": self._draw.one(["20", "21"])}
        return hard | {
            self._draw.one(_AMOUNTS): self._draw.one(["100Gi", "200k"]) for _ in range(self._draw.number(0, 3))
        }

    def _of_all(self) -> dict[str, str]:
        objects = [
            *("count/configmaps", "count/secrets", "configmaps", "secrets", "services", "services.nodeports"),
            *("services.loadbalancers", "persistentvolumeclaims", "requests.storage", "count/deployments.apps"),
            *(
                "count/services",
                "count/pods",
                "count/persistentvolumeclaims",
                "resourcequotas",
                "count/leases.coordination.k8s.io",
            ),
            *("x.storageclass.storage.k8s.io/requests.storage", "x.storageclass.storage.k8s.io/persistentvolumeclaims"),
            *("count/jobs.batch", "count/unknown.example.com", "requests.example.com/gpu", "pods"),
        ]
        return {self._draw.one(objects): self._draw.one(["20Gi", "50"]) for _ in range(self._draw.number(2, 6))}

    def _pod(self, name: str) -> dict[str, Any]:
        draw = self._draw
        container: dict[str, Any] = {"name": "c", "image": "i"}
        if draw.chance(0.7):
            amounts = {"cpu": draw.one(["100m", "0.25", "1"]), "memory": draw.one(["64Mi", "1Gi", "1500Ki"])}
            if draw.chance(0.3):
                amounts["ephemeral-storage"] = "1Gi"
            if draw.chance(0.2):
                amounts["example.com/gpu"] = "1"
            container["resources"] = {"requests": amounts, "limits": amounts}
        spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": draw.one([0, 30])}
        if draw.chance(0.3):
            spec["initContainers"] = [{**container, "name": "first"}]
            if draw.chance(0.5):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        if draw.chance(0.25):
            spec["activeDeadlineSeconds"] = 86400
        if draw.chance(0.3):
            spec["priorityClassName"] = draw.one(_CLASSES)
        if draw.chance(0.15):
            spec["overhead"] = {"cpu": "10m"}
        if draw.chance(0.1):
            term = {"topologyKey": "zone", "labelSelector": {}, "namespaces": ["other"]}
            spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if draw.chance(0.6):
            spec["nodeName"] = "${ns}-a"
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}

    def _settled(self, *steps: Step) -> list[Step]:
        return [each for step in steps for each in (step, {"settle": self.settle})]

    def run(self) -> Operation:
        names = [self._draw.one("pqrst") for _ in range(3)]
        return f"run {names}", self._settled(*({"create": self._pod(name)} for name in dict.fromkeys(names)))

    def end(self) -> Operation:
        name, options = self._draw.one("pqrst"), self._draw.one([{}, {"gracePeriodSeconds": 0}])
        return f"delete {name} {options}", [{"delete": {"kind": "Pod", "name": name, "options": options}}]

    def finish(self) -> Operation:
        name, phase = self._draw.one("pqrst"), self._draw.one(["Succeeded", "Failed", "Running"])
        return f"{name}: {phase}", [patch("Pod", name, {"status": {"phase": phase}}, subresource="status")]

    def give_a_deadline(self) -> Operation:
        name = self._draw.one("pqrst")
        return f"a deadline for {name}", [patch("Pod", name, {"spec": {"activeDeadlineSeconds": 86000}})]

    def resize(self) -> Operation:
        name, cpu = self._draw.one("pqrst"), self._draw.one(["200m", "2"])
        amounts = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
        body = {"spec": {"containers": [{"name": "c", "resources": amounts}]}}
        return f"resize {name} to {cpu}", [patch("Pod", name, body, "strategic", "resize")]

    def make(self) -> Operation:
        draw, name = self._draw, self._draw.one("ab")
        kind = draw.one(["ConfigMap", "Secret", "Lease"])
        version = "coordination.k8s.io/v1" if kind == "Lease" else "v1"
        return f"make {kind} {name}", [{"create": {"apiVersion": version, "kind": kind, "metadata": {"name": name}}}]

    def unmake(self) -> Operation:
        kind, name = self._draw.one(["ConfigMap", "Secret", "Lease", "Service"]), self._draw.one("ab")
        return f"delete {kind} {name}", [delete(kind, name)]

    def serve(self) -> Operation:
        name, kind = self._draw.one("ab"), self._draw.one(["ClusterIP", "NodePort", "LoadBalancer"])
        ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}][: self._draw.number(1, 2)]
        spec: dict[str, Any] = {"type": kind, "ports": ports}
        if kind == "LoadBalancer" and self._draw.chance(0.4):
            spec["allocateLoadBalancerNodePorts"] = False
        if self._draw.chance(0.5):
            return f"service {name} is {kind}", [patch("Service", name, {"spec": spec})]
        return f"make service {name} {kind}", [
            {"create": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}}
        ]

    def claim(self) -> Operation:
        name, size = self._draw.one("ab"), self._draw.one(["1Gi", "1500M"])
        spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        if self._draw.chance(0.7):
            spec["storageClassName"] = self._draw.one(["x", ""])
        if self._draw.chance(0.3):
            return f"delete claim {name}", [delete("PersistentVolumeClaim", name)]
        made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        return f"claim {name} {size}", [{"create": made}]

    def limit(self) -> Operation:
        name = self._draw.one("123")
        if self._draw.chance(0.3):
            return f"delete quota {name}", [delete("ResourceQuota", name)]
        if self._draw.chance(0.5):
            return f"make quota {name}", self._quota(name)
        body = [{"op": "replace", "path": "/spec/hard", "value": self._draw.one([self._of_pods(), self._of_all(), {}])}]
        return f"change quota {name}", [patch("ResourceQuota", name, body, "json")]

    def forge(self) -> Operation:
        body = {"status": {"used": {"pods": "7", "services": "2"}, "hard": {"pods": "9"}}}
        return "write a wrong status", [patch("ResourceQuota", "1", body, subresource="status")]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.run, 8),
            (self.end, 3),
            (self.finish, 3),
            (self.give_a_deadline, 1),
            (self.resize, 2),
            (self.make, 3),
            (self.unmake, 2),
            (self.serve, 4),
            (self.claim, 3),
            (self.limit, 4),
            (self.forge, 1),
        ]
