"""Counts objects. Every kind, including custom resources, can have a quota for the number of its objects.

``count/deployments.apps`` limits how many Deployments a namespace has. Four old kinds also have a shorter name:
``configmaps``, ``replicationcontrollers``, ``resourcequotas`` and ``secrets``.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.meta import GroupResource, Quantity
from kinformer.meta.resourcelist import ResourceList
from kinformer_controllers.shared.quota.evaluator import GenericEvaluator
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource

__all__ = ("LEGACY_NAMES", "ONE", "count_name", "object_count_evaluator")

ONE: Final = Quantity.of(1)

#: The shorter names. They are older than the names with ``count/``.
LEGACY_NAMES: Final = {
    GroupResource("", name): name for name in ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
}


def count_name(resource: GroupResource) -> str:
    """Return the name that a quota has for the number of a resource's objects."""
    return f"count/{resource}"


def object_count_evaluator(resource: GroupResource, source: ObjectSource | None = None) -> GenericEvaluator:
    """Make an evaluator that only counts a resource's objects."""
    alias = LEGACY_NAMES.get(resource)
    names = (count_name(resource), alias) if alias else (count_name(resource),)
    used = dict.fromkeys(names, ONE)

    def measure(obj: Any) -> ResourceList:
        return used

    return _Counter(resource, names, measure, source=source or NoSource())


class _Counter(GenericEvaluator):
    async def add_up(self, objects: Any, options: Any) -> ResourceList:
        """Count the objects without reading them. A quota with scopes applies to none of them, one without to all."""
        count = Quantity.of(0 if options.scopes else len(objects))
        return dict.fromkeys(self.resource_names, count)
