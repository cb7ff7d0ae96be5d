"""The server's own admission plug-ins: those of kube-apiserver's defaults that change its answers.

:class:`StoredObjects` is what the plug-ins of installed packages see of the storage.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from kinformer.clock import Clock
from kinformer.envtest import status
from kinformer.envtest.admission import AdmissionPlugin, Attributes
from kinformer.envtest.operations import Operations, timestamp
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Storage
from kinformer.envtest.strategy import SYSTEM_CLASSES
from kinformer.envtest.strategy.base import conditions_of, with_field
from kinformer.envtest.strategy.pods import tolerate
from kinformer.meta.names import GroupResource
from kinformer.meta.quantity import Quantity

__all__ = (
    "ClaimResize",
    "DefaultClasses",
    "NamespaceLifecycle",
    "Priority",
    "RuntimeClass",
    "SigningRequests",
    "StoredObjects",
    "TopologyLabels",
    "topology_labels",
)

_NAMESPACES = GroupResource("", "namespaces")
_PODS = GroupResource("", "pods")
_NODES = GroupResource("", "nodes")
_CLAIMS = GroupResource("", "persistentvolumeclaims")
_INGRESSES = GroupResource("networking.k8s.io", "ingresses")
_PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
_STORAGE_CLASSES = GroupResource("storage.k8s.io", "storageclasses")
_INGRESS_CLASSES = GroupResource("networking.k8s.io", "ingressclasses")
_RUNTIME_CLASSES = GroupResource("node.k8s.io", "runtimeclasses")
_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
_DECIDING = ("approval", "status")
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_PROTECTED = ("default", "kube-system", "kube-public")


class _StoragePlugin(AdmissionPlugin):
    def __init__(self, storage: Storage):
        self._storage = storage


class NamespaceLifecycle(_StoragePlugin):
    """Objects are created only in namespaces that exist and are not being deleted. Some are never deleted."""

    def admit(self, attributes: Attributes) -> None:
        if attributes.operation == "DELETE":
            if attributes.resource.group_resource == _NAMESPACES and attributes.name in _PROTECTED:
                raise status.forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")
            return
        if attributes.operation != "CREATE" or not attributes.namespace:
            return
        namespace = self._storage.get(_NAMESPACES, "", attributes.namespace)
        if namespace is None:
            raise status.not_found(_NAMESPACES, attributes.namespace)
        if b'"deletionTimestamp"' in namespace.raw and "deletionTimestamp" in namespace.decode()["metadata"]:
            name = attributes.namespace
            cause = status.Cause("metadata.namespace", "NamespaceTerminating", f"namespace {name} is being terminated")
            why = f"unable to create new content in namespace {name} because it is being terminated"
            raise status.forbidden(attributes.resource.group_resource, attributes.name, why, [cause])


_SYSTEM_PRIORITIES = frozenset(one["metadata"]["name"] for one in SYSTEM_CLASSES)


class Priority(_StoragePlugin):
    """A pod gets the priority of its class, or of the default class. A request cannot give it another priority."""

    def admit(self, attributes: Attributes) -> None:
        pod, kind = attributes.object, attributes.resource.group_resource
        if attributes.operation == "DELETE" and kind == _PRIORITY_CLASSES and attributes.name in _SYSTEM_PRIORITIES:
            why = "this is a system priority class and cannot be deleted"
            raise status.forbidden(_PRIORITY_CLASSES, attributes.name, why)
        if attributes.operation != "CREATE" or kind != _PODS or pod is None:
            return
        spec = pod["spec"]
        found = self._class_of(attributes, spec.get("priorityClassName") or "")
        for name, value in (("priority", found["value"]), ("preemptionPolicy", found.get("preemptionPolicy"))):
            said = spec.get(name)
            if said is not None and value is not None and said != value:
                what = "integer value of priority" if name == "priority" else "string value of PreemptionPolicy"
                why = f"the {what} ({said}) must not be provided in pod spec; priority admission controller computed "
                raise status.forbidden(_PODS, attributes.name, f"{why}{value} from the given PriorityClass name")
            if value is not None:
                spec[name] = value
        if found.get("name"):
            spec["priorityClassName"] = found["name"]

    def _class_of(self, attributes: Attributes, name: str) -> dict[str, Any]:
        if not name:
            default = _default_priority(self._storage)
            return default or {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
        version = self._storage.get(_PRIORITY_CLASSES, "", name)
        if version is not None:
            return {**version.decode(), "name": name}
        raise status.forbidden(_PODS, attributes.name, f"no PriorityClass with name {name} was found")

    def validate(self, attributes: Attributes) -> None:
        obj = attributes.object
        if attributes.resource.group_resource != _PRIORITY_CLASSES or obj is None or not obj.get("globalDefault"):
            return
        default = _default_priority(self._storage)
        if default is not None and (attributes.operation == "CREATE" or default["name"] != attributes.name):
            why = f"PriorityClass {default['name']} is already marked as default. Only one default can exist"
            raise status.forbidden(_PRIORITY_CLASSES, attributes.name, why)


class RuntimeClass(_StoragePlugin):
    """A pod gets the overhead, the node selector and the tolerations of its RuntimeClass, which must exist."""

    def admit(self, attributes: Attributes) -> None:
        pod = attributes.object
        if attributes.operation != "CREATE" or attributes.resource.group_resource != _PODS or pod is None:
            return
        spec, refused, found = pod["spec"], partial(status.forbidden, _PODS, attributes.name), {}
        if (name := spec.get("runtimeClassName")) is not None:
            version = self._storage.get(_RUNTIME_CLASSES, "", name)
            if version is None:
                raise refused(f'pod rejected: RuntimeClass "{name}" not found')
            found = version.decode()
        said, fixed = spec.get("overhead"), (found.get("overhead") or {}).get("podFixed")
        if fixed is None and said is not None:
            raise refused("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
        if said and _amounts(said) != _amounts(fixed):
            raise refused("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        with_field(spec, "overhead", fixed)
        if (scheduling := found.get("scheduling")) is None:
            return
        tolerate(spec)  # as in Kubernetes, before what the class adds
        for key, value in (scheduling.get("nodeSelector") or {}).items():
            if (held := (spec.get("nodeSelector") or {}).get(key, value)) != value:
                why = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}]"
                raise refused(f"{why} = {held}")
            spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), key: value}
        own = spec["tolerations"]
        spec["tolerations"] = [*own, *(one for one in scheduling.get("tolerations") or () if one not in own)]


def _amounts(resources: dict[str, Any] | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in (resources or {}).items()}


def _objects(storage: Storage, what: GroupResource) -> Iterator[dict[str, Any]]:
    return (version.decode() for version in storage.log(what).select(""))


def _default_priority(storage: Storage) -> dict[str, Any] | None:
    defaults = [one for one in _objects(storage, _PRIORITY_CLASSES) if one.get("globalDefault")]
    if not defaults:
        return None
    default = min(defaults, key=lambda one: int(one["value"]))
    return {**default, "name": default["metadata"]["name"]}


class DefaultClasses(_StoragePlugin):
    """Claims and ingresses without a class get the class that is marked as the default."""

    _ANNOTATIONS = (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
        "ingressclass.kubernetes.io/is-default-class",
    )

    def admit(self, attributes: Attributes) -> None:
        obj, what = attributes.object, attributes.resource.group_resource
        if attributes.operation != "CREATE" or obj is None or what not in (_CLAIMS, _INGRESSES):
            return
        annotations = obj["metadata"].get("annotations") or {}
        if what == _CLAIMS:
            field, classes, older = "storageClassName", _STORAGE_CLASSES, "volume.beta.kubernetes.io/storage-class"
        else:
            field, classes, older = "ingressClassName", _INGRESS_CLASSES, "kubernetes.io/ingress.class"
        if obj["spec"].get(field) is not None or older in annotations:
            return
        defaults = [one for one in _objects(self._storage, classes) if self._is_default(one)]
        # The newest default is used. Of those with the same time, it is the first by name.
        defaults.sort(key=lambda one: str(one["metadata"]["name"]))
        defaults.sort(key=lambda one: str(one["metadata"]["creationTimestamp"]), reverse=True)
        if defaults:
            obj["spec"][field] = defaults[0]["metadata"]["name"]

    def _is_default(self, obj: dict[str, Any]) -> bool:
        annotations = obj["metadata"].get("annotations") or {}
        return any(annotations.get(name) == "true" for name in self._ANNOTATIONS)


def topology_labels(storage: Storage, node: str) -> dict[str, str]:
    """The topology labels (zone and region) that a pod gets from its node. None if the node does not exist."""
    found = storage.get(_NODES, "", node)
    labels = found.labels if found is not None else {}
    return {name: labels[name] for name in _TOPOLOGY if name in labels}


class TopologyLabels(_StoragePlugin):
    """A pod that is created with a node gets the node's zone and region as labels, as it does from a binding."""

    def admit(self, attributes: Attributes) -> None:
        pod = attributes.object
        if attributes.operation != "CREATE" or attributes.resource.group_resource != _PODS or pod is None:
            return
        node = pod["spec"].get("nodeName")
        if node and (labels := topology_labels(self._storage, node)):
            pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **labels}


