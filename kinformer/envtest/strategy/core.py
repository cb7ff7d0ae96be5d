"""Kinds that hold data, or stand for a part of the cluster."""

from __future__ import annotations

import base64
from typing import ClassVar

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.metadata import path_segment, service_name
from kinformer.envtest.strategy.podspec import default_volume
from kinformer.meta.validation import dns1123_label_errors

__all__ = (
    "DefinitionStrategy",
    "EndpointSliceStrategy",
    "EndpointsStrategy",
    "EventStrategy",
    "LeaseStrategy",
    "NamespaceStrategy",
    "NodeStrategy",
    "PriorityClassStrategy",
    "ResourceQuotaStrategy",
    "RoleStrategy",
    "SecretStrategy",
    "ServiceStrategy",
    "VolumeClaimStrategy",
    "VolumeStrategy",
)


class NamespaceStrategy(Strategy):
    """A namespace goes when the last of its own finalizers (``spec.finalizers``) has been taken off it."""

    returns_deleted = True
    selectable: ClassVar[dict[str, str]] = {"status.phase": "", "name": ""}
    _label = "kubernetes.io/metadata.name"

    def default(self, obj: Obj) -> None:
        metadata = obj["metadata"]
        if name := metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), self._label: name}

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        self.default(obj)
        spec = obj.setdefault("spec", {})
        if "kubernetes" not in (finalizers := spec.get("finalizers") or []):
            spec["finalizers"] = [*finalizers, "kubernetes"]

    def initial_status(self, obj: Obj) -> Obj:
        return {"phase": "Active"}

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        obj["spec"] = {**obj.get("spec", {}), "finalizers": old.get("spec", {}).get("finalizers")}
        if not obj["spec"]["finalizers"]:
            del obj["spec"]["finalizers"]

    def validate_name(self, name: str) -> list[str]:
        return dns1123_label_errors(name)

    def begin_delete(self, obj: Obj, now: str) -> bool:
        if self.may_delete(obj):
            return False
        obj["metadata"].setdefault("deletionTimestamp", now)
        obj.setdefault("status", {})["phase"] = "Terminating"
        return True

    def may_delete(self, obj: Obj) -> bool:
        return not obj.get("spec", {}).get("finalizers")


class NodeStrategy(Strategy):
    selectable: ClassVar[dict[str, str]] = {"spec.unschedulable": "false"}

    def prepare_for_create(self, obj: Obj) -> None:
        status = obj.get("status")
        super().prepare_for_create(obj)
        if status:
            obj["status"] = status  # a kubelet registers its node with all that it knows
        spec = obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(taint.get("key") == "node.kubernetes.io/not-ready" for taint in taints):
            spec["taints"] = [*taints, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


class EventStrategy(Strategy):
    allow_create_on_update = True
    selectable: ClassVar[dict[str, str]] = {
        "involvedObject.kind": "",
        "involvedObject.namespace": "",
        "involvedObject.name": "",
        "involvedObject.uid": "",
        "involvedObject.apiVersion": "",
        "involvedObject.resourceVersion": "",
        "involvedObject.fieldPath": "",
        "reason": "",
        "reportingComponent": "",
        "source": "",
        "type": "",
    }

    def read_fields(self, obj: Obj) -> dict[str, str]:
        fields = super().read_fields(obj)
        fields["source"] = (obj.get("source") or {}).get("component") or obj.get("reportingComponent") or ""
        return fields


class SecretStrategy(Strategy):
    selectable: ClassVar[dict[str, str]] = {"type": ""}

    def default(self, obj: Obj) -> None:
        texts = obj.pop("stringData", None)
        if texts:
            data = obj.setdefault("data", {})
            for name, text in texts.items():
                data[name] = base64.b64encode(text.encode()).decode()
        if not obj.get("type"):
            obj["type"] = "Opaque"


class EndpointsStrategy(Strategy):
    allow_create_on_update = True

    def default(self, obj: Obj) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")

    def warnings(self, obj: Obj) -> list[str]:
        return ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]


class EndpointSliceStrategy(Strategy):
    has_generation = True

    def default(self, obj: Obj) -> None:
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def counts(self, obj: Obj, old: Obj) -> bool:
        mine, before = dict(obj), dict(old)
        mine.pop("metadata")
        before.pop("metadata")
        labels = obj["metadata"].get("labels") != old["metadata"].get("labels")
        return mine != before or labels


class VolumeStrategy(Strategy):
    returns_deleted = True
    _protection = "kubernetes.io/pv-protection"
    selectable: ClassVar[dict[str, str]] = {"name": ""}

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
        spec.setdefault("volumeMode", "Filesystem")
        if "hostPath" in spec:
            default_volume({"name": "", "hostPath": spec["hostPath"]})

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        obj["status"]["lastPhaseTransitionTime"] = obj["metadata"]["creationTimestamp"]
        _protect(obj, self._protection)

    def initial_status(self, obj: Obj) -> Obj:
        return {"phase": "Pending"}


class VolumeClaimStrategy(Strategy):
    returns_deleted = True
    _protection = "kubernetes.io/pvc-protection"
    selectable: ClassVar[dict[str, str]] = {"name": ""}

    def default(self, obj: Obj) -> None:
        obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        _protect(obj, self._protection)

    def initial_status(self, obj: Obj) -> Obj:
        return {"phase": "Pending"}


def _protect(obj: Obj, finalizer: str) -> None:
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


class ResourceQuotaStrategy(Strategy):
    returns_deleted = True


class ServiceStrategy(Strategy):
    allow_create_on_update = True
    returns_deleted = True
    selectable: ClassVar[dict[str, str]] = {"spec.clusterIP": "", "spec.type": ""}

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("sessionAffinity", "None")
        if not spec.get("type"):
            spec["type"] = "ClusterIP"
        kind = spec["type"]
        if spec["sessionAffinity"] == "ClientIP":
            client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
            client.setdefault("timeoutSeconds", 10800)
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if kind in ("NodePort", "LoadBalancer"):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def initial_status(self, obj: Obj) -> Obj:
        return {"loadBalancer": {}}

    def validate_name(self, name: str) -> list[str]:
        return service_name(name)


class LeaseStrategy(Strategy):
    allow_create_on_update = True
    allow_unconditional_update = False


class RoleStrategy(Strategy):
    allow_create_on_update = True

    def default(self, obj: Obj) -> None:
        if reference := obj.get("roleRef"):
            reference.setdefault("apiGroup", "rbac.authorization.k8s.io")
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", "rbac.authorization.k8s.io")

    def validate_name(self, name: str) -> list[str]:
        return path_segment(name)


class PriorityClassStrategy(Strategy):
    has_generation = True

    def default(self, obj: Obj) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def counts(self, obj: Obj, old: Obj) -> bool:
        return False


class DefinitionStrategy(Strategy):
    has_generation = True

    def validate(self, obj: Obj) -> list[Cause]:
        return []
