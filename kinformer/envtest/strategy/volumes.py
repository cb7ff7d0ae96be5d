"""Persistent volumes and claims, storage classes, and the drivers of storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinformer.envtest.causes import forbidden, immutable, invalid, not_supported, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy, with_field
from kinformer.envtest.strategy.checks import check_token_lifetime
from kinformer.envtest.strategy.placement_checks import NODE_SELECTOR
from kinformer.envtest.strategy.source_checks import check_absolute, check_no_steps_up
from kinformer.meta.quantity import Quantity
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = (
    "CHECK_ATTACHMENT",
    "CHECK_CAPACITY",
    "CHECK_CLASS",
    "CLAIM_SPEC",
    "DRIVER_NAME",
    "ClaimStrategy",
    "AttributesClassStrategy",
    "DriverStrategy",
    "NodeStrategy",
    "VolumeStrategy",
)

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ACCESS_MODE = f.OneOf(*_ACCESS_MODES)
#: The fields of a volume's spec that are not its source.
_NOT_A_SOURCE = frozenset(
    (
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"),
        *("storageClassName", "volumeAttributesClassName", "volumeMode"),
    )
)
_POSITIVE = "must be greater than zero"


def _check_modes(modes: list[str], path: str) -> Iterator[Cause]:
    for mode in modes:
        yield from _ACCESS_MODE(mode, path)
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _check_capacity(capacity: Obj | None, path: str) -> Iterator[Cause]:
    capacity = capacity or {}
    if not capacity:
        yield required(path)
    if "storage" not in capacity or len(capacity) > 1:
        yield not_supported(path, capacity, ("storage",))
    for name, amount in sorted(capacity.items()):
        sign = Quantity.parse(amount).sign
        if sign < 0:
            yield invalid(f"{path}[{name}]", amount, "must be a valid resource quantity")
        if sign <= 0:
            yield invalid(f"{path}[{name}]", amount, _POSITIVE)


def _source(spec: Obj) -> Obj:
    return {name: value for name, value in spec.items() if name not in _NOT_A_SOURCE}


def _check_source(spec: Obj, path: str) -> Iterator[Cause]:
    source = _source(spec)
    yield from f.check_union(source, path, [*source], _SOURCES, "volume type")
    if next(iter(source), "") == "local" and spec.get("nodeAffinity") is None:
        yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")


_PATH = f.Fields(path=f.Needed(check_no_steps_up))
_SOURCES: dict[str, f.Check] = {
    "hostPath": _PATH,
    "nfs": f.Every(f.Fields(server=f.Needed(), path=f.Needed()), f.Fields(path=check_absolute)),
    "csi": f.Fields(driver=f.Needed(), volumeHandle=f.Needed()),
    "local": _PATH,
}
_CLASS_AND_MODE = f.Fields(
    storageClassName=f.Filled(f.DNS_SUBDOMAIN), volumeMode=f.Given(f.OneOf("Block", "Filesystem"))
)
_AFFINITY = f.Fields(required=f.Present(NODE_SELECTOR, detail="must specify required node constraints"))
_VOLUME = f.Every(
    f.Fields(
        accessModes=f.Needed(_check_modes),
        capacity=_check_capacity,
        persistentVolumeReclaimPolicy=f.Given(f.OneOf("Delete", "Recycle", "Retain")),
        nodeAffinity=f.Given(_AFFINITY),
    ),
    _check_source,
    _CLASS_AND_MODE,
)


class VolumeStrategy(Strategy):
    checks = f.Fields(spec=_VOLUME)

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        obj["status"]["lastPhaseTransitionTime"] = obj["metadata"]["creationTimestamp"]

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_status_update(obj, old)
        status, before = obj.get("status") or {}, old.get("status") or {}
        if status.get("phase") == before.get("phase"):
            with_field(status, "lastPhaseTransitionTime", before.get("lastPhaseTransitionTime"))

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        spec, before = obj["spec"], old["spec"]
        causes = []
        if _source(spec) != _source(before):
            text = "spec.persistentvolumesource is immutable after creation"
            causes.append(forbidden("spec.persistentvolumesource", text))
        affinity, was = spec.get("nodeAffinity"), before.get("nodeAffinity")
        if was is not None and affinity != was:
            text = "field is immutable, except for updating from beta label to GA"
            causes.append(invalid("nodeAffinity", affinity, text))
        causes += immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
        if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
            causes.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
        return causes


def _check_storage(resources: Obj | None, path: str) -> Iterator[Cause]:
    storage = ((resources or {}).get("requests") or {}).get("storage")
    if storage is None:
        yield required(f"{path}[storage]")
    elif Quantity.parse(storage).sign <= 0:
        yield invalid(f"{path}[storage]", storage, _POSITIVE)


def _check_data_source(source: Obj, path: str) -> Iterator[Cause]:
    if not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
        text = f"must be 'PersistentVolumeClaim' when referencing the default apiGroup (got {source.get('kind')})"
        yield invalid(path, source.get("kind", ""), text)


_DATA_SOURCE = f.Given(f.Fields(name=f.Needed(), kind=f.Needed()), _check_data_source)
CLAIM_SPEC = f.Every(
    f.Fields(accessModes=f.Needed(detail="at least 1 access mode is required"), selector=f.LABEL_SELECTOR),
    f.Fields(accessModes=f.Filled(_check_modes), resources=_check_storage),
    _CLASS_AND_MODE,
    f.Fields(dataSource=_DATA_SOURCE, dataSourceRef=_DATA_SOURCE),
)


class ClaimStrategy(Strategy):
    checks = f.Fields(spec=CLAIM_SPEC)

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        _one_source(obj["spec"])

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        _one_source(obj["spec"])

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return list(_check_claim_update(obj, old))


#: The kinds that ``dataSource`` may name. It is dropped with another one, as by servers that do not know the kind.
_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _one_source(spec: Obj) -> None:
    """``dataSource`` is the older name of ``dataSourceRef`` in the same namespace. One is set from the other."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and (source.get("apiGroup") or "", source.get("kind")) not in _OLD_SOURCES:
        source = None
        del spec["dataSource"]
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


