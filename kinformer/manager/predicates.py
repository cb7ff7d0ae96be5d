"""Predicates: which changes of an object are worth a sync.

A predicate is asked ``predicate(old, new)`` for every notification of the source that it was given with: ``old`` is
None for an object that is new, ``new`` is None for one that is gone. Those here let everything but an update through,
and an update where the part that they are named after is different.
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

#: Given the object before and after, says whether to go on.
Predicate: TypeAlias = Callable[[Any, Any], bool]


def generation_changed(old: Any, new: Any) -> bool:
    """The spec is different, for kinds whose API counts generations: a controller's own status writes are not heard."""
    return _differs(old, new, Accessor.generation)


def resource_version_changed(old: Any, new: Any) -> bool:
    """Anything is different: this is no resync."""
    return _differs(old, new, lambda accessor, obj: accessor.resource_version(obj))


def labels_changed(old: Any, new: Any) -> bool:
    return _differs(old, new, Accessor.labels)


def annotations_changed(old: Any, new: Any) -> bool:
    return _differs(old, new, Accessor.annotations)


def any_of(*predicates: Predicate) -> Predicate:
    """Let through what any of them lets through. (A source that is given several asks that all of them do.)"""
    return lambda old, new: any(predicate(old, new) for predicate in predicates)


def _differs(old: Any, new: Any, part: Callable[[Accessor[Any], Any], Any]) -> bool:
    if old is None or new is None:
        return True
    accessor = accessor_of(new)
    return bool(part(accessor, old) != part(accessor, new))
