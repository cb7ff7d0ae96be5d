"""Persistent volumes and claims, storage classes, and the drivers of storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import (
    check_label_selector,
    check_names,
    check_token_lifetime,
    duplicate,
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
)
from kinformer.meta.quantity import Quantity
from kinformer.meta.validation import dns1123_subdomain_errors, label_key_errors

__all__ = (
    "AttachmentStrategy",
    "AttributesClassStrategy",
    "ClaimStrategy",
    "ClassStrategy",
    "DriverStrategy",
    "NodeDriversStrategy",
    "StorageCapacityStrategy",
    "VolumeStrategy",
)

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_RECLAIM = ("Delete", "Recycle", "Retain")
#: The fields of a volume's spec that are not its source.
_NOT_A_SOURCE = frozenset(
    (
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"),
        *("storageClassName", "volumeAttributesClassName", "volumeMode"),
    )
)
_REQUIRED_IN_SOURCE = {
    "hostPath": ("path",),
    "nfs": ("server", "path"),
    "csi": ("driver", "volumeHandle"),
    "local": ("path",),
}
_POSITIVE = "must be greater than zero"


def _protect(obj: Obj, finalizer: str) -> None:
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


def _check_modes(modes: Sequence[str], field: str) -> Iterator[Cause]:
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(field, mode, _ACCESS_MODES)
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield forbidden(field, "may not use ReadWriteOncePod with other access modes")


def _check_volume(spec: Obj) -> Iterator[Cause]:
    if not spec.get("accessModes"):
        yield required("spec.accessModes")
    yield from _check_modes(spec.get("accessModes") or (), "spec.accessModes")
    capacity = spec.get("capacity") or {}
    if not capacity:
        yield required("spec.capacity")
    if "storage" not in capacity or len(capacity) > 1:
        yield not_supported("spec.capacity", capacity, ("storage",))
    for name, amount in sorted(capacity.items()):
        sign = Quantity.parse(amount).sign
        if sign < 0:
            yield invalid(f"spec.capacity[{name}]", amount, "must be a valid resource quantity")
        if sign <= 0:
            yield invalid(f"spec.capacity[{name}]", amount, _POSITIVE)
    if (policy := spec.get("persistentVolumeReclaimPolicy")) not in (None, *_RECLAIM):
        yield not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    affinity = spec.get("nodeAffinity")
    if affinity is not None and affinity.get("required") is None:
        yield required("spec.nodeAffinity.required", "must specify required node constraints")
    yield from _check_source(_source(spec), affinity is not None)
    if name := spec.get("storageClassName"):
        yield from check_names(name, "spec.storageClassName", dns1123_subdomain_errors)
    if (mode := spec.get("volumeMode")) not in (None, *_VOLUME_MODES):
        yield not_supported("spec.volumeMode", mode, _VOLUME_MODES)


class VolumeStrategy(Strategy):
    check_spec = staticmethod(_check_volume)

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        obj["status"]["lastPhaseTransitionTime"] = obj["metadata"]["creationTimestamp"]
        _protect(obj, "kubernetes.io/pv-protection")

    def initial_status(self, obj: Obj) -> Obj:
        return {"phase": "Pending"}

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        spec, before = obj["spec"], old["spec"]
        causes = []
        if _source(spec) != _source(before):
            text = "spec.persistentvolumesource is immutable after creation"
            causes.append(forbidden("spec.persistentvolumesource", text))
        causes += immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
        if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
            causes.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
        return causes


def _source(spec: Obj) -> Obj:
    return {name: value for name, value in spec.items() if name not in _NOT_A_SOURCE}


def _check_source(source: Obj, has_affinity: bool) -> Iterator[Cause]:
    if not source:
        yield required("spec", "must specify a volume type")
    for kind in [*source][1:]:
        yield forbidden(f"spec.{kind}", "may not specify more than 1 volume type")
    for kind in [*source][:1]:
        value: Any = source[kind]
        for name in _REQUIRED_IN_SOURCE.get(kind, ()):
            if not value.get(name):
                yield required(f"spec.{kind}.{name}")
        if kind in ("hostPath", "local") and ".." in value.get("path", "").split("/"):
            yield invalid(f"spec.{kind}.path", value["path"], "must not contain '..'")
        if kind == "nfs" and not value.get("path", "").startswith("/"):
            yield invalid("spec.nfs.path", value.get("path", ""), "must be an absolute path")
        if kind == "local" and not has_affinity:
            yield required("spec.nodeAffinity", "Local volume requires node affinity")


def _check_claim(spec: Obj) -> Iterator[Cause]:
    if not spec.get("accessModes"):
        yield required("spec.accessModes", "at least 1 access mode is required")
    yield from check_label_selector(spec.get("selector"), "spec.selector")
    yield from _check_modes(spec.get("accessModes") or (), "spec.accessModes")
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        yield required("spec.resources[storage]")
    elif Quantity.parse(storage).sign <= 0:
        yield invalid("spec.resources[storage]", storage, _POSITIVE)
    if name := spec.get("storageClassName"):
        yield from check_names(name, "spec.storageClassName", dns1123_subdomain_errors)
    if (mode := spec.get("volumeMode")) not in (None, *_VOLUME_MODES):
        yield not_supported("spec.volumeMode", mode, _VOLUME_MODES)
    for field in ("dataSource", "dataSourceRef"):
        if (source := spec.get(field)) is None:
            continue
        for part in ("name", "kind"):
            if not source.get(part):
                yield required(f"spec.{field}.{part}")
        if not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
            text = f"must be 'PersistentVolumeClaim' when referencing the default apiGroup (got {source.get('kind')})"
            yield invalid(f"spec.{field}", source.get("kind", ""), text)


class ClaimStrategy(Strategy):
    check_spec = staticmethod(_check_claim)

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        _one_source(obj["spec"])
        _protect(obj, "kubernetes.io/pvc-protection")

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        _one_source(obj["spec"])

    def initial_status(self, obj: Obj) -> Obj:
        return {"phase": "Pending"}

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return list(_check_claim_update(obj, old))


def _one_source(spec: Obj) -> None:
    """
    ``dataSource`` is the older name of a ``dataSourceRef`` in the same namespace. If one is missing, it is set from the
    other.
    """
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = {**source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: reference.get(name) for name in ("apiGroup", "kind", "name")}


def _check_claim_update(obj: Obj, old: Obj) -> Iterator[Cause]:
    spec, before = obj["spec"], old["spec"]
    bound = (obj.get("status") or {}).get("phase") == "Bound"

    def fixed(one: Obj) -> Obj:
        kept = {**one}
        if not before.get("volumeName"):
            kept.pop("volumeName", None)
        if before.get("storageClassName") is None:
            kept.pop("storageClassName", None)
        if bound:
            kept.pop("volumeAttributesClassName", None)
            resources = kept.get("resources") or {}
            requests = {name: amount for name, amount in (resources.get("requests") or {}).items() if name != "storage"}
            kept["resources"] = {**resources, "requests": requests}
        return kept

    if fixed(spec) != fixed(before):
        text = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        yield forbidden("spec", text)
    wanted, had = _storage(spec.get("resources"), "requests"), _storage(before.get("resources"), "requests")
    if wanted < had and wanted <= _storage(old.get("status"), "capacity"):
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")


def _storage(of: Any, name: str) -> Quantity:
    return Quantity.parse(((of or {}).get(name) or {}).get("storage", "0"))


class ClassStrategy(Strategy):
    """How storage classes are written."""

    def validate(self, obj: Obj) -> list[Cause]:
        causes: list[Cause] = []
        provisioner = obj.get("provisioner", "")
        if not provisioner:
            causes.append(required("provisioner"))
        if provisioner:
            causes += check_names(provisioner.lower(), "provisioner", label_key_errors)
        if "" in (obj.get("parameters") or {}):
            causes.append(invalid("parameters", "", "field can not be empty."))
        if (policy := obj.get("reclaimPolicy")) and policy not in ("Delete", "Retain"):
            causes.append(not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
        modes = ("Immediate", "WaitForFirstConsumer")
        if (mode := obj.get("volumeBindingMode")) not in modes:
            causes.append(not_supported("volumeBindingMode", mode, modes))
        return causes


class AttributesClassStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        causes = [] if obj.get("driverName") else [required("driverName")]
        if not obj.get("parameters"):
            causes.append(required("parameters", "must contain at least one key/value pair"))
        return causes


def _check_driver(spec: Obj) -> Iterator[Cause]:
    policies = ("File", "None", "ReadWriteOnceWithFSType")
    if (policy := spec.get("fsGroupPolicy")) not in policies:
        yield not_supported("spec.fsGroupPolicy", policy, policies)
    audiences: set[str] = set()
    for index, request in enumerate(spec.get("tokenRequests") or ()):
        path = f"spec.tokenRequests[{index}]"
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in audiences:
            yield duplicate(f"{path}.audience", audience)
            continue
        audiences.add(audience)
        if seconds is not None:
            yield from check_token_lifetime(seconds, f"{path}.expirationSeconds")
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in ("Persistent", "Ephemeral"):
            yield not_supported("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral"))


class DriverStrategy(Strategy):
    check_spec = staticmethod(_check_driver)

    def prepare_for_create(self, obj: Obj) -> None:
        """Do not set the generation. It counts changes, and a driver that was never changed has none."""

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        spec, before = obj["spec"], old["spec"]
        fixed = (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes"))
        return [c for name, told in fixed for c in immutable(spec.get(name), before.get(name), f"spec.{told}")]


class NodeDriversStrategy(Strategy):
    """How CSINodes are written. A CSINode lists the drivers of a node."""

    def validate(self, obj: Obj) -> list[Cause]:
        causes: list[Cause] = []
        names: set[str] = set()
        for index, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
            path = f"spec.drivers[{index}]"
            name = driver.get("name", "")
            causes += (
                check_names(name, f"{path}.name", dns1123_subdomain_errors) if name else [required(f"{path}.name")]
            )
            if not driver.get("nodeID"):
                causes.append(required(f"{path}.nodeID"))
            if name in names:
                causes.append(duplicate(f"{path}.name", name))
            names.add(name)
        return causes


class StorageCapacityStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        return [] if obj.get("storageClassName") else [required("storageClassName")]


class AttachmentStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        spec = obj.get("spec") or {}
        causes: list[Cause] = [] if spec.get("attacher") else [required("spec.attacher")]
        source = spec.get("source") or {}
        if len(source) != 1:
            text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
            causes.append(forbidden("spec.source", text) if source else required("spec.source", text))
        elif source.get("persistentVolumeName") == "":
            text = "must specify non empty persistentVolumeName"
            causes.append(required("spec.source.persistentVolumeName", text))
        return [*causes, *check_names(spec.get("nodeName", ""), "spec.nodeName", dns1123_subdomain_errors)]