# -- classes and drivers ----------------------------------------------------------------------------------------------


#: The name of a driver may have capital letters.
DRIVER_NAME = f.Needed(f.Form(lambda name: dns1123_subdomain_errors(name.lower())))
_TOPOLOGY = f.Fields(key=f.QUALIFIED_NAME, values=f.Needed(f.Each(f.Unique())))
_CLASS_NAME = f.Needed(lambda name, path: f.QUALIFIED_NAME(name.lower(), path))
CHECK_CLASS = f.Fields(
    provisioner=_CLASS_NAME,
    parameters=f.Given(lambda given, path: (invalid(path, "", "field can not be empty."),) if "" in given else ()),
    reclaimPolicy=f.Filled(f.OneOf("Delete", "Retain")),
    volumeBindingMode=f.OneOf("Immediate", "WaitForFirstConsumer"),
    allowedTopologies=f.Each(f.Fields(matchLabelExpressions=f.Each(_TOPOLOGY, f.Unique("key")))),
)
CHECK_CAPACITY = f.Fields(storageClassName=f.Needed())


class AttributesClassStrategy(Strategy):
    checks = f.Fields(driverName=_CLASS_NAME, parameters=f.Needed(detail="must contain at least one key/value pair"))

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        changed = [name for name in ("driverName", "parameters") if obj.get(name) != old.get(name)]
        return [forbidden(name, f"updates to {name} are forbidden.") for name in changed]


_ONE_DRIVER = f.Fields(name=DRIVER_NAME, nodeID=f.Needed(), topologyKeys=f.Each(f.QUALIFIED_NAME))


class NodeStrategy(Strategy):
    """The drivers of a node. A driver that is there never changes, but for how many volumes it takes."""

    checks = f.Fields(spec=f.Fields(drivers=f.Each(_ONE_DRIVER, f.Unique("name"))))

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        now, before = ({one["name"]: one for one in of["spec"].get("drivers") or ()} for of in (obj, old))
        both = [(now[name], before[name]) for name in now if name in before]
        fields = ("nodeID", "topologyKeys")
        return [
            cause
            for new, was in both
            if any(new.get(name) != was.get(name) for name in fields)
            for cause in immutable(new, was, "spec.drivers")
        ]


def _check_tokens(requests: list[Obj], path: str) -> Iterator[Cause]:
    unique = f.Unique("audience").over_one_list()
    for index, request in enumerate(requests):
        causes = [*unique(request, f"{path}[{index}]")]
        yield from causes or _TOKEN(request, f"{path}[{index}]")


_TOKEN = f.Fields(expirationSeconds=f.Given(check_token_lifetime))


_LIFECYCLE = f.OneOf("Persistent", "Ephemeral")
_DRIVER = f.Fields(
    fsGroupPolicy=f.OneOf("File", "None", "ReadWriteOnceWithFSType"),
    tokenRequests=f.Given(_check_tokens),
    volumeLifecycleModes=f.Given(lambda modes, path: [cause for mode in modes for cause in _LIFECYCLE(mode, path)]),
)


class DriverStrategy(Strategy):
    checks = f.Fields(spec=_DRIVER)

    def prepare_for_create(self, obj: Obj) -> None:
        """Do not set the generation. It counts changes, and a driver that was never changed has none."""

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        spec, before = obj["spec"], old["spec"]
        fixed = (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes"))
        return [c for name, told in fixed for c in immutable(spec.get(name), before.get(name), f"spec.{told}")]


def _check_attached(source: Obj | None, path: str) -> Iterator[Cause]:
    source = source or {}
    if len(source) != 1:
        text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        yield forbidden(path, text) if source else required(path, text)
    elif (name := source.get("persistentVolumeName")) == "":
        yield required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName")
    elif name is not None:
        yield from f.DNS_SUBDOMAIN(name, f"{path}.persistentVolumeName")


CHECK_ATTACHMENT = f.Fields(spec=f.Fields(attacher=DRIVER_NAME, source=_check_attached, nodeName=f.DNS_SUBDOMAIN))
