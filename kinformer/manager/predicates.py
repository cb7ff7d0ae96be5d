"""Predicates: which changes of an object need a sync.

A predicate is called as ``predicate(old, new)`` for every notification of its source. ``old`` is None if the object was
added, ``new`` is None if it was deleted. The predicates of this module accept all additions and deletions. They accept
an update if the part that they are named after has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kinformer.meta import Accessor, accessor_of

__all__ = (
    "Predicate",
    "annotations_changed",
    "any_of",
    "generation_changed",
    "labels_changed",
    "resource_version_changed",
)

#: Takes the object before and after a change, and returns whether the change needs a sync.
Predicate: TypeAlias = Callable[[Any, Any], bool]


def generation_changed(old: Any, new: Any) -> bool:
    """The generation has changed, so the spec has. Writes of the status do not change it. Not every kind has one."""
    return _differs(old, new, Accessor.generation)


def resource_version_changed(old: Any, new: Any) -> bool:
    """The object has changed in any way. A resync is not accepted."""
    return _differs(old, new, lambda accessor, obj: accessor.resource_version(obj))


def labels_changed(old: Any, new: Any) -> bool:
    """The labels have changed."""
    return _differs(old, new, Accessor.labels)


def annotations_changed(old: Any, new: Any) -> bool:
    """The annotations have changed."""
    return _differs(old, new, Accessor.annotations)


def any_of(*predicates: Predicate) -> Predicate:
    """Accept a change if any of the predicates accepts it. (A source with several predicates needs all of them.)"""
    return lambda old, new: any(predicate(old, new) for predicate in predicates)


def _differs(old: Any, new: Any, part: Callable[[Accessor[Any], Any], Any]) -> bool:
    if old is None or new is None:
        return True
    accessor = accessor_of(new)
    return bool(part(accessor, old) != part(accessor, new))
