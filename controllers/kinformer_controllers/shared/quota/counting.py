"""Measures everything but pods: any object by its number, and Services and both kinds of claims by more.

Every kind, including custom resources, can have a quota for the number of its objects. ``count/deployments.apps``
limits how many Deployments a namespace has. Four old kinds also have a shorter name: ``configmaps``,
``replicationcontrollers``, ``resourcequotas`` and ``secrets``. Of Services, load balancers and the node ports that they
will have are counted, too; of PersistentVolumeClaims their storage, in total and by storage class.

Of ResourceClaims the devices of each class that they request are counted: ``gpu.deviceclass.resource.k8s.io/devices``
limits the devices of class gpu. If a request has alternatives, the largest amount of each class counts. A request for
all devices counts as 32, the largest number that one claim can get. Extended resources that are backed by device
classes are not counted here: they are charged to pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kinformer.meta import GroupResource, Quantity
from kinformer.meta.quantity import ZERO
from kinformer.meta.resourcelist import ResourceList, add, maximum
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, Evaluator
from kinformer_controllers.shared.quota.limits import EXISTS, VOLUME_ATTRIBUTES_CLASS, ScopeRequirement, matches_class
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource
from kinformer_controllers.shared.quota.views import ClaimView, DeviceAsk, claim_view, device_claim_view, service_view

__all__ = (
    "CLAIMS",
    "DEVICE_CLAIMS",
    "LEGACY_NAMES",
    "ONE",
    "SERVICES",
    "attributes_classes",
    "claim_evaluator",
    "claim_usage",
    "count_name",
    "device_claim_evaluator",
    "object_count_evaluator",
    "service_evaluator",
    "service_usage",
)

ONE: Final = Quantity.of(1)

#: The shorter names. They are older than the names with ``count/``.
LEGACY_NAMES: Final = {
    GroupResource("", name): name for name in ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
}

SERVICES: Final = GroupResource("", "services")

CLAIMS: Final = GroupResource("", "persistentvolumeclaims")
_CLAIMS: Final = "persistentvolumeclaims"
_STORAGE: Final = "requests.storage"
_CLAIM_NAMES: Final = (_CLAIMS, _STORAGE)
_BY_CLASS: Final = ".storageclass.storage.k8s.io/"
_BY_CLASS_SUFFIXES: Final = tuple(_BY_CLASS + name for name in _CLAIM_NAMES)
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"

DEVICE_CLAIMS: Final = GroupResource("resource.k8s.io", "resourceclaims")
_OF_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
#: The largest number of devices that one claim can get.
_MOST: Final = 32


def count_name(resource: GroupResource) -> str:
    """Return the name that a quota has for the number of a resource's objects."""
    return f"count/{resource}"


def object_count_evaluator(resource: GroupResource, source: ObjectSource | None = None) -> Evaluator:
    """Make an evaluator that only counts a resource's objects."""
    alias = LEGACY_NAMES.get(resource)
    names = (count_name(resource), alias) if alias else (count_name(resource),)
    used = dict.fromkeys(names, ONE)

    def measure(obj: Any) -> ResourceList:
        return used

    return _Counter(resource, names, measure, source=source or NoSource())


class _Counter(Evaluator):
    async def add_up(self, objects: Any, options: Any) -> ResourceList:
        """Count the objects without reading them. A quota with scopes applies to none of them, one without to all."""
        count = Quantity.of(0 if options.scopes else len(objects))
        return dict.fromkeys(self.resource_names, count)


_COUNT_SERVICES: Final = count_name(SERVICES)


_SERVICE_NAMES: Final = (_COUNT_SERVICES, "services", "services.nodeports", "services.loadbalancers")


def service_usage(obj: Any) -> ResourceList:
    """
    Return what a service uses. Its requested node ports are counted: none are allocated yet when it is created.

    :raises UnreadableObject: if the object is not a service
    """
    spec = service_view(obj).spec
    ports = spec.ports or ()
    node_ports = balancers = 0
    if spec.type == "NodePort":
        node_ports = len(ports)
    elif spec.type == "LoadBalancer":
        balancers = 1
        allocate = spec.allocate_load_balancer_node_ports is not False
        node_ports = len(ports) if allocate else sum(1 for port in ports if port.node_port)
    return {
        _COUNT_SERVICES: ONE,
        "services": ONE,
        "services.loadbalancers": ONE if balancers else ZERO,
        "services.nodeports": Quantity.of(node_ports),
    }


def service_evaluator(source: ObjectSource | None = None) -> Evaluator:
    """Make the evaluator of services. Updates count, too, because they can change a service's type."""
    return Evaluator(
        SERVICES, _SERVICE_NAMES, service_usage, operations={"": (CREATE, UPDATE)}, source=source or NoSource()
    )


_COUNT_CLAIMS: Final = count_name(CLAIMS)


