"""Event handlers that queue GroupQuotas for a recount.

Most events need no recount: an object that was charged is stored, and its reservation ends. A recount is needed in two
cases:

- A charged object is deleted, uses less, or leaves the group because of its labels.
- An object is stored that was not charged: it is older than the quota, its creation did not go through the webhook, or
  its namespace has joined the group. Until it is counted, the quota seems to have more left than it has. So the quota
  is *doubted*, and the leader admits no request to it before the recount.

If the charge of an object is not known, another replica may have charged it, and the event of that write may be late.
The quota is then *suspected*: before a recount, the server is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kinformer.cache import Deleted, DeletedFinalStateUnknown, last_state
from kinformer.meta import GroupResource, accessor_of
from kinformer.models import V1Namespace
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor
from kinformer_controllers.groupquota.group_quota import Selects
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.shared.quota.limits import Quota
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator
from kinformer_controllers.shared.quota.registry import Registry
from kinformer_controllers.shared.quota.replenishment import default_update_filter

__all__ = ("GroupChanges", "NamespaceHandler", "ObjectHandler")


class GroupChanges:
    """
    Finds the quotas that a change concerns.

    :param accessor: all quotas
    :param registry: the evaluators
    :param sightings: knows which objects were charged
    :param freed: called with the name of a quota whose objects may use less
    :param doubted: called with the name of a quota whose objects may use more than is known
    :param suspected: called with the name of a quota, and the resource, uid and version of an object that was perhaps
        not charged
    """

    def __init__(
        self,
        accessor: GroupQuotaAccessor,
        registry: Registry,
        sightings: Sightings,
        freed: Callable[[str], object],
        doubted: Callable[[str], object],
        suspected: Callable[[str, GroupResource, str, str], object],
    ) -> None:
        self._accessor = accessor
        self._registry = registry
        self._sightings = sightings
        self.suspected = suspected
        self.freed = freed
        self.doubted = doubted
        pods = registry.get(PODS)
        self._uses_another_amount = default_update_filter(pods if isinstance(pods, PodEvaluator) else None)

    def came(self, resource: GroupResource, namespace: str, obj: Any) -> None:
        """Handle an object that was added."""
        for quota in self._limiting(resource):
            if quota.is_about(namespace, obj) and not self._is_charged(quota, resource, obj):
                self._suspect(quota, resource, obj)

    def went(self, resource: GroupResource, namespace: str, obj: Any) -> None:
        """Handle an object that was deleted; None if only its namespace is known."""
        for quota in self._limiting(resource):
            if quota.is_about(namespace, obj) if obj is not None else _may_be_in(quota, namespace):
                self.freed(quota.name)

    def changed(self, resource: GroupResource, namespace: str, old: Any, new: Any) -> None:
        """Handle an object that has changed."""
        accessor = accessor_of(new)
        uses_another_amount = self._uses_another_amount(resource, old, new)
        if not uses_another_amount and accessor.labels(old) == accessor.labels(new):
            return
        for quota in self._limiting(resource):
            before, after = quota.is_about(namespace, old), quota.is_about(namespace, new)
            if self._is_charged(quota, resource, new):
                continue
            if after and not before:
                self._suspect(quota, resource, new)
            elif before and (not after or uses_another_amount):
                self.freed(quota.name)

    def _is_charged(self, quota: Quota, resource: GroupResource, obj: Any) -> bool:
        accessor = accessor_of(obj)
        return self._sightings.is_charged(quota.name, resource, accessor.uid(obj), accessor.resource_version(obj))

    def _suspect(self, quota: Quota, resource: GroupResource, obj: Any) -> None:
        accessor = accessor_of(obj)
        self.suspected(quota.name, resource, accessor.uid(obj), accessor.resource_version(obj))

    def relabelled(self, before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> None:
        """Handle changed labels of a namespace. `before` is None for a new namespace, `after` for a deleted one."""
        for quota in self._accessor.quotas():
            selects = quota.selects
            assert isinstance(selects, Selects), "every GroupQuota has its selector"
            if selects.namespaces is None:
                continue
            was = before is not None and selects.namespaces.matches(before)
            now = after is not None and selects.namespaces.matches(after)
            if now and not was:
                self.doubted(quota.name)
            elif was and not now:
                self.freed(quota.name)

    def _limiting(self, resource: GroupResource) -> list[Quota]:
        evaluator = self._registry.get(resource)
        if evaluator is None:
            return []
        return [quota for quota in self._accessor.quotas() if evaluator.matching_resources(_limited(quota))]


class ObjectHandler:
    """The event handler for the objects of one resource."""

    __slots__ = ("_changes", "_resource", "_sightings")

    def __init__(self, resource: GroupResource, sightings: Sightings, changes: GroupChanges) -> None:
        self._resource = resource
        self._sightings = sightings
        self._changes = changes

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        # Objects of the first list need no handling: every quota is recounted at the start.
        if not is_in_initial_list:
            self._changes.came(self._resource, accessor_of(obj).namespace(obj), obj)
        self._told(obj)

    def on_update(self, old: Any, new: Any, /) -> None:
        accessor = accessor_of(new)
        is_another = accessor.uid(old) != accessor.uid(new)
        if accessor.resource_version(old) == accessor.resource_version(new) and not is_another:
            return  # a resync
        namespace = accessor.namespace(new)
        if is_another:
            # It was deleted and created again, and the watch did not show the deletion.
            self._sightings.gone(self._resource, old)
            self._changes.went(self._resource, namespace, old)
            self._changes.came(self._resource, namespace, new)
        else:
            self._changes.changed(self._resource, namespace, old, new)
        self._told(new)

    def on_delete(self, obj: Any, /) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            namespace, _, _ = obj.key.rpartition("/")
            if obj.obj is not None:
                self._sightings.gone(self._resource, obj.obj)
            self._changes.went(self._resource, namespace, obj.obj)
            return
        self._sightings.gone(self._resource, obj)
        self._changes.went(self._resource, accessor_of(obj).namespace(obj), obj)
        self._told(obj)

    def _told(self, obj: Any) -> None:
        accessor = accessor_of(obj)
        self._sightings.told(self._resource, accessor.uid(obj), accessor.resource_version(obj))


class NamespaceHandler:
    """The event handler for namespaces. Only changes of labels matter."""

    __slots__ = ("_changes",)

    def __init__(self, changes: GroupChanges) -> None:
        self._changes = changes

    def on_add(self, namespace: V1Namespace, is_in_initial_list: bool, /) -> None:
        if not is_in_initial_list:
            self._changes.relabelled(None, namespace.metadata.labels or {})

    def on_update(self, old: V1Namespace, new: V1Namespace, /) -> None:
        before, after = old.metadata.labels or {}, new.metadata.labels or {}
        if before != after:
            self._changes.relabelled(before, after)

    def on_delete(self, namespace: Deleted[V1Namespace], /) -> None:
        known = last_state(namespace)
        self._changes.relabelled((known.metadata.labels if known is not None else None) or {}, None)


def _limited(quota: Quota) -> list[str]:
    return list((quota.source.get("spec") or {}).get("hard") or ())


def _may_be_in(quota: Quota, namespace: str) -> bool:
    return not isinstance(quota.selects, Selects) or quota.selects.namespace(namespace)
