"""Kinds that hold data, or stand for a part of the cluster."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import forbidden, immutable, invalid, not_supported, required, too_long
from kinformer.envtest.strategy.container_checks import check_quantity
from kinformer.envtest.strategy.metadata import path_segment
from kinformer.envtest.strategy.podspec import default_volume
from kinformer.meta.quantity import Quantity
from kinformer.meta.validation import dns1123_label_errors, label_key_errors, regex_error

__all__ = (
    "ConfigMapStrategy",
    "LeaseStrategy",
    "NamespaceStrategy",
    "NodeStrategy",
    "PriorityClassStrategy",
    "ResourceQuotaStrategy",
    "RoleStrategy",
    "SecretStrategy",
    "ServiceAccountStrategy",
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


_DATA_LIMIT = 1024 * 1024
_DATA_KEY = "[-._a-zA-Z0-9]+"
_is_data_key = re.compile(_DATA_KEY).fullmatch


def _check_keys(data: Mapping[str, str], path: str) -> Iterator[Cause]:
    for key in sorted(data):
        if len(key) > 253:
            yield invalid(f"{path}[{key}]", key, "must be no more than 253 bytes")
        if not _is_data_key(key):
            told = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
            yield invalid(f"{path}[{key}]", key, regex_error(told, _DATA_KEY, "key.name", "KEY_NAME", "key-name"))
        elif key in (".", ".."):
            yield invalid(f"{path}[{key}]", key, f"must not be '{key}'")
        elif key.startswith(".."):
            yield invalid(f"{path}[{key}]", key, "must not start with '..'")


def _check_immutable(obj: Obj, old: Obj, *names: str) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    text = "field is immutable when `immutable` is set"
    if not obj.get("immutable"):
        yield forbidden("immutable", text)
    for name in names:
        if (obj.get(name) or {}) != (old.get(name) or {}):
            yield forbidden(name, text)


class ConfigMapStrategy(Strategy):
    checks_metadata_again = True

    def validate(self, obj: Obj) -> list[Cause]:
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        causes = [*_check_keys(data, "data"), *_check_keys(binary, "binaryData")]
        causes += [
            invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
            for key in sorted(data)
            if key in binary
        ]
        size = sum(len(text.encode()) for text in data.values()) + sum(len(text) * 3 // 4 for text in binary.values())
        if size > _DATA_LIMIT:
            causes.append(too_long("[]", _DATA_LIMIT)._replace(field=""))
        return causes

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return list(_check_immutable(obj, old, "data", "binaryData"))


_SECRET_KEYS: dict[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


class SecretStrategy(Strategy):
    checks_metadata_again = True
    selectable: ClassVar[dict[str, str]] = {"type": ""}

    def validate(self, obj: Obj) -> list[Cause]:
        data = obj.get("data") or {}
        causes = list(_check_keys(data, "data"))
        if sum(len(text) * 3 // 4 for text in data.values()) > _DATA_LIMIT:
            causes.append(too_long("data", _DATA_LIMIT))
        causes += [required(f"data[{key}]") for key in _SECRET_KEYS.get(obj.get("type", ""), ()) if key not in data]
        if obj.get("type") == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
            causes += [required("data[username]"), required("data[password]")]
        if obj.get("type") == "kubernetes.io/service-account-token":
            name = "kubernetes.io/service-account.name"
            if not (obj["metadata"].get("annotations") or {}).get(name):
                causes.append(required(f"metadata.annotations[{name}]"))
        return causes

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return [*immutable(obj.get("type"), old.get("type"), "type"), *_check_immutable(obj, old, "data")]

    def default(self, obj: Obj) -> None:
        texts = obj.pop("stringData", None)
        if texts:
            data = obj.setdefault("data", {})
            for name, text in texts.items():
                data[name] = base64.b64encode(text.encode()).decode()
        if not obj.get("type"):
            obj["type"] = "Opaque"


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

    def validate(self, obj: Obj) -> list[Cause]:
        spec = obj["spec"]
        causes = [] if spec.get("accessModes") else [required("spec.accessModes")]
        capacity = spec.get("capacity") or {}
        if not capacity:
            causes.append(required("spec.capacity"))
        elif "storage" not in capacity or len(capacity) > 1:
            causes.append(not_supported("spec.capacity", capacity, ("storage",)))
        return causes


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

    def validate(self, obj: Obj) -> list[Cause]:
        spec = obj["spec"]
        causes = [] if spec.get("accessModes") else [required("spec.accessModes", "at least 1 access mode is required")]
        modes = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
        given = spec.get("accessModes") or ()
        causes += [not_supported("spec.accessModes", mode, modes) for mode in given if mode not in modes]
        storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
        field = "spec.resources[storage]"
        if storage is None:
            causes.append(required(field))
        elif Quantity.parse(storage).sign <= 0:
            causes.append(invalid(field, storage, "must be greater than zero"))
        return causes

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        def fixed(spec: Obj) -> Obj:
            return {key: value for key, value in spec.items() if key not in ("resources", "volumeName")}

        if fixed(obj["spec"]) != fixed(old["spec"]):
            text = (
                "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                "for bound claims"
            )
            return [forbidden("spec", text)]
        return []


def _protect(obj: Obj, finalizer: str) -> None:
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort"),
    *("PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"),
)
_EXISTS_ONLY = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity")
_POD_RESOURCES = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "pods")
_QUOTA_NAMES = frozenset(
    (
        *_POD_RESOURCES,
        *("services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"),
        *("services.nodeports", "services.loadbalancers", "requests.storage", "ephemeral-storage"),
        *("requests.ephemeral-storage", "limits.ephemeral-storage", "storage"),
    )
)
_SCOPE_PAIRS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


class ResourceQuotaStrategy(Strategy):
    returns_deleted = True

    def validate(self, obj: Obj) -> list[Cause]:
        spec = obj.get("spec") or {}
        hard = spec.get("hard") or {}
        causes: list[Cause] = []
        for name, amount in sorted(hard.items()):
            field = f"spec.hard[{name}]"
            wrong = label_key_errors(name)
            causes += [invalid(field, name, why) for why in wrong]
            if not wrong and "/" not in name and name not in _QUOTA_NAMES and not _is_huge_pages(name):
                causes.append(invalid(field, name, "must be a standard resource type or fully qualified"))
                causes.append(invalid(field, name, "must be a standard resource for quota"))
            causes += check_quantity(name, amount, field)
        causes += _check_scopes(spec.get("scopes") or [], hard)
        return [*causes, *_check_scope_selector(spec.get("scopeSelector") or {}, hard)]

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        mine, before = (one.get("spec", {}).get("scopes") or [] for one in (obj, old))
        return [] if set(mine) == set(before) else [invalid("spec.scopes", mine, "field is immutable")]


def _is_huge_pages(name: str) -> bool:
    return name.removeprefix("requests.").startswith("hugepages-")


def _check_scopes(scopes: list[str], hard: Obj) -> Iterator[Cause]:
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for name in sorted(hard):
            if name in _QUOTA_NAMES and not _fits(scope, name):
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for pair in _SCOPE_PAIRS:
        if set(pair) <= set(scopes):
            yield invalid("spec.scopes", scopes, "conflicting scopes")


def _fits(scope: str, name: str) -> bool:
    if scope == "BestEffort":
        return name == "pods"
    if scope in _SCOPES and scope != "VolumeAttributesClass":
        return name in _POD_RESOURCES or name.endswith("ephemeral-storage")
    return True


def _check_scope_selector(selector: Obj, hard: Obj) -> Iterator[Cause]:
    path = "spec.scopeSelector.matchExpressions"
    for index, one in enumerate(selector.get("matchExpressions") or ()):
        scope, operator = one.get("scopeName", ""), one.get("operator", "")
        values = one.get("values") or []
        if scope not in _SCOPES:
            yield invalid(f"{path}[{index}].scopeName", scope, "unsupported scope")
        if scope in _EXISTS_ONLY and operator != "Exists":
            text = (
                "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating"
            )
            text += ", ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
            text += "ResourceQuotaScopeCrossNamespacePodAffinity"
            yield invalid(f"{path}[{index}].operator", operator, text)
        if operator in ("In", "NotIn"):
            if not values:
                yield required(
                    f"{path}[{index}].values", "must be at least one value when `operator` is 'In' or 'NotIn'"
                )
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid(f"{path}[{index}].values", values, text)
        else:
            yield invalid(f"{path}[{index}].operator", operator, "not a valid selector operator")


class ServiceAccountStrategy(Strategy):
    returns_deleted = True
    checks_metadata_again = True


class LeaseStrategy(Strategy):
    allow_create_on_update = True
    allow_unconditional_update = False

    def validate(self, obj: Obj) -> list[Cause]:
        spec = obj.get("spec") or {}
        causes = []
        if (seconds := spec.get("leaseDurationSeconds")) is not None and seconds <= 0:
            causes.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        if (count := spec.get("leaseTransitions")) is not None and count < 0:
            causes.append(invalid("spec.leaseTransitions", count, "must be greater than or equal to 0"))
        return causes


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
