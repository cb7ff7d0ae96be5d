"""Finalizers: the names of those who still have something to do before an object may go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kinformer.meta import accessor_of

__all__ = (
    "add_finalizers_patch",
    "has_finalizer",
    "is_finalizer_due",
    "remove_finalizers_patch",
    "without_finalizers",
)


def has_finalizer(obj: Any, finalizer: str) -> bool:
    return finalizer in accessor_of(obj).finalizers(obj)


def is_finalizer_due(obj: Any, finalizer: str) -> bool:
    """Whether a finalizer has to be put on an object that lacks it, or can perhaps be taken off one that is deleted."""
    return has_finalizer(obj, finalizer) == (accessor_of(obj).is_being_deleted(obj))


def without_finalizers(finalizers: Iterable[str] | None, *removed: str) -> list[str]:
    """Those that are left, in their order."""
    return [it for it in finalizers or () if it not in removed]


def add_finalizers_patch(obj: Any, *finalizers: str) -> dict[str, Any]:
    """A strategic merge patch that puts finalizers on this very object, and not on another of its name."""
    return {"metadata": {"uid": accessor_of(obj).uid(obj), "finalizers": list(finalizers)}}


def remove_finalizers_patch(obj: Any, *finalizers: str) -> dict[str, Any]:
    """A strategic merge patch that takes finalizers from this very object, whatever others have done meanwhile."""
    return {"metadata": {"uid": accessor_of(obj).uid(obj), "$deleteFromPrimitiveList/finalizers": list(finalizers)}}
