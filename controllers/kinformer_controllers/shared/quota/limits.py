"""Limits: a quota as admission and the controller reckon with it, whatever kind of object it is kept in."""

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

    :param hard: the limits in force, which are those of the status
    :param used: what is used of them, as far as it is known
    :param source: the object that this was read from
    :param selects: whether it is about an object (its namespace, and itself); about all of its namespace's if None
    """

    namespace: str
    name: str
    scopes: tuple[ScopeRequirement, ...]
    hard: ResourceList
    used: ResourceList
    source: Any = None
    selects: Callable[[str, Any], bool] | None = None

    def is_about(self, namespace: str, obj: Any) -> bool:
        """Whether an object is one of those that this is for, whatever its scopes."""
        return self.selects is None or self.selects(namespace, obj)

    def with_used(self, used: ResourceList) -> Quota:
        """The same with another usage."""
        return replace(self, used=used)


def quota_of(obj: Any) -> Quota:
    """
    Read a ResourceQuota, a model or JSON.

    :raises QuantityError: if a limit or usage is no quantity
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
    """A quota's JSON with the usage as it is reckoned now."""
    return {**obj, "status": {**(obj.get("status") or {}), "hard": dump(quota.hard), "used": dump(quota.used)}}
