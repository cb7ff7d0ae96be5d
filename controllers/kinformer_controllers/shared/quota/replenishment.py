"""Replenishment: noticing soon that objects use less of a quota.

When an object is deleted or its usage changes (a pod ends, a service gives up its node ports), the event handler of its
kind reports the namespace, and the quota controller recounts the quotas there that limit this kind. The usage of other
kinds is corrected at the next full recount.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kinformer.cache import deletion_handling_key
from kinformer.meta import GroupKind, GroupResource, accessor_of
from kinformer.models import (
    V1ConfigMap,
    V1PersistentVolumeClaim,
    V1Pod,
    V1ReplicationController,
    V1Secret,
    V1Service,
    resource_for,
)
from kinformer_controllers.shared.quota.counting import CLAIMS, SERVICES, attributes_classes, claim_usage, service_usage
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator, is_terminating

__all__ = (
    "CHANGING",
    "Replenish",
    "TO_REPLENISH",
    "ReplenishmentHandler",
    "UpdateFilter",
    "default_update_filter",
)

#: Called with a resource and a namespace in which its objects may use less.
Replenish = Callable[[GroupResource, str], object]

#: Whether an update (resource, old object, new object) can change the usage, or the quotas that it counts for.
UpdateFilter = Callable[[GroupResource, Any, Any], bool]

#: The kinds that the quota controller watches if it does not use discovery.
TO_REPLENISH: Final[dict[GroupKind, type[Any]]] = {
    resource_for(model).gvk.group_kind: model
    for model in (V1Pod, V1Service, V1ReplicationController, V1PersistentVolumeClaim, V1Secret, V1ConfigMap)
}

#: The resources whose objects may use another amount after an update. All others are only counted.
CHANGING: Final = frozenset((PODS, SERVICES, CLAIMS))


def default_update_filter(pods: PodEvaluator | None = None) -> UpdateFilter:
    """
    Make the default filter. It selects updates after which the object's usage, or its scopes, are different.

    Only pods, services and claims have a usage that can change. Other objects are only counted.

    :param pods: measures pods; pass the shared evaluator if it should remember their usage
    """
    pod_usage = (pods or PodEvaluator()).usage

    def matters(resource: GroupResource, old: Any, new: Any) -> bool:
        if resource == PODS:
            return is_terminating(old) != is_terminating(new) or pod_usage(old) != pod_usage(new)
        if resource == SERVICES:
            return service_usage(old) != service_usage(new)
        if resource == CLAIMS:
            return claim_usage(old) != claim_usage(new) or attributes_classes(old) != attributes_classes(new)
        return False

    return matters


class ReplenishmentHandler:
    """The event handler for the objects of one resource. It calls `replenish` when their usage may have changed."""

    __slots__ = ("_matters", "_replenish", "resource")

    def __init__(self, resource: GroupResource, replenish: Replenish, matters: UpdateFilter) -> None:
        self.resource = resource
        self._replenish = replenish
        self._matters = matters

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Do nothing: admission has already charged the new object."""

    def on_update(self, old: Any, new: Any, /) -> None:
        accessor = accessor_of(new)
        # Another uid: the object was deleted and created again, and the watch did not show the deletion.
        if accessor.uid(old) != accessor.uid(new) or self._matters(self.resource, old, new):
            self._replenish(self.resource, accessor.namespace(new))

    def on_delete(self, obj: Any, /) -> None:
        namespace, _, _ = deletion_handling_key(obj).rpartition("/")
        self._replenish(self.resource, namespace)
