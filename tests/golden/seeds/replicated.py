"""Deployments, ReplicaSets and ReplicationControllers: what a user does to them at random."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import Draw, Operation, patch
from tests.golden.seeds.rolled import Rolled

__all__ = ("Deployment", "ReplicaSet")

_LIMITS = (0, 1, 2, "25%", "50%", "100%")


class Deployment(Rolled):
    kind = "Deployment"
    strategy_path = "/spec/strategy"
    looks: tuple[str, ...] = ("Deployment", "ReplicaSet")

    def __init__(self, draw: Draw, name: str) -> None:
        super().__init__(draw, name)
        spec: dict[str, Any] = {
            "replicas": draw.weighted([(0, 1), (1, 2), (2, 4), (3, 4), (4, 3)]),
            "selector": {"matchLabels": {"app": name}},
            "template": self._templates[0],
            "strategy": self._strategy(),
        }
        if draw.chance(0.3):
            spec["revisionHistoryLimit"] = draw.number(0, 2)
        if draw.chance(0.3):
            spec["minReadySeconds"] = 3600
        if draw.chance(0.2):
            spec["paused"] = True
        self.object = {"apiVersion": "apps/v1", "kind": self.kind, "metadata": {"name": name}, "spec": spec}

    def _strategy(self) -> dict[str, Any]:
        if self._draw.chance(0.2):
            return {"type": "Recreate"}
        surge, unavailable = self._draw.one(_LIMITS), self._draw.one(_LIMITS)
        if surge in (0, "0%") and unavailable in (0, "0%"):
            surge = 1
        return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}

    def scale(self) -> Operation:
        replicas = self._draw.weighted([(0, 1), (1, 2), (2, 2), (3, 2), (4, 2), (5, 1), (6, 1)])
        return f"scale to {replicas}", self._patch({"replicas": replicas})

    def pause(self) -> Operation:
        return "pause", self._patch({"paused": True})

    def resume(self) -> Operation:
        return "resume", self._patch({"paused": False})

    def annotate(self) -> Operation:
        note = {"metadata": {"annotations": {"note": self._draw.one(["a", "<&>", None])}}}
        return "annotate", [patch(self.kind, self.name, note)]

    def scale_a_replica_set(self) -> Operation:
        replicas = self._draw.number(0, 3)
        first = {"kind": "ReplicaSet", "selector": self.selector, "by": "deployment.kubernetes.io/revision"}
        return "scale a ReplicaSet", [{"patch_first": {**first, "body": {"spec": {"replicas": replicas}}}}]

    def delete_a_replica_set(self) -> Operation:
        first = {"kind": "ReplicaSet", "selector": self.selector, "by": "deployment.kubernetes.io/revision"}
        policy = self._draw.one(["Background", "Foreground"])
        return "delete a ReplicaSet", [{"delete_first": {**first, "options": {"propagationPolicy": policy}}}]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.roll, 5),
            (self.roll_back, 3),
            (self.scale, 4),
            (self.pause, 1),
            (self.resume, 2),
            (self.restrategise, 2),
            (self.limit_history, 1),
            (self.annotate, 1),
            (self.scale_a_replica_set, 1),
            (self.delete_a_replica_set, 1),
            (self.make_anew, 1),
        ]


class ReplicaSet(Deployment):
    """A ReplicaSet, or a ReplicationController, that no Deployment owns."""

    def __init__(self, draw: Draw, name: str) -> None:
        super().__init__(draw, name)
        self.kind = draw.one(["ReplicaSet", "ReplicationController"])
        self.looks = (self.kind,)
        spec: dict[str, Any] = {
            "replicas": draw.weighted([(0, 1), (1, 2), (2, 4), (3, 4), (4, 3)]),
            "template": self._templates[0],
        }
        spec["selector"] = {"matchLabels": {"app": name}} if self.kind == "ReplicaSet" else {"app": name}
        if draw.chance(0.3):
            spec["minReadySeconds"] = 3600
        version = "apps/v1" if self.kind == "ReplicaSet" else "v1"
        self.object = {"apiVersion": version, "kind": self.kind, "metadata": {"name": name}, "spec": spec}

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.roll, 1), (self.scale, 4), (self.annotate, 1), (self.make_anew, 2)]
