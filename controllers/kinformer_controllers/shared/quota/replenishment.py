"""Replenishment: noticing soon that objects use less of a quota.

A replenishment controller watches the objects of one kind. When an object is deleted or its usage changes (a pod ends,
a service gives up its node ports), it reports the namespace, and the quota controller recounts the quotas there that
limit this kind. The usage of other kinds is corrected at the next full recount.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import anyio

from kinformer.cache import SharedIndexInformer, deletion_handling_key
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
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
    "GROUP_KINDS_TO_REPLENISH",
    "NoReplenishmentController",
    "Replenish",
    "ReplenishmentController",
    "ReplenishmentControllerFactory",
    "ReplenishmentControllerOptions",
    "ReplenishmentHandler",
    "UpdateFilter",
    "default_update_filter",
)

log = get_logger(__name__)

#: Called with a resource and a namespace in which its objects may use less.
Replenish = Callable[[GroupResource, str], object]

#: Whether an update (resource, old object, new object) can change the usage, or the quotas that it counts for.
UpdateFilter = Callable[[GroupResource, Any, Any], bool]

_MODELS: Final[dict[GroupKind, type[Any]]] = {
    resource_for(model).gvk.group_kind: model
    for model in (V1Pod, V1Service, V1ReplicationController, V1PersistentVolumeClaim, V1Secret, V1ConfigMap)
}

#: The kinds that the quota controller watches if it does not use discovery.
GROUP_KINDS_TO_REPLENISH: Final = tuple(_MODELS)


#: The resources whose objects may use another amount after an update. All others are only counted.
CHANGING: Final = frozenset((PODS, SERVICES, CLAIMS))


class NoReplenishmentController(LookupError):
    """There is no replenishment controller for a kind. Its quotas are only corrected by full recounts."""


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


@dataclass(frozen=True, slots=True)
class ReplenishmentControllerOptions:
    """
    The options of one replenishment controller.

    :param group_kind: the kind to watch
    :param replenish: called when objects of the kind may use less
    """

    group_kind: GroupKind
    replenish: Replenish


class ReplenishmentController:
    """Watches the objects of one kind for as long as it runs."""

    def __init__(self, informer: SharedIndexInformer[Any], handler: ReplenishmentHandler) -> None:
        self.resource = handler.resource
        self._informer = informer
        self._handler = handler

    @property
    def informer(self) -> SharedIndexInformer[Any]:
        """The informer of the kind. The controller does not run it; its factory does."""
        return self._informer

    async def run(self) -> None:
        """Work until cancelled."""
        registration = self._informer.add_event_handler(self._handler)
        try:
            await anyio.sleep_forever()
        finally:
            self._informer.remove_event_handler(registration)


class ReplenishmentControllerFactory:
    """
    Makes replenishment controllers on a factory's informers.

    :param update_filter: selects the updates that matter; by default :func:`default_update_filter`
    """

    def __init__(self, informers: SharedInformerFactory, *, update_filter: UpdateFilter | None = None) -> None:
        self._informers = informers
        self._update_filter = update_filter or default_update_filter()

    def new_controller(self, options: ReplenishmentControllerOptions) -> ReplenishmentController:
        """
        Make the replenishment controller of a kind.

        :raises NoReplenishmentController: if there is none for this kind
        """
        model = _MODELS.get(options.group_kind)
        if model is None:
            raise NoReplenishmentController(
                f"no replenishment controller available for {options.group_kind}: "
                "changes are only accounted for during full resync"
            )
        resource = resource_for(model).gvr.group_resource
        handler = ReplenishmentHandler(resource, options.replenish, self._update_filter)
        return ReplenishmentController(self._informers.informer_for(model), handler)
