"""DaemonSets on nodes that change: what a user and an administrator do at random."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import LONG_AGO, Draw, Operation, patch, template
from tests.golden.seeds.rolled import Rolled

__all__ = ("DaemonSet", "healthy_elsewhere", "node")

#: Seconds until the pods of a node that is gone are collected, as podgc's quarantine and period have it, and a bit.
_COLLECTED = 75


def node(letter: str, **of_spec: Any) -> dict[str, Any]:
    """A node that is ready, in a zone of its scenario: nodes of others must not decide how fast taints come."""
    name = f"${{ns}}-{letter}"
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": LONG_AGO}
    zone = {"topology.kubernetes.io/zone": "${ns}", "topology.kubernetes.io/region": "r"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"set": "${ns}", "kubernetes.io/hostname": name, **zone}},
        "spec": of_spec,
        "status": {"conditions": [ready]},
    }


def healthy_elsewhere() -> dict[str, Any]:
    """A node of no scenario, in a zone of its own: where no zone is healthy, no node is tainted for its health."""
    elsewhere = node("a")
    zone = {"topology.kubernetes.io/zone": "elsewhere", "topology.kubernetes.io/region": "r"}
    elsewhere["metadata"] = {"name": "elsewhere", "labels": zone}
    return elsewhere


class DaemonSet(Rolled):
    kind = "DaemonSet"
    looks = ("DaemonSet", "ControllerRevision")

    def __init__(self, draw: Draw, name: str) -> None:
        self._disk = draw.chance(0.3)
        self._tolerates = draw.chance(0.3)
        super().__init__(draw, name)
        spec: dict[str, Any] = {
            "selector": {"matchLabels": {"app": name}},
            "template": self._templates[0],
            "updateStrategy": self._strategy(),
        }
        if draw.chance(0.2):
            spec["minReadySeconds"] = 3600
        if draw.chance(0.3):
            spec["revisionHistoryLimit"] = draw.number(0, 1)
        self._nodes = ["b", "c"]
        self.object = {"apiVersion": "apps/v1", "kind": self.kind, "metadata": {"name": name}, "spec": spec}

    def before(self) -> list[dict[str, Any]]:
        return [{"ensure": [node(letter) for letter in self._nodes]}]

    def _template(self) -> dict[str, Any]:
        selector = {"set": "${ns}"} | ({"disk": "ssd"} if self._disk else {})
        tolerations = [{"key": "dedicated", "operator": "Exists"}] if self._tolerates else []
        return template(self._draw, self.name, self._version, nodeSelector=selector, tolerations=tolerations)

    def _strategy(self) -> dict[str, Any]:
        if self._draw.chance(0.2):
            return {"type": "OnDelete"}
        if self._draw.chance(0.3):
            surge = self._draw.one([5, "80%", "100%"])
            return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 0}}
        # With less, the order in which a Go map is read decides whose pod is replaced first.
        unavailable = self._draw.one([5, 6, "80%", "100%"])
        return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": 0}}

    def select_disks(self) -> Operation:
        self._disk = not self._disk
        steps = self._roll()
        return f"select other nodes, {self._version}", steps

    def label_node(self) -> Operation:
        name, disk = self._node(), self._draw.one(["ssd", "ssd", "hdd", None])
        return f"label {name} disk={disk}", [patch("Node", name, {"metadata": {"labels": {"disk": disk}}})]

    def take_node_out(self) -> Operation:
        name, value = self._node(), self._draw.one(["${ns}", "another"])
        # The label decides whose the node is, also when all is removed: so it comes back with the next step.
        steps = [
            patch("Node", name, {"metadata": {"labels": {"set": value}}}),
            {"settle": 1.1},
            patch("Node", name, {"metadata": {"labels": {"set": "${ns}"}}}),
        ]
        return f"take {name} out and back", steps

    def taint_node(self) -> Operation:
        name = self._node()
        effect = self._draw.one(["NoSchedule", "NoExecute", "PreferNoSchedule"])
        taints = self._draw.one([[], [{"key": "dedicated", "value": "x", "effect": effect}]])
        return f"taint {name} {taints}", [patch("Node", name, {"spec": {"taints": taints}})]

    def cordon_node(self) -> Operation:
        name, cordoned = self._node(), self._draw.chance(0.5)
        return f"cordon {name}: {cordoned}", [patch("Node", name, {"spec": {"unschedulable": cordoned}})]

    def add_node(self) -> Operation:
        letter = self._draw.one(["d", "e"])
        if letter not in self._nodes:
            self._nodes.append(letter)
        return f"add node {letter}", [{"ensure": node(letter)}]

    def delete_node(self) -> Operation:
        name = self._node()
        # A node that goes is no reason to look at a DaemonSet, so that it is told.
        touch = patch(self.kind, self.name, {"metadata": {"annotations": {"touched": name}}})
        return f"delete {name}", [{"delete": {"kind": "Node", "name": name}}, {"sleep": _COLLECTED}, touch]

    def _node(self) -> str:
        return f"${{ns}}-{self._draw.one(self._nodes)}"

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.roll, 4),
            (self.roll_back, 3),
            (self.restrategise, 2),
            (self.select_disks, 1),
            (self.label_node, 3),
            (self.take_node_out, 1),
            (self.taint_node, 4),
            (self.cordon_node, 2),
            (self.add_node, 2),
            (self.delete_node, 1),
            (self.make_anew, 1),
        ]
