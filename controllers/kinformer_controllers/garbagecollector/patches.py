"""What is written: bodies of patches, and finalizers.

A strategic merge patch changes single references, whatever else is there; it carries the uid, so that no other object
of the name is changed. Custom resources take none: theirs is a merge patch of all references, which the version guards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from kinformer.deletion.graph import ReferenceLike

__all__ = ("disown", "disown_merge", "unblock", "unblock_merge", "without_finalizer")


def disown(uid: str, owners: Iterable[str]) -> dict[str, Any]:
    """
    A strategic merge patch that takes references to owners from an object.

    :param uid: the object's own
    :param owners: their uids
    """
    return {"metadata": {"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": owner} for owner in owners]}}


def disown_merge(version: str, references: Iterable[ReferenceLike], owners: Collection[str]) -> dict[str, Any]:
    """
    The same as a merge patch.

    :param version: the object's, at which it has these references
    """
    kept = [_to_dict(reference) for reference in references if reference.uid not in owners]
    return {"metadata": {"resourceVersion": version, "ownerReferences": kept or None}}


def unblock(uid: str, references: Iterable[ReferenceLike]) -> dict[str, Any]:
    """A strategic merge patch by which an object holds up no owner's deletion."""
    blocking = [_unblocked(reference) for reference in references if reference.block_owner_deletion]
    return {"metadata": {"uid": uid, "ownerReferences": blocking}}


def unblock_merge(version: str, references: Iterable[ReferenceLike]) -> dict[str, Any]:
    """The same as a merge patch."""
    return {"metadata": {"resourceVersion": version, "ownerReferences": [_unblocked(one) for one in references]}}


def without_finalizer(version: str, finalizers: Iterable[str], finalizer: str) -> dict[str, Any]:
    """A merge patch that takes a finalizer from an object that has these, at its version."""
    kept = [one for one in finalizers if one != finalizer]
    return {"metadata": {"resourceVersion": version, "finalizers": kept or None}}


def _unblocked(reference: ReferenceLike) -> dict[str, Any]:
    return {**_to_dict(reference), "blockOwnerDeletion": False}


def _to_dict(reference: ReferenceLike) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(reference)
    return {name: value for name, value in found.items() if value is not None}
