"""Volumes and claims that look for each other: by class, size, mode, label and reservation. Pods use claims."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.daemons import node
from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch

__all__ = ("Volumes",)

#: Never "": volumes without a class are for the claims of all seeds. The last one does not exist.
_CLASSES = ("${ns}-now", "${ns}-later", "${ns}-none")
_MODES = (["ReadWriteOnce"], ["ReadWriteMany"], ["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteOncePod"])
_VOLUMES, _CLAIMS, _PODS = ("1", "2", "3", "4"), ("d", "e", "f"), ("p", "q")


class Volumes:
    looks = ("PersistentVolume", "PersistentVolumeClaim", "Pod", "Event")
    controllers = ("ephemeral-volume", "persistentvolume-expander")
    settle = 2.5
    #: Claims that wait are looked at again every two seconds.
    settled = 5.0
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def begin(self) -> list[Step]:
        classes = [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": f"${{ns}}-{name}", "labels": {"set": "${ns}"}},
                "provisioner": "p.example.com" if name == "now" else "kubernetes.io/no-provisioner",
                "volumeBindingMode": "Immediate" if name == "now" else "WaitForFirstConsumer",
                "allowVolumeExpansion": self._draw.chance(0.6),
            }
            for name in ("now", "later")
        ]
        some = [each for name in _VOLUMES if self._draw.chance(0.5) for each in self._put("PersistentVolume", name)]
        return [{"create": [node("a"), *classes]}, {"settle": self.settle}, *some]

    def _volume(self, name: str) -> dict[str, Any]:
        draw = self._draw
        spec: dict[str, Any] = {
            "capacity": {"storage": draw.one(["1Gi", "2Gi", "3Gi", "4000M", "1024Mi"])},
            "accessModes": draw.one(_MODES),
            "storageClassName": draw.one(_CLASSES),
            "persistentVolumeReclaimPolicy": draw.weighted([("Retain", 3), ("Delete", 2)]),
            "csi": {"driver": "p.example.com", "volumeHandle": f"${{ns}}-{name}"},
        }
        if draw.chance(0.2):
            spec["volumeMode"] = "Block"
        if draw.chance(0.3):
            spec["claimRef"] = {
                "namespace": draw.weighted([("${ns}", 9), ("kube-public", 1)]),
                "name": draw.one(_CLAIMS),
            }
            if draw.chance(0.2):
                spec["claimRef"]["uid"] = "11111111-1111-4111-8111-111111111111"
        labels = {"set": "${ns}", "disk": draw.one(["fast", "slow"])}
        if draw.chance(0.15):
            term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        metadata: dict[str, Any] = {"name": f"${{ns}}-{name}", "labels": labels}
        if draw.chance(0.1):
            metadata["annotations"] = {"pv.kubernetes.io/provisioned-by": "p.example.com"}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}

    def _claim(self, name: str) -> dict[str, Any]:
        draw = self._draw
        spec: dict[str, Any] = {
            "accessModes": draw.one(_MODES),
            "resources": {"requests": {"storage": draw.one(["1", "1Gi", "1500Mi", "3Gi", "3500M"])}},
        }
        if draw.chance(0.9):
            spec["storageClassName"] = draw.one(_CLASSES)
        if draw.chance(0.2):
            spec["volumeMode"] = "Block"
        if draw.chance(0.25):
            spec["selector"] = draw.one(
                [
                    {"matchLabels": {"disk": "fast"}},
                    {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["fast"]}]},
                    {},
                ]
            )
        if draw.chance(0.25):
            spec["volumeName"] = f"${{ns}}-{draw.one([*_VOLUMES, 'nowhere'])}"
        metadata: dict[str, Any] = {"name": name}
        if draw.chance(0.12):
            metadata["annotations"] = draw.one(
                [
                    {"volume.beta.kubernetes.io/storage-class": draw.one(_CLASSES)},
                    {"volume.kubernetes.io/selected-node": "${ns}-a"},
                    {"pv.kubernetes.io/bind-completed": "yes"},
                ]
            )
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}

    def _put(self, kind: str, name: str) -> list[Step]:
        made = self._volume(name) if kind == "PersistentVolume" else self._claim(name)
        return [{"create": made}, {"settle": self.settle}]

    def add_volume(self) -> Operation:
        name = self._draw.one(_VOLUMES)
        return f"add volume {name}", self._put("PersistentVolume", name)

    def claim(self) -> Operation:
        name = self._draw.one(_CLAIMS)
        return f"claim {name}", self._put("PersistentVolumeClaim", name)

    def delete_volume(self) -> Operation:
        name = self._draw.one(_VOLUMES)
        return f"delete volume {name}", [delete("PersistentVolume", f"${{ns}}-{name}")]

    def delete_claim(self) -> Operation:
        name = self._draw.one(_CLAIMS)
        return f"delete claim {name}", [delete("PersistentVolumeClaim", name)]

    def use(self) -> Operation:
        name, claim = self._draw.one(_PODS), self._draw.one(_CLAIMS)
        volume: dict[str, Any] = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
        if self._draw.chance(0.25):
            spec = {**self._claim("v")["spec"]}
            volume = {
                "name": "v",
                "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"x": "y"}}, "spec": spec}},
            }
            claim = f"of its own, {name}-v"
        made: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
        made["terminationGracePeriodSeconds"] = 0
        if self._draw.chance(0.6):
            made["nodeName"] = "${ns}-a"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made}
        return f"pod {name} uses claim {claim}", [{"create": pod}]

    def select_node(self) -> Operation:
        name, value = self._draw.one(_CLAIMS), self._draw.weighted([("${ns}-a", 3), (None, 1)])
        body = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": value}}}
        return f"the node of claim {name}: {value}", [patch("PersistentVolumeClaim", name, body)]

    def end_pod(self) -> Operation:
        name = self._draw.one(_PODS)
        if self._draw.chance(0.4):
            phase = self._draw.one(["Succeeded", "Failed"])
            return f"pod {name}: {phase}", [patch("Pod", name, {"status": {"phase": phase}}, subresource="status")]
        options = {"gracePeriodSeconds": 0}
        return f"delete pod {name}", [{"delete": {"kind": "Pod", "name": name, "options": options}}]

    def grow(self) -> Operation:
        name, size = self._draw.one(_CLAIMS), self._draw.one(["2Gi", "5Gi"])
        body = {"spec": {"resources": {"requests": {"storage": size}}}}
        return f"claim {name} wants {size}", [patch("PersistentVolumeClaim", name, body)]

    def change_volume(self) -> Operation:
        name, draw = self._draw.one(_VOLUMES), self._draw
        spec: dict[str, Any] = draw.one(
            [
                {"claimRef": None},
                {"claimRef": {"uid": None, "resourceVersion": None}},
                {"claimRef": {"namespace": "${ns}", "name": draw.one(_CLAIMS), "apiVersion": None, "kind": None}},
                {"persistentVolumeReclaimPolicy": draw.one(["Retain", "Delete"])},
                {"capacity": {"storage": draw.one(["2Gi", "6Gi"])}},
                {"storageClassName": draw.one(_CLASSES)},
            ]
        )
        return f"change volume {name}: {spec}", [patch("PersistentVolume", f"${{ns}}-{name}", {"spec": spec})]

    def change_claim(self) -> Operation:
        name, draw = self._draw.one(_CLAIMS), self._draw
        body: dict[str, Any] = draw.one(
            [
                {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": None}}},
                {"metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": None}}},
                {"metadata": {"finalizers": None}},
                {"spec": {"storageClassName": draw.one(_CLASSES)}},
                {"spec": {"volumeName": f"${{ns}}-{draw.one(_VOLUMES)}"}},
            ]
        )
        return f"change claim {name}: {body}", [patch("PersistentVolumeClaim", name, body)]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.add_volume, 6),
            (self.claim, 7),
            (self.delete_volume, 2),
            (self.delete_claim, 4),
            (self.use, 3),
            (self.select_node, 2),
            (self.end_pod, 2),
            (self.grow, 2),
            (self.change_volume, 4),
            (self.change_claim, 2),
        ]
