"""Queueing quotas for a recount: when their limits change, and when objects in their namespace use less.

A quota whose limits have changed, or whose usage is not known, refuses all requests until it is counted. So it goes
into the priority queue, and does not wait for the quotas of a full recount.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kinformer.cache import NAMESPACE_INDEX, Deleted, Indexer, deletion_handling_key
from kinformer.logs import get_logger
from kinformer.meta import GroupResource, QuantityError
from kinformer.meta.resourcelist import load
from kinformer.models import V1ResourceQuota
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.shared.quota.registry import Registry

__all__ = ("QuotaHandler", "QuotaQueues", "key_of")

log = get_logger(__name__)


def key_of(quota: V1ResourceQuota) -> str:
    return f"{quota.metadata.namespace}/{quota.metadata.name}"


@dataclass(eq=False, slots=True)
class QuotaQueues:
    """
    Puts quotas into one of the two queues.

    :param quotas: the cache of quotas
    :param registry: the evaluators, which say which limits can be counted
    """

    primary: RateLimitingQueue[str]
    priority: RateLimitingQueue[str]
    quotas: Indexer[V1ResourceQuota]
    registry: Registry

    def add(self, quota: V1ResourceQuota) -> None:
        """Queue a quota that is new or has new limits."""
        (self.priority if self._is_urgent(quota) else self.primary).add(key_of(quota))

    def add_key(self, key: str) -> None:
        """Queue a key, whether the quota still exists or not."""
        self.primary.add(key)

    def add_all(self) -> None:
        """Queue all quotas, each in its queue."""
        for quota in self.quotas.list():
            self.add(quota)

    def replenish(self, resource: GroupResource, namespace: str) -> None:
        """Queue the quotas of a namespace that limit a resource."""
        for quota in self._limiting(resource, self.quotas.by_index(NAMESPACE_INDEX, namespace), in_force=True):
            self.primary.add(key_of(quota))

    def resource_found(self, resource: GroupResource) -> None:
        """Queue all quotas that limit a resource, which can be counted from now on."""
        for quota in self._limiting(resource, self.quotas.list(), in_force=False):
            self.priority.add(key_of(quota))

    def _limiting(
        self, resource: GroupResource, quotas: Iterable[V1ResourceQuota], *, in_force: bool
    ) -> Iterable[V1ResourceQuota]:
        evaluator = self.registry.get(resource)
        if evaluator is None:
            return
        for quota in quotas:
            limits = quota.status if in_force else quota.spec
            if limits is not None and limits.hard and evaluator.matching_resources(limits.hard):
                yield quota

    def _is_urgent(self, quota: V1ResourceQuota) -> bool:
        spec, status = quota.spec, quota.status
        hard = (status.hard if status is not None else None) or {}
        if _differ(spec.hard if spec is not None else None, hard):
            return True
        missing = hard.keys() - ((status.used if status is not None else None) or {}).keys()
        # Amounts that no evaluator can count stay unknown, so they are not urgent.
        return any(evaluator.matching_resources(missing) for evaluator in self.registry.list())


class QuotaHandler:
    """
    The event handler for quotas.

    Only changes of limits count. Statuses are written by this controller and by admission.
    """

    def __init__(self, queues: QuotaQueues) -> None:
        self._queues = queues

    def on_add(self, quota: V1ResourceQuota, is_in_initial_list: bool, /) -> None:
        self._queues.add(quota)

    def on_update(self, old: V1ResourceQuota, new: V1ResourceQuota, /) -> None:
        if old.metadata.uid != new.metadata.uid or _differ(
            old.spec.hard if old.spec is not None else None, new.spec.hard if new.spec is not None else None
        ):
            self._queues.add(new)

    def on_delete(self, obj: Deleted[V1ResourceQuota], /) -> None:
        self._queues.add_key(deletion_handling_key(obj))


def _differ(one: dict[str, str] | None, other: dict[str, str] | None) -> bool:
    try:
        return load(one) != load(other)
    except QuantityError:
        return True  # the sync reports the error
