"""Kinds that hold data, and kinds that stand for a part of the cluster."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping

from kinformer.envtest.causes import duplicate, forbidden, immutable, invalid, required, too_long
from kinformer.envtest.datafiles import read_yaml
from kinformer.envtest.jsontext import BadJson, decode
from kinformer.envtest.registry import Resource
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy, with_fields
from kinformer.envtest.strategy.container_checks import check_quantity, check_resource_name
from kinformer.envtest.strategy.metadata import check_finalizer_names, validate_labels
from kinformer.envtest.strategy.pod_checks import PREEMPTION, TAINT_EFFECT, TOLERATIONS

__all__ = (
    "CHECK_RUNTIME_CLASS",
    "SYSTEM_CLASSES",
    "ConfigMapStrategy",
    "LeaseStrategy",
    "NamespaceStrategy",
    "NodeStrategy",
    "PriorityClassStrategy",
    "SecretStrategy",
)


class NamespaceStrategy(Strategy):
    """Namespaces. One is removed when its own finalizers (``spec.finalizers``) are all gone."""

    _label = "kubernetes.io/metadata.name"

    def default(self, obj: Obj) -> None:
        super().default(obj)
        metadata = obj["metadata"]
        if name := metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), self._label: name}

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        self.default(obj)
        spec = obj.setdefault("spec", {})
        if "kubernetes" not in (finalizers := spec.get("finalizers") or []):
            spec["finalizers"] = [*finalizers, "kubernetes"]

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        obj["spec"] = with_fields(obj.get("spec", {}), old.get("spec", {}), "finalizers")

    def validate(self, obj: Obj) -> list[Cause]:
        return [cause._replace(field="spec.finalizers") for _, cause in _finalizer_causes(obj)]

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        return []  # an update does not change the finalizers

    def validate_subresource(self, subresource: str, obj: Obj) -> list[Cause]:
        if subresource == "finalize":
            return [cause._replace(field=f"spec.finalizers[{index}]") for index, cause in _finalizer_causes(obj)]
        phase, ending = (obj.get("status") or {}).get("phase", ""), "deletionTimestamp" in obj["metadata"]
        wanted = "Terminating" if ending else "Active"
        if phase == wanted:
            return []
        text = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if ending else ''}empty"
        return [invalid("status.Phase", phase, text)]

    def begin_delete(self, obj: Obj, now: str) -> bool:
        if self.may_delete(obj):
            return False
        obj["metadata"].setdefault("deletionTimestamp", now)
        obj.setdefault("status", {})["phase"] = "Terminating"
        return True

    def may_delete(self, obj: Obj) -> bool:
        return not obj.get("spec", {}).get("finalizers")


def _finalizer_causes(namespace: Obj) -> Iterator[tuple[int, Cause]]:
    """The errors of a namespace's own finalizers, each with the finalizer's index."""
    for index, name in enumerate(namespace["spec"].get("finalizers") or ()):
        for cause in (*f.QUALIFIED_NAME(name, ""), *check_finalizer_names([name])):
            yield index, cause


class NodeStrategy(Strategy):
    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("podCIDR") and not spec.get("podCIDRs"):
            spec["podCIDRs"] = [spec["podCIDR"]]
        elif spec.get("podCIDRs") and not spec.get("podCIDR"):
            spec["podCIDR"] = spec["podCIDRs"][0]
        status = obj.get("status") or {}
        if status.get("capacity") and not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])

    def prepare_for_create(self, obj: Obj) -> None:
        status = obj.get("status")
        super().prepare_for_create(obj)
        if status:
            obj["status"] = status  # a kubelet registers its node with a complete status
        spec = obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(taint.get("key") == "node.kubernetes.io/not-ready" for taint in taints):
            spec["taints"] = [*taints, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]

    def validate(self, obj: Obj) -> list[Cause]:
        return list(_check_taints(obj["spec"].get("taints") or ()))

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        causes = []
        for name, told in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
            if before.get(name) and spec.get(name) != before[name]:
                text = f'node updates may not change {told} except from "" to valid'
                causes.append(forbidden(f"spec.{name}", text))
        return causes


def _check_taints(taints: Iterable[Obj]) -> Iterator[Cause]:
    pairs: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        # The real server reports these at the metadata.
        here = f"metadata.taints[{index}]"
        yield from _TAINT(taint, here)
        pair = taint.get("key", ""), taint.get("effect", "")
        if pair in pairs:
            yield duplicate(here, taint)
        pairs.add(pair)


_TAINT = f.Fields(
    key=f.QUALIFIED_NAME,
    value=f.Given(f.LABEL_VALUE_AT_ONCE),
    effect=f.Needed(TAINT_EFFECT),
)


_DATA_LIMIT = 1024 * 1024


def _check_keys(data: Mapping[str, str], path: str) -> Iterator[Cause]:
    for key in sorted(data):
        yield from f.DATA_KEY(key, f"{path}[{key}]")


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
    def validate(self, obj: Obj) -> list[Cause]:
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        causes = [*_check_keys(data, "data"), *_check_keys(binary, "binaryData")]
        both = sorted(data.keys() & binary)
        causes += [invalid(f"data[{key}]", key, "duplicate of key present in binaryData") for key in both]
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


def _not_an_object(text: bytes) -> str:
    """The error of a text that must be a JSON object, in Go's words. Empty if it is one."""
    try:
        value = decode(text)
    except BadJson as error:
        return str(error)
    return "" if value is None or isinstance(value, dict) else "json: cannot unmarshal into Go value of type map"


class SecretStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        data = obj.get("data") or {}
        causes = list(_check_keys(data, "data"))
        if sum(len(text) * 3 // 4 for text in data.values()) > _DATA_LIMIT:
            causes.append(too_long("data", _DATA_LIMIT))
        for key in _SECRET_KEYS.get(obj.get("type", ""), ()):
            # Of these keys, only a private key may not be empty.
            if key not in data or (key == "ssh-privatekey" and not data[key]):
                causes.append(required(f"data[{key}]"))
            elif key.startswith(".docker") and (why := _not_an_object(base64.b64decode(data[key]))):
                causes.append(invalid(f"data[{key}]", "<secret contents redacted>", why))
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
        super().default(obj)


def _drop_coordination(obj: Obj, old: Obj) -> None:
    """
    Remove the fields for coordinated leader election, which is off by default. An update keeps them if they are set.
    """
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    for name in ("strategy", "preferredHolder"):
        if before.get(name) is None:
            spec.pop(name, None)


_LEASE = f.Fields(leaseDurationSeconds=f.ABOVE_0, leaseTransitions=f.NOT_NEGATIVE)


class LeaseStrategy(Strategy):
    checks = f.Fields(spec=_LEASE)

    def __init__(self, resource: Resource, *, coordinated: bool = False) -> None:
        super().__init__(resource)
        self._coordinated = coordinated

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        if not self._coordinated:
            _drop_coordination(obj, {})

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        if not self._coordinated:
            _drop_coordination(obj, old)


def _check_overhead(overhead: Obj, path: str) -> Iterator[Cause]:
    for name, amount in (overhead.get("podFixed") or {}).items():
        here = f"{path}.limits[{name}]"
        yield from check_resource_name(name, here, of_container=True)
        yield from check_quantity(name, amount, here)


CHECK_RUNTIME_CLASS = f.Fields(
    handler=f.Needed(f.DNS_LABEL),
    overhead=f.Given(_check_overhead),
    scheduling=f.Fields(nodeSelector=f.Given(validate_labels), tolerations=TOLERATIONS),
)


class PriorityClassStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        causes: list[Cause] = []
        if name.startswith("system-"):
            if _SYSTEM_PRIORITIES.get(name) != value or obj.get("globalDefault"):
                text = "priority class names with 'system-' prefix are reserved for system use only. error: "
                text += f"{name} is not a known system priority class"
                causes.append(forbidden("metadata.name", text))
        elif value > _HIGHEST_PRIORITY:
            text = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
            causes.append(forbidden("value", text))
        return [*causes, *PREEMPTION(obj.get("preemptionPolicy"), "preemptionPolicy")]

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        is_same = obj.get("value") == old.get("value")
        causes = [] if is_same else [forbidden("value", "may not be changed in an update.")]
        return causes + super().validate_update(obj, old)


_HIGHEST_PRIORITY = 1000000000
#: The priority classes that exist from the start.
SYSTEM_CLASSES: tuple[Obj, ...] = tuple(read_yaml(__package__, "system_classes.yaml")["classes"])
_SYSTEM_PRIORITIES = {one["metadata"]["name"]: one["value"] for one in SYSTEM_CLASSES}
