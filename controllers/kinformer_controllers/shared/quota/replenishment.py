"""Replenishment: noticing at once that something which a quota limits is free again.

A replenishment controller follows the objects of one kind. When one is deleted, or comes to use less (a pod ends, a
service gives up its node ports), it says in which namespace, and the quota controller recounts those quotas there that
limit it. What has no replenishment controller is found at the next full recount.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import anyio

from kinformer.cache import DeletedFinalStateUnknown, SharedIndexInformer
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
from kinformer_controllers.shared.quota.claims import CLAIMS, attributes_classes, claim_usage
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator, is_terminating
from kinformer_controllers.shared.quota.services import SERVICES, service_usage

__all__ = (
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

#: Is told of which resource there may be less in which namespace.
Replenish = Callable[[GroupResource, str], object]

#: Whether an update (resource, old, new) can change how much is used, or of which quota.
UpdateFilter = Callable[[GroupResource, Any, Any], bool]

_MODELS: Final[dict[GroupKind, type[Any]]] = {
    resource_for(model).gvk.group_kind: model
    for model in (V1Pod, V1Service, V1ReplicationController, V1PersistentVolumeClaim, V1Secret, V1ConfigMap)
}

#: What the quota controller follows where it does not ask the server what there is.
GROUP_KINDS_TO_REPLENISH: Final = tuple(_MODELS)


class NoReplenishmentController(LookupError):
    """There is no replenishment controller for a kind: its quotas are only recounted in full."""


def default_update_filter(pods: PodEvaluator | None = None) -> UpdateFilter:
    """
    The updates that matter: those after which the object uses another amount, or is in other scopes.

    Of all kinds but pods, services and claims an object uses the same as long as it is there.

    :param pods: what measures pods, if it is to remember what they use
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
    """Told of the objects of one resource; tells of what may have been freed."""

    __slots__ = ("_matters", "_replenish", "resource")

    def __init__(self, resource: GroupResource, replenish: Replenish, matters: UpdateFilter) -> None:
        self.resource = resource
        self._replenish = replenish
        self._matters = matters

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Nothing is freed: admission has charged it."""

    def on_update(self, old: Any, new: Any, /) -> None:
        accessor = accessor_of(new)
        if accessor.resource_version(old) == accessor.resource_version(new):
            return  # a resync
        # Deleted and made anew with nobody seeing the moment between: the old one was freed all the same.
        if accessor.uid(old) != accessor.uid(new) or self._matters(self.resource, old, new):
            self._replenish(self.resource, accessor.namespace(new))

    def on_delete(self, obj: Any, /) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            namespace, _, _ = obj.key.rpartition("/")
        else:
            namespace = accessor_of(obj).namespace(obj)
        self._replenish(self.resource, namespace)


@dataclass(frozen=True, slots=True)
class ReplenishmentControllerOptions:
    """
    :param group_kind: whose objects to follow
    :param replenish: is told
    """

    group_kind: GroupKind
    replenish: Replenish


class ReplenishmentController:
    """Follows the objects of one kind, for as long as it runs."""

    def __init__(self, informer: SharedIndexInformer[Any], handler: ReplenishmentHandler) -> None:
        self.resource = handler.resource
        self._informer = informer
        self._handler = handler

    @property
    def informer(self) -> SharedIndexInformer[Any]:
        """What it follows them with; run by whoever made it."""
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

    :param update_filter: which updates matter
    """

    def __init__(self, informers: SharedInformerFactory, *, update_filter: UpdateFilter | None = None) -> None:
        self._informers = informers
        self._update_filter = update_filter or default_update_filter()

    def new_controller(self, options: ReplenishmentControllerOptions) -> ReplenishmentController:
        """
        :raises NoReplenishmentController: if the kind is none of those that can be followed so
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
