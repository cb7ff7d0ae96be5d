"""Scopes: conditions that select the objects to which a quota applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

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
    "ScopeError",
    "ScopeRequirement",
    "matches_class",
    "matches_no_scope",
    "scopes_of",
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
