"""Volumes of a CSI driver on two or three nodes: pods come, go and move, drivers answer, nodes go away."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.daemons import node
from tests.golden.seeds.parts import Draw, Operation, Step, patch

__all__ = ("Attached",)

_DRIVER = "d.example.com"
_MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach"


class Attached:
    looks = ("VolumeAttachment", "Node", "Pod", "Event")
    controllers = ("persistentvolume-attach-detach-controller",)
    settle = 1.1
    settled = 4.0

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._nodes = ["a", "b", "c"][: draw.number(2, 3)]
        self._volumes = {name: draw.one(["ReadWriteOnce", "ReadWriteMany"]) for name in ("v", "w")}

    def begin(self) -> list[Step]:
        made: list[dict[str, Any]] = [self._node(letter) for letter in self._nodes]
        for name, mode in self._volumes.items():
            spec = {"accessModes": [mode], "storageClassName": ""}
            volume = {
                "capacity": {"storage": "1Gi"},
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "${ns}", "name": name},
                "csi": {"driver": _DRIVER, "volumeHandle": f"${{ns}}-{name}"},
            }
            metadata = {"name": f"${{ns}}-{name}", "labels": {"set": "${ns}"}}
            made.append({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec | volume})
            claim = {**spec, "volumeName": f"${{ns}}-{name}", "resources": {"requests": {"storage": "1Gi"}}}
            body = {"metadata": {"name": name}, "spec": claim}
            made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **body})
        if self._draw.chance(0.3):
            # Limits are the scheduler's business: pods that have a node are attached beyond them.
            driver = {"name": _DRIVER, "nodeID": "a", "allocatable": {"count": self._draw.number(0, 1)}}
            metadata = {"name": "${ns}-a", "labels": {"set": "${ns}"}}
            made.append(
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "CSINode",
                    "metadata": metadata,
                    "spec": {"drivers": [driver]},
                }
            )
        return [{"create": made}, {"settle": self.settle}]

    def _node(self, letter: str) -> dict[str, Any]:
        made = node(letter)
        if self._draw.chance(0.85):
            made["metadata"]["annotations"] = {_MANAGED: "true"}
        return made

    def _letter(self) -> str:
        return self._draw.one(self._nodes)

    def _some(self) -> list[str]:
        return self._draw.one([["v"], ["w"], ["v", "w"]])

    def _pod(self, name: str) -> dict[str, Any]:
        volumes = [{"name": it, "persistentVolumeClaim": {"claimName": it}} for it in self._some()]
        spec = {
            "nodeName": f"${{ns}}-{self._letter()}",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
            "volumes": volumes,
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}

    def run(self) -> Operation:
        pod = self._pod(self._draw.one(["p", "q", "r"]))
        return f"run {pod['metadata']['name']} on {pod['spec']['nodeName'][-1]}", [{"create": pod}]

    def end(self) -> Operation:
        name = self._draw.one(["p", "q", "r"])
        return f"delete {name}", [self._gone(name)]

    def _gone(self, name: str) -> Step:
        return {"delete": {"kind": "Pod", "name": name, "options": {"gracePeriodSeconds": 0}}}

    def move(self) -> Operation:
        pod = self._pod(self._draw.one(["p", "q", "r"]))
        name = pod["metadata"]["name"]
        return f"move {name} to {pod['spec']['nodeName'][-1]}", [self._gone(name), {"create": pod}]

    def succeed(self) -> Operation:
        name = self._draw.one(["p", "q", "r"])
        return f"{name} succeeds", [patch("Pod", name, {"status": {"phase": "Succeeded"}}, subresource="status")]

    def answer(self) -> Operation:
        return "the driver attaches", [{"attach": {}}]

    def refuse(self) -> Operation:
        return "the driver refuses", [{"attach": {"error": "no slot is free"}}]

    def use(self) -> Operation:
        letter, names = self._letter(), self._draw.one([[], [], ["v"], ["w"], ["v", "w"]])
        used = [f"kubernetes.io/csi/{_DRIVER}^${{ns}}-{name}" for name in names]
        body = {"status": {"volumesInUse": used or None}}
        return f"{letter} uses {names}", [patch("Node", f"${{ns}}-{letter}", body, subresource="status")]

    def turn(self) -> Operation:
        letter, status = self._letter(), self._draw.one(["True", "False", "Unknown"])
        condition = {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        body = {"status": {"conditions": [condition]}}
        return f"{letter} Ready={status}", [patch("Node", f"${{ns}}-{letter}", body, "strategic", "status")]

    def shut_down(self) -> Operation:
        letter = self._letter()
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}
        taints = self._draw.one([[], [taint]])
        return f"{letter} out of service: {bool(taints)}", [
            patch("Node", f"${{ns}}-{letter}", {"spec": {"taints": taints}})
        ]

    def manage(self) -> Operation:
        letter, value = self._letter(), self._draw.one(["true", None])
        body = {"metadata": {"annotations": {_MANAGED: value}}}
        return f"{letter} managed: {value}", [patch("Node", f"${{ns}}-{letter}", body)]

    def delete_node(self) -> Operation:
        letter = self._letter()
        return f"delete node {letter}", [{"delete": {"kind": "Node", "name": f"${{ns}}-{letter}"}}]

    def add_node(self) -> Operation:
        letter = self._letter()
        return f"add node {letter}", [{"ensure": self._node(letter)}]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.run, 8),
            (self.end, 4),
            (self.move, 4),
            (self.succeed, 1),
            (self.answer, 8),
            (self.refuse, 1),
            (self.use, 4),
            (self.turn, 2),
            (self.shut_down, 1),
            (self.manage, 1),
            (self.delete_node, 1),
            (self.add_node, 2),
        ]
