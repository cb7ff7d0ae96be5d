"""Counting objects: what every kind can have a quota for, custom resources too.

``count/deployments.apps`` limits how many Deployments a namespace has. Four of the oldest kinds have a shorter name as
well: ``configmaps``, ``replicationcontrollers``, ``resourcequotas`` and ``secrets``.
"""

from __future__ import annotations

from typing import Any, Final

from kinformer.meta import GroupResource, Quantity
from kinformer.meta.resourcelist import ResourceList
from kinformer_controllers.shared.quota.evaluator import GenericEvaluator
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource

__all__ = ("LEGACY_NAMES", "ONE", "count_name", "object_count_evaluator")

ONE: Final = Quantity.of(1)

#: The shorter names, of before there was ``count/``.
LEGACY_NAMES: Final = {
    GroupResource("", name): name for name in ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
}


def count_name(resource: GroupResource) -> str:
    """What a quota calls the number of a resource's objects."""
    return f"count/{resource}"


def object_count_evaluator(resource: GroupResource, source: ObjectSource | None = None) -> GenericEvaluator:
    """An evaluator that counts a resource's objects and knows nothing else of them."""
    alias = LEGACY_NAMES.get(resource)
    names = (count_name(resource), alias) if alias else (count_name(resource),)
    used = dict.fromkeys(names, ONE)

    def measure(obj: Any) -> ResourceList:
        return used

    return _Counter(resource, names, measure, source=source or NoSource())


class _Counter(GenericEvaluator):
    async def add_up(self, objects: Any, options: Any) -> ResourceList:
        """No object is looked at: a quota with scopes is about none of them, one without about all."""
        count = Quantity.of(0 if options.scopes else len(objects))
        return dict.fromkeys(self.resource_names, count)
