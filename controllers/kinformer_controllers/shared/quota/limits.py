"""Quota: the limits and the usage with which admission and the controller compute, independent of the stored kind.

Scopes are conditions that select the objects to which a quota applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from kinformer.meta.resourcelist import ResourceList, dump, load
from kinformer.meta.validation import label_value_errors

__all__ = (
    "BEST_EFFORT",
    "CROSS_NAMESPACE_POD_AFFINITY",
    "EXISTS",
    "NOT_BEST_EFFORT",
    "NOT_TERMINATING",
    "PRIORITY_CLASS",
    "SCOPES",
    "TERMINATING",
    "VOLUME_ATTRIBUTES_CLASS",
    "MatchesScope",
    "Quota",
    "ScopeError",
    "ScopeRequirement",
    "matches_class",
    "matches_no_scope",
    "quota_of",
    "scopes_of",
    "with_status",
)

TERMINATING: Final = "Terminating"
NOT_TERMINATING: Final = "NotTerminating"
BEST_EFFORT: Final = "BestEffort"
NOT_BEST_EFFORT: Final = "NotBestEffort"
PRIORITY_CLASS: Final = "PriorityClass"
CROSS_NAMESPACE_POD_AFFINITY: Final = "CrossNamespacePodAffinity"
VOLUME_ATTRIBUTES_CLASS: Final = "VolumeAttributesClass"

SCOPES: Final = frozenset(
    {
        TERMINATING,
        NOT_TERMINATING,
        BEST_EFFORT,
        NOT_BEST_EFFORT,
        PRIORITY_CLASS,
        CROSS_NAMESPACE_POD_AFFINITY,
        VOLUME_ATTRIBUTES_CLASS,
    }
)

EXISTS: Final = "Exists"


class ScopeError(ValueError):
    """A scope has an unknown operator, or values that its operator does not allow."""


class ScopeRequirement(NamedTuple):
    """
    One condition on objects. A plain scope is a condition with the operator Exists.

    :param scope: ``Terminating``, ``PriorityClass``, …
    :param operator: ``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``
    """

    scope: str
    operator: str = EXISTS
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{{{self.scope} {self.operator} [{' '.join(self.values)}]}}"


#: Whether an object is in a scope.
MatchesScope: TypeAlias = Callable[[ScopeRequirement, Any], bool]


def scopes_of(scopes: Iterable[str] | None, scope_selector: Any = None) -> tuple[ScopeRequirement, ...]:
    """
    Return the conditions of a quota's spec.

    :param scope_selector: a model or JSON
    """
    plain = [ScopeRequirement(scope) for scope in scopes or ()]
    if scope_selector is None:
        return tuple(plain)
    if isinstance(scope_selector, dict):
        selected = [
            ScopeRequirement(one.get("scopeName", ""), one.get("operator", ""), tuple(one.get("values") or ()))
            for one in scope_selector.get("matchExpressions") or ()
        ]
    else:
        selected = [
            ScopeRequirement(one.scope_name or "", one.operator or "", tuple(one.values or ()))
            for one in scope_selector.match_expressions or ()
        ]
    return (*plain, *selected)


def matches_no_scope(requirement: ScopeRequirement, obj: Any) -> bool:
    """Return False. For kinds that have no scopes: a quota with scopes never applies to them."""
    return False


def matches_class(requirement: ScopeRequirement, names: Sequence[str]) -> bool:
    """
    Whether one of the classes that an object refers to meets the requirement.

    :param names: the names of these classes
    :raises ScopeError: if the requirement is invalid
    """
    _, operator, values = requirement
    if operator in ("In", "NotIn"):
        if not values:
            raise ScopeError("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
        for value in values:
            if errors := label_value_errors(value):
                raise ScopeError(f"values: Invalid value: {value!r}: {'; '.join(errors)}")
    elif operator in (EXISTS, "DoesNotExist"):
        if values:
            raise ScopeError("values: Invalid value: values set must be empty for exists and does not exist")
    else:
        raise ScopeError(f'"{operator}" is not a valid scope selector operator')
    match operator:
        case "In":
            return any(name in values for name in names)
        case "NotIn":
            return not names or any(name not in values for name in names)
        case "Exists":
            return bool(names)
        case _:
            return not names


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
