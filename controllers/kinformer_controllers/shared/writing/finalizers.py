"""Finalizers: checking for them, and patches that add and remove them."""

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
    """Whether an object needs the finalizer and lacks it, or is being deleted and still has it."""
    return has_finalizer(obj, finalizer) == accessor_of(obj).is_being_deleted(obj)


def without_finalizers(finalizers: Iterable[str] | None, *removed: str) -> list[str]:
    """Return the other finalizers, in their order."""
    return [it for it in finalizers or () if it not in removed]


def add_finalizers_patch(obj: Any, *finalizers: str) -> dict[str, Any]:
    """Return a strategic merge patch that adds finalizers. Its uid makes it fail for another object with this name."""
    return {"metadata": {"uid": accessor_of(obj).uid(obj), "finalizers": list(finalizers)}}


def remove_finalizers_patch(obj: Any, *finalizers: str) -> dict[str, Any]:
    """Return a strategic merge patch that removes finalizers. It works with any version of this object, by its uid."""
    return {"metadata": {"uid": accessor_of(obj).uid(obj), "$deleteFromPrimitiveList/finalizers": list(finalizers)}}