class ClaimResize(_StoragePlugin):
    """A claim can be expanded only if it is bound, and if its class allows it."""

    def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old_object
        if attributes.resource.group_resource != _CLAIMS or attributes.subresource or new is None or old is None:
            return
        if _storage_of(new) <= _storage_of(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            why = "Only bound persistent volume claims can be expanded"
            raise status.forbidden(_CLAIMS, attributes.name, why)
        names = {one["spec"].get("storageClassName") or "" for one in (new, old)}
        class_ = self._storage.get(_STORAGE_CLASSES, "", names.pop()) if len(names) == 1 else None
        if class_ is None or not class_.decode().get("allowVolumeExpansion"):
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            raise status.forbidden(_CLAIMS, attributes.name, f"{why}support resize")


def _storage_of(claim: dict[str, Any]) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage", "0"))


class SigningRequests(AdmissionPlugin):
    """The server writes who requests a certificate, and when the request was approved or denied."""

    def __init__(self, clock: Clock):
        self._clock = clock

    def admit(self, attributes: Attributes) -> None:
        request = attributes.object
        if attributes.resource.group_resource != _REQUESTS or request is None:
            return
        if attributes.operation == "CREATE":
            spec = request.setdefault("spec", {})
            for name in ("username", "uid", "groups", "extra"):
                with_field(spec, name, attributes.user.info.get(name))
        elif attributes.subresource in _DECIDING and attributes.old_object is not None:
            self._note_times(conditions_of(request), conditions_of(attributes.old_object))

    def _note_times(self, conditions: list[Any], before: list[Any]) -> None:
        now = timestamp(self._clock.now())
        since = {(one.get("type"), one.get("status")): one.get("lastTransitionTime") for one in before}
        for condition in conditions:
            kind = (condition.get("type"), condition.get("status"))
            condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
            condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since.get(kind) or now


class StoredObjects:
    """The objects for plug-ins, without HTTP. See :class:`~kinformer.envtest.admission.ObjectClient`."""

    def __init__(self, operations: Operations):
        self._operations = operations

    def get(self, group: str, plural: str, namespace: str, name: str) -> dict[str, Any] | None:
        found = self._operations.storage.get(GroupResource(group, plural), namespace, name)
        return found.decode() if found is not None else None

    def list(self, group: str, plural: str, namespace: str = "") -> list[dict[str, Any]]:
        log = self._operations.storage.log(GroupResource(group, plural))
        return [version.decode() for version in log.select(namespace)]

    def update_status(self, group: str, plural: str, obj: dict[str, Any]) -> dict[str, Any]:
        metadata = obj["metadata"]
        stored, _ = self._operations.update(
            self._resource(group, plural),
            metadata.get("namespace", ""),
            metadata["name"],
            lambda _: obj,
            subresource="status",
        )
        return stored.decode()

    def _resource(self, group: str, plural: str) -> Resource:
        found = self._operations.registry.by_storage(GroupResource(group, plural))
        if found is None:
            raise LookupError(f"{GroupResource(group, plural)} is not served")
        return found
