"""Views: the fields of pods, services and both kinds of claims that quota reads.

An evaluator gets an informer's model, the JSON of an admission request, or an object that a test has made. A view has
the same attribute names for all of them. A model keeps its spec and status as the server's bytes until they are first
read. A view decodes only its own fields from these bytes and does not change the model. So a recount is several times
faster than one that decodes whole objects. If the spec or status is already decoded, the fields are copied from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import msgspec

from kinformer.models import ResourceV1ResourceClaim, V1PersistentVolumeClaim, V1Pod, V1Service
from kinformer_controllers.shared.partly import partly

__all__ = (
    "ClaimView",
    "DeviceClaimView",
    "PodView",
    "ServiceView",
    "UnreadableObject",
    "claim_view",
    "device_claim_view",
    "pod_shape",
    "pod_view",
    "service_view",
)

#: Amounts in JSON. Kubernetes accepts numbers as well as texts.
Texts = dict[str, str | int | float]


class UnreadableObject(ValueError):
    """An object is not of the kind that the evaluator measures."""


class _View(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """The base class of all views. Fields that a view does not name are skipped."""


class Meta(_View):
    name: str | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None


class Resources(_View):
    requests: Texts | None = None
    limits: Texts | None = None


class Container(_View):
    name: str | None = None
    resources: Resources | None = None
    restart_policy: str | None = None


class ContainerStatus(_View):
    name: str | None = None
    resources: Resources | None = None
    allocated_resources: Texts | None = None


class Condition(_View):
    type: str | None = None
    reason: str | None = None


class Selector(_View):
    """A selector without fields: only its presence matters."""


class AffinityTerm(_View):
    namespaces: list[str] | None = None
    namespace_selector: Selector | None = None


class WeightedAffinityTerm(_View):
    pod_affinity_term: AffinityTerm | None = None


class PodAffinity(_View):
    required_during_scheduling_ignored_during_execution: list[AffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedAffinityTerm] | None = None


class Affinity(_View):
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class PodSpec(_View):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Texts | None = None
    resources: Resources | None = None
    active_deadline_seconds: int | None = None
    priority_class_name: str | None = None
    affinity: Affinity | None = None


class PodStatus(_View):
    phase: str | None = None
    qos_class: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class PodView(_View):
    metadata: Meta
    spec: PodSpec
    status: PodStatus


class ServicePort(_View):
    node_port: int | None = None


class ServiceSpec(_View):
    type: str | None = None
    ports: list[ServicePort] | None = None
    allocate_load_balancer_node_ports: bool | None = None


class ServiceView(_View):
    metadata: Meta
    spec: ServiceSpec
    status: Any = None


class ModifyStatus(_View):
    target_volume_attributes_class_name: str | None = None


class ClaimSpec(_View):
    resources: Resources | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimStatus(_View):
    allocated_resources: Texts | None = None
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyStatus | None = None


class ClaimView(_View):
    metadata: Meta
    spec: ClaimSpec
    status: ClaimStatus


class DeviceAsk(_View):
    """A device class, and how many devices of it are requested."""

    device_class_name: str = ""
    allocation_mode: str | None = None
    count: int | None = None


class DeviceRequest(_View):
    exactly: DeviceAsk | None = None
    first_available: list[DeviceAsk] | None = None


class Devices(_View):
    requests: list[DeviceRequest] | None = None


class DeviceClaimSpec(_View):
    devices: Devices | None = None


class DeviceClaimView(_View):
    metadata: Meta
    spec: DeviceClaimSpec
    status: Any = None


def _viewer(model: type[Any], view: Any, spec: type[Any], status: type[Any] | None) -> Callable[[Any], Any]:
    """
    Make the function that returns the view of an object of one kind.

    :param status: the view of the status; None if the status is not read
    """
    see_spec = _reader(model, "spec", spec)
    see_status = _reader(model, "status", status) if status is not None else _nothing
    no_meta = Meta()

    def see(obj: Any) -> Any:
        try:
            if isinstance(obj, model):
                return view(obj.metadata or no_meta, see_spec(obj), see_status(obj))
            if isinstance(obj, view):
                return obj
            if isinstance(obj, Mapping):
                return msgspec.convert({"metadata": {}, "spec": {}, "status": {}, **_filled(obj)}, view)
        except msgspec.ValidationError as error:
            raise UnreadableObject(f"not a {model.__name__}: {error}") from error
        raise UnreadableObject(f"expect {model.__name__}, got {type(obj).__qualname__}")

    return see


def _reader(model: type[Any], name: str, type_: type[Any]) -> Callable[[Any], Any]:
    """Make the function that reads the view of a model's spec or status, decoded or not."""
    see = partly(model, name, type_, _converter)
    # The view of a model without a spec or status. It is shared and never changed.
    empty = type_()

    def read(obj: Any) -> Any:
        value = see(obj)
        return empty if value is None else value

    return read


def _converter(type_: Any) -> Callable[[Any], Any]:
    """
    Make the function that makes a value of a field's type from a decoded one.

    msgspec examines every type but a Struct in each conversion, which takes 1.5 us. So plain values are taken as they
    are, and a list is converted one by one: 5 us instead of 10 for a pod's status.
    """
    there = next(it for it in get_args(type_) if it is not NoneType) if isinstance(type_, UnionType) else type_
    if there in (str, int, bool):
        return _itself
    make = partial(msgspec.convert, from_attributes=True)
    if get_origin(there) is not list:
        return partial(make, type=there)
    (item,) = get_args(there)

    def each(values: list[Any]) -> list[Any]:
        return [make(value, item) for value in values]

    return each


def _itself(value: Any) -> Any:
    return value


def _nothing(_: Any) -> None:
    """Return None, the status of a view that has none."""


def _filled(obj: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if value is not None}


#: Each of these raises :exc:`UnreadableObject` if the object is of another kind.
pod_view: Callable[[Any], PodView] = _viewer(V1Pod, PodView, PodSpec, PodStatus)
service_view: Callable[[Any], ServiceView] = _viewer(V1Service, ServiceView, ServiceSpec, None)
claim_view: Callable[[Any], ClaimView] = _viewer(V1PersistentVolumeClaim, ClaimView, ClaimSpec, ClaimStatus)
device_claim_view: Callable[[Any], DeviceClaimView] = _viewer(
    ResourceV1ResourceClaim, DeviceClaimView, DeviceClaimSpec, None
)

_encode = msgspec.json.Encoder().encode


def pod_shape(pod: PodView) -> bytes:
    """
    Return the encoded spec and status of a pod's view. It identifies the pod's shape.

    Pods are made from templates, so thousands can have the same shape.
    """
    return _encode((pod.spec, pod.status))
