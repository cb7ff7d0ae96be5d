"""Equality of models as Kubernetes defines it: ``equality.Semantic.DeepEqual`` of apimachinery.

kube-controller-manager decides with it whether two pod templates, labels or statuses are the same. Two rules differ
from ``==``:

- An empty list or map equals a missing one. An empty *object* does not: ``namespaceSelector: {}`` selects all
  namespaces, and without the field only the pod's own is searched.
- Quantities are compared by their amount: ``1000m`` equals ``1``. This holds for the fields whose type in the API is
  Quantity, and for no other text.

A few objects have no pointer in the API's Go types: metadata, spec and status, and the resources of a container or a
claim. They are never missing there. So for these an empty object does equal a missing one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import msgspec

from kinformer.meta import Quantity, QuantityError
from kinformer.models._base import LazyModel, Model, looked_at

__all__ = ("QUANTITIES", "semantically_equal")

Same = Callable[[Any, Any], bool]

#: The fields whose values are quantities, or maps or lists of quantities. OpenAPI calls them plain strings.
QUANTITIES: Final[dict[str, frozenset[str]]] = {
    name: frozenset(attributes.split())
    for name, attributes in {
        "V1CSIStorageCapacity": "capacity maximum_volume_size",
        "V1CapacityRequestPolicy": "default valid_values",
        "V1CapacityRequestPolicyRange": "max min step",
        "V1CapacityRequirements": "requests",
        "V1ContainerStatus": "allocated_resources",
        "V1Counter": "value",
        "V1DeviceCapacity": "value",
        "V1DeviceRequestAllocationResult": "consumed_capacity",
        "V1EmptyDirVolumeSource": "size_limit",
        "V1LimitRangeItem": "default default_request max max_limit_request_ratio min",
        "V1NodeAllocatableResourceClaimStatus": "resources",
        "V1NodeAllocatableResourceMapping": "allocation_multiplier",
        "V1NodeStatus": "allocatable capacity",
        "V1Overhead": "pod_fixed",
        "V1PersistentVolumeClaimStatus": "allocated_resources capacity",
        "V1PersistentVolumeSpec": "capacity",
        "V1PodSpec": "overhead",
        "V1PodStatus": "allocated_resources",
        "V1ResourceFieldSelector": "divisor",
        "V1ResourceQuotaSpec": "hard",
        "V1ResourceQuotaStatus": "hard used",
        "V1ResourceRequirements": "limits requests",
        "V1VolumeResourceRequirements": "limits requests",
        "V2HPAScalingRules": "tolerance",
        "V2MetricTarget": "average_value value",
        "V2MetricValueStatus": "average_value value",
    }.items()
}

#: The objects that are never missing. A server always writes them; here an object may come from a user's program.
_NEVER_MISSING: Final = frozenset({"metadata", "spec", "status"})
_HAVE_RESOURCES: Final = frozenset({"V1Container", "V1EphemeralContainer", "V1PersistentVolumeClaimSpec"})


def semantically_equal(one: Any, other: Any) -> bool:
    """
    Whether two values have the same meaning to Kubernetes.

    :param one: a model, a list or dict of models, or a plain value of a field. Both must be of the same type. Plain
        dicts do not say which of their texts are quantities, so these are compared as texts
    """
    # `==` would decode the lazy fields of both, and they would be decoded once more here.
    if isinstance(one, LazyModel):
        return type(one) is type(other) and all(
            _same_bytes(one, other, name) or same(looked_at(one, name), looked_at(other, name))
            for name, same in _fields(type(one))
        )
    if one == other:  # compares in C, so only parts that differ are looked at here
        return True
    if isinstance(one, Model):
        return type(one) is type(other) and all(
            same(getattr(one, name), getattr(other, name)) for name, same in _fields(type(one))
        )
    if isinstance(one, dict) or isinstance(other, dict):
        return _same_dicts(one or {}, other or {}, semantically_equal)
    if isinstance(one, list) or isinstance(other, list):
        return _same_lists(one or [], other or [], semantically_equal)
    return False


def _same_bytes(one: LazyModel, other: LazyModel, name: str) -> bool:
    """Whether a field of both is not decoded yet, and has the same bytes. Different bytes may have the same meaning."""
    field = type(one).__lazy_fields__.get(name)
    if field is None:
        return False
    part = field.peek(one)
    return type(part) is msgspec.Raw and bool(part == field.peek(other))


@cache
def _fields(type_: type[Model]) -> tuple[tuple[str, Same], ...]:
    """The attributes of a model, and how each is compared."""
    named = dict.fromkeys(_NEVER_MISSING, _same_objects) | dict.fromkeys(
        QUANTITIES.get(type_.__name__, ()), _same_quantities
    )
    if type_.__name__ in _HAVE_RESOURCES:
        named["resources"] = _same_objects
    return tuple((name, named.get(name, semantically_equal)) for name in type_.__struct_fields__)


def _same_objects(one: Any, other: Any) -> bool:
    if one is None or other is None:
        there = other if one is None else one
        return there is None or (isinstance(there, Model) and _is_empty(there))
    return semantically_equal(one, other)


def _is_empty(obj: Model) -> bool:
    return all(same(None, looked_at(obj, name)) for name, same in _fields(type(obj)))


def _same_dicts(one: Any, other: Any, same: Same) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(other, dict)
        and one.keys() == other.keys()
        and all(same(value, other[key]) for key, value in one.items())
    )


def _same_lists(one: Any, other: Any, same: Same) -> bool:
    return (
        isinstance(one, list)
        and isinstance(other, list)
        and len(one) == len(other)
        and all(same(here, there) for here, there in zip(one, other, strict=True))
    )


def _same_quantities(one: Any, other: Any) -> bool:
    if isinstance(one, dict) or isinstance(other, dict):
        return _same_dicts(one or {}, other or {}, _same_quantities)
    if isinstance(one, list) or isinstance(other, list):
        return _same_lists(one or [], other or [], _same_quantities)
    try:
        return one == other or (None not in (one, other) and Quantity.parse(one) == Quantity.parse(other))
    except QuantityError:
        return False