def claim_usage(obj: Any) -> ResourceList:
    """
    Return what a claim uses. Its storage is the larger of the requested and the allocated amount, in whole bytes.

    :raises UnreadableObject: if the object is not a claim
    :raises QuantityError: if the storage is not a valid quantity
    """
    claim = claim_view(obj)
    storage_class = _storage_class(claim)
    storage = _storage(claim)
    used = {_CLAIMS: ONE, _COUNT_CLAIMS: ONE}
    if storage_class:
        used[f"{storage_class}{_BY_CLASS}{_CLAIMS}"] = ONE
    if storage is not None:
        used[_STORAGE] = storage
        if storage_class:
            used[f"{storage_class}{_BY_CLASS}{_STORAGE}"] = storage
    return used


def _claim_matches_scope(requirement: ScopeRequirement, obj: Any) -> bool:
    """
    Whether a claim is in a scope. VolumeAttributesClass is the only scope for claims.

    :raises ScopeError: if the requirement is invalid
    """
    if requirement.scope != VOLUME_ATTRIBUTES_CLASS:
        return False
    names = attributes_classes(obj)
    return bool(names) if requirement.operator == EXISTS else matches_class(requirement, names)


def attributes_classes(obj: Any) -> list[str]:
    """Return the VolumeAttributesClasses that a claim requests, has, or is being changed to."""
    claim = claim_view(obj)
    modify = claim.status.modify_volume_status
    names = (
        claim.spec.volume_attributes_class_name,
        claim.status.current_volume_attributes_class_name,
        modify.target_volume_attributes_class_name if modify is not None else None,
    )
    return sorted({name for name in names if name})


def claim_evaluator(source: ObjectSource | None = None) -> Evaluator:
    """Make the evaluator of claims. Updates of the status count, too: they show an expansion of the volume first."""
    return _ClaimEvaluator(
        CLAIMS,
        (_COUNT_CLAIMS, *_CLAIM_NAMES),
        claim_usage,
        operations={"": (CREATE, UPDATE), "status": (CREATE, UPDATE)},
        matches_scope=_claim_matches_scope,
        source=source or NoSource(),
    )


class _ClaimEvaluator(Evaluator):
    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """Return the names that are measured, with those of all storage classes, whether these exist or not."""
        known = self.resource_names
        return sorted({name for name in names if name in known or name.endswith(_BY_CLASS_SUFFIXES)})


def _storage_class(claim: ClaimView) -> str:
    annotations = claim.metadata.annotations
    if annotations and _CLASS_ANNOTATION in annotations:
        return annotations[_CLASS_ANNOTATION]
    return claim.spec.storage_class_name or ""


def _storage(claim: ClaimView) -> Quantity | None:
    resources = claim.spec.resources
    asked = resources.requests.get("storage") if resources is not None and resources.requests else None
    if asked is None:
        return None
    # Rounded up, because a quota's status holds whole bytes.
    amount = Quantity.parse(asked).rounded_up(0)
    given = (claim.status.allocated_resources or {}).get("storage")
    if given is not None and (allocated := Quantity.parse(given)) > amount:
        amount = allocated.rounded_up(0)
    return amount


_COUNT_DEVICE_CLAIMS: Final = count_name(DEVICE_CLAIMS)


def _device_claim_usage(obj: Any) -> ResourceList:
    """
    Return what a ResourceClaim uses.

    :raises UnreadableObject: if the object is not a ResourceClaim
    """
    devices = device_claim_view(obj).spec.devices
    used: ResourceList = {_COUNT_DEVICE_CLAIMS: ONE}
    for request in (devices.requests if devices is not None else None) or ():
        if request.first_available:
            most: ResourceList = {}
            for alternative in request.first_available:
                most = maximum(most, _devices(alternative))
            used = add(used, most)
        elif request.exactly is not None:
            used = add(used, _devices(request.exactly))
    return used


def device_claim_evaluator(source: ObjectSource | None = None) -> Evaluator:
    """Make the evaluator of ResourceClaims."""
    return _DeviceClaimEvaluator(
        DEVICE_CLAIMS,
        (_COUNT_DEVICE_CLAIMS,),
        _device_claim_usage,
        operations={"": (CREATE, UPDATE)},
        source=source or NoSource(),
    )


class _DeviceClaimEvaluator(Evaluator):
    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """Return the names that are measured, with those of all device classes, whether these exist or not."""
        return sorted({name for name in names if name == _COUNT_DEVICE_CLAIMS or name.endswith(_OF_CLASS)})


def _devices(asked: DeviceAsk) -> ResourceList:
    # The API server's defaults: the mode ExactCount, and the count 1. An unknown mode of a later version counts as 0.
    match asked.allocation_mode or "ExactCount":
        case "ExactCount":
            count = 1 if asked.count is None else asked.count
        case "All":
            count = _MOST
        case _:
            count = 0
    return {f"{asked.device_class_name}{_OF_CLASS}": Quantity.of(count)}
