"""StatefulSets with claims and partitions: what a user does to them at random."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import Draw, Operation, Step
from tests.golden.seeds.rolled import Rolled

__all__ = ("StatefulSet",)


class StatefulSet(Rolled):
    kind = "StatefulSet"

    def __init__(self, draw: Draw, name: str) -> None:
        super().__init__(draw, name)
        self.looks = ["StatefulSet", "ControllerRevision"]
        spec: dict[str, Any] = {
            "serviceName": name,
            "replicas": draw.weighted([(0, 1), (1, 3), (2, 4), (3, 4)]),
            "selector": {"matchLabels": {"app": name}},
            "template": self._templates[0],
            "podManagementPolicy": draw.weighted([("OrderedReady", 3), ("Parallel", 1)]),
            "updateStrategy": self._strategy(),
        }
        self._has_claims = draw.chance(0.5)
        self._has_volumes = self._has_claims and draw.chance(0.4) and spec["podManagementPolicy"] == "OrderedReady"
        if self._has_claims:
            self.looks.append("PersistentVolumeClaim")
            claim: dict[str, Any] = {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "${ns}",
            }
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
            if draw.chance(0.6):
                spec["persistentVolumeClaimRetentionPolicy"] = self._retention()
        if draw.chance(0.2):
            spec["ordinals"] = {"start": draw.number(1, 3)}
        if draw.chance(0.2):
            spec["minReadySeconds"] = 3600
        if draw.chance(0.3):
            spec["revisionHistoryLimit"] = draw.number(0, 1)
        self.object = {"apiVersion": "apps/v1", "kind": self.kind, "metadata": {"name": name}, "spec": spec}

    def before(self) -> list[dict[str, Any]]:
        """Volumes of different sizes, so that it is clear which claim gets which."""
        if not self._has_volumes:
            return []
        self.looks.append("PersistentVolume")
        return [
            {
                "ensure": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolume",
                    "metadata": {"name": f"${{ns}}-{size}", "labels": {"set": "${ns}"}},
                    "spec": {
                        "capacity": {"storage": f"{size}Gi"},
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": "${ns}",
                        "hostPath": {"path": "/x"},
                        "persistentVolumeReclaimPolicy": "Retain",
                    },
                }
            }
            for size in (1, 2, 3)
        ]

    def _strategy(self) -> dict[str, Any]:
        if self._draw.chance(0.2):
            return {"type": "OnDelete"}
        return {"type": "RollingUpdate", "rollingUpdate": {"partition": self._draw.weighted([(0, 3), (1, 1), (2, 1)])}}

    def _retention(self) -> dict[str, str]:
        policies = ["Retain", "Delete"]
        return {"whenDeleted": self._draw.one(policies), "whenScaled": self._draw.one(policies)}

    def scale(self) -> Operation:
        replicas = self._draw.weighted([(0, 1), (1, 2), (2, 2), (3, 2), (4, 1)])
        return f"scale to {replicas}", self._patch({"replicas": replicas})

    def partition(self) -> Operation:
        partition = self._draw.number(0, 3)
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
        return f"partition {partition}", self._replace("/spec/updateStrategy", strategy)

    def retain(self) -> Operation:
        return "change the retention of claims", self._patch(
            {"persistentVolumeClaimRetentionPolicy": self._retention()}
        )

    def delete_a_claim(self) -> Operation:
        first = {"kind": "PersistentVolumeClaim", "selector": self.selector, "by": "", "options": {}}
        return "delete a claim", [{"delete_first": first}]

    def shift_ordinals(self) -> Operation:
        return "change the first ordinal", self._patch({"ordinals": {"start": self._draw.number(0, 3)}})

    def make_anew(self, *before: Step) -> Operation:
        return super().make_anew(*before, {"each_pod": {"do": "end", "selector": self.selector, "count": 9}})

    def operations(self) -> list[tuple[Any, int]]:
        every = [
            (self.roll, 5),
            (self.roll_back, 3),
            (self.scale, 5),
            (self.restrategise, 1),
            (self.partition, 3),
            (self.limit_history, 1),
            (self.shift_ordinals, 1),
            (self.make_anew, 1),
        ]
        return [*every, (self.retain, 2), (self.delete_a_claim, 2)] if self._has_claims else every
