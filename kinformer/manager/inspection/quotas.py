"""How much of ResourceQuotas and GroupQuotas is used, if the manager has an informer for them anyway.

A quota is read again when its resourceVersion has changed. A quota whose amounts cannot be parsed is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nlargest
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.informers import SharedInformerFactory
from kinformer.manager.inspection.views import QuotaView
from kinformer.meta import GroupVersionResource, Quantity, QuantityError, accessor_of

__all__ = ("MOST", "Quotas")

#: How many limits are shown.
MOST: Final = 50

#: The greatest share that is shown.
_MOST_SHARE: Final = 1e6

#: Not imported from the controllers: the manager must not import controllers.
_KINDS: Final = {
    GroupVersionResource("", "v1", "resourcequotas"): "ResourceQuota",
    GroupVersionResource("quota.kinformer.dev", "v1", "groupquotas"): "GroupQuota",
}


class Quotas:
    """The limits of all quotas in the manager's caches."""

    def __init__(self, informers: SharedInformerFactory) -> None:
        self._informers = informers
        self._read: dict[tuple[str, str], tuple[str, list[QuotaView]]] = {}

    def fullest(self) -> tuple[list[QuotaView], int]:
        """The limits with the greatest used share, the fullest first, and the number of all limits."""
        read = {}
        for gvr, informer in self._informers.informers.items():
            if gvr in _KINDS:
                read.update(self._of(_KINDS[gvr], informer))
        self._read = read
        limits = [limit for _, limits in read.values() for limit in limits]
        return nlargest(MOST, limits, key=lambda limit: limit.share), len(limits)

    def _of(self, kind: str, informer: SharedIndexInformer[Any]) -> dict[tuple[str, str], tuple[str, list[QuotaView]]]:
        found = {}
        for obj in informer.indexer.list():
            accessor = accessor_of(obj)
            key, version = (kind, accessor.key(obj)), accessor.resource_version(obj)
            known = self._read.get(key)
            found[key] = known if known is not None and known[0] == version else (version, _limits(*key, obj))
        return found


def _limits(kind: str, name: str, obj: Any) -> list[QuotaView]:
    try:
        hard, used = _amounts(obj, "hard"), _amounts(obj, "used")
    except (QuantityError, ValueError, TypeError, AttributeError):
        return []
    return [
        QuotaView(
            kind=kind,
            name=name,
            resource=resource,
            used=str(used[resource]),
            hard=str(limit),
            share=_share(used[resource], limit),
        )
        for resource, limit in hard.items()
        if resource in used
    ]


def _amounts(obj: Any, field: str) -> dict[str, Quantity]:
    status = obj.get("status") if isinstance(obj, Mapping) else obj.status
    texts = status.get(field) if isinstance(status, Mapping) else getattr(status, field, None)
    return {str(resource): Quantity.parse(text) for resource, text in (texts or {}).items()}


def _share(used: Quantity, hard: Quantity) -> float:
    if not hard:
        return 1.0 if used else 0.0
    try:
        return min(used.nano / hard.nano, _MOST_SHARE)
    except OverflowError:
        return _MOST_SHARE
