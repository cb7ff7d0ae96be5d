"""Quota: the limits and the usage with which admission and the controller compute, independent of the stored kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kinformer.meta.resourcelist import ResourceList, dump, load
from kinformer_controllers.shared.quota.scopes import ScopeRequirement, scopes_of

__all__ = ("Quota", "quota_of", "with_status")


@dataclass(frozen=True, slots=True)
class Quota:
    """
    One quota at one version.

    :param hard: the limits in force: those of the status
    :param used: the usage, as far as it is known
    :param source: the object that this was read from
    :param selects: whether it applies to an object, called with the object's namespace and the object. None if it
        applies to all objects of its namespace
    """

    namespace: str
    name: str
    scopes: tuple[ScopeRequirement, ...]
    hard: ResourceList
    used: ResourceList
    source: Any = None
    selects: Callable[[str, Any], bool] | None = None

    def is_about(self, namespace: str, obj: Any) -> bool:
        """Whether the quota applies to an object. Scopes are not checked."""
        return self.selects is None or self.selects(namespace, obj)

    def with_used(self, used: ResourceList) -> Quota:
        """Return the same quota with another usage."""
        return replace(self, used=used)


def quota_of(obj: Any) -> Quota:
    """
    Read a ResourceQuota from a model or from JSON.

    :raises QuantityError: if a limit or a usage is not a valid quantity
    """
    if isinstance(obj, Mapping):
        metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
        return Quota(
            metadata.get("namespace", ""),
            metadata["name"],
            scopes_of(spec.get("scopes"), spec.get("scopeSelector")),
            load(status.get("hard")),
            load(status.get("used")),
            obj,
        )
    spec, status = obj.spec, obj.status
    return Quota(
        obj.metadata.namespace or "",
        obj.metadata.name,
        scopes_of(spec.scopes, spec.scope_selector) if spec is not None else (),
        load(status.hard) if status is not None else {},
        load(status.used) if status is not None else {},
        obj,
    )


def with_status(obj: dict[str, Any], quota: Quota) -> dict[str, Any]:
    """Return a quota's JSON with the limits and the usage of `quota` in its status."""
    return {**obj, "status": {**(obj.get("status") or {}), "hard": dump(quota.hard), "used": dump(quota.used)}}
