"""Claims of devices: from templates and by name, allocated and reserved as a scheduler does, and given back."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.daemons import node
from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch

__all__ = ("Devices",)

_VERSION = "resource.k8s.io/v1"
_PODS, _CLAIMS, _TEMPLATES = ("p", "q", "r"), ("c", "d"), ("t", "u")
_FINALIZER = "resource.kubernetes.io/delete-protection"


class Devices:
    looks = ("ResourceClaim", "Pod", "Event")
    controllers = ("resourceclaim-controller",)
    settle = 1.2
    settled = 3.0
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def begin(self) -> list[Step]:
        made = [self._template(name) for name in _TEMPLATES if self._draw.chance(0.7)]
        return [{"create": [node("a"), *made]}, *self.claim()[1], *self.run()[1]]

    def _spec(self) -> dict[str, Any]:
        exactly = {"deviceClassName": "x", "count": self._draw.number(1, 2)}
        return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}

    def _template(self, name: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        if self._draw.chance(0.5):
            metadata = {"labels": {"x": "y"}, "annotations": {"note": "<&>"}}
        spec = {"metadata": metadata, "spec": self._spec()}
        return {"apiVersion": _VERSION, "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}

    def _pod(self, name: str) -> dict[str, Any]:
        claims: list[dict[str, Any]] = []
        for of_pod in ("one", "two")[: self._draw.number(0, 2)]:
            which = {"resourceClaimTemplateName": self._draw.one(_TEMPLATES)}
            if self._draw.chance(0.5):
                which = {"resourceClaimName": self._draw.one(_CLAIMS)}
            claims.append({"name": of_pod, **which})
        used = {"claims": [{"name": each["name"]} for each in claims]}
        spec: dict[str, Any] = {
            "containers": [{"name": "c", "image": "i", "resources": used if claims else {}}],
            "resourceClaims": claims,
            "terminationGracePeriodSeconds": self._draw.one([0, 30]),
            "restartPolicy": self._draw.one(["Never", "Always"]),
        }
        if self._draw.chance(0.3):
            spec["nodeName"] = "${ns}-a"
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "w"}}, "spec": spec}

    def run(self) -> Operation:
        name = self._draw.one(_PODS)
        return f"run {name}", [{"create": self._pod(name)}, {"settle": self.settle}]

    def template(self) -> Operation:
        name = self._draw.one(_TEMPLATES)
        if self._draw.chance(0.3):
            return f"delete template {name}", [delete("ResourceClaimTemplate", name)]
        return f"make template {name}", [{"create": self._template(name)}, {"settle": self.settle}]

    def claim(self) -> Operation:
        name = self._draw.one(_CLAIMS)
        metadata: dict[str, Any] = {"name": name}
        if self._draw.chance(0.2):
            metadata["finalizers"] = [_FINALIZER]
        made = {"apiVersion": _VERSION, "kind": "ResourceClaim", "metadata": metadata, "spec": self._spec()}
        return f"claim {name}", [{"create": made}]

    def allocate(self) -> Operation:
        return "allocate and reserve", [{"allocate": {"pod": self._draw.one(_PODS), "reserve": self._draw.chance(0.8)}}]

    def unreserve(self) -> Operation:
        name = self._draw.one(_CLAIMS)
        return f"nobody uses {name}", [
            patch("ResourceClaim", name, {"status": {"reservedFor": None}}, "merge", "status")
        ]

    def end(self) -> Operation:
        name, options = self._draw.one(_PODS), self._draw.one([{}, {"gracePeriodSeconds": 0}])
        return f"delete {name} {options}", [{"delete": {"kind": "Pod", "name": name, "options": options}}]

    def finish(self) -> Operation:
        name, phase = self._draw.one(_PODS), self._draw.one(["Succeeded", "Failed", "Running"])
        return f"{name}: {phase}", [patch("Pod", name, {"status": {"phase": phase}}, subresource="status")]

    def delete_claims(self) -> Operation:
        if self._draw.chance(0.5):
            return "delete all claims", [{"delete_each": {"kind": "ResourceClaim", "selector": ""}}]
        name = self._draw.one(_CLAIMS)
        return f"delete claim {name}", [delete("ResourceClaim", name)]

    def bind(self) -> Operation:
        return "bind a pod", [{"each_pod": {"do": "ready", "selector": "app=w", "count": 1}}]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.run, 7),
            (self.template, 3),
            (self.claim, 3),
            (self.allocate, 6),
            (self.unreserve, 1),
            (self.end, 4),
            (self.finish, 4),
            (self.delete_claims, 2),
            (self.bind, 2),
        ]
