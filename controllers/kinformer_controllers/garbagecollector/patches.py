"""The bodies of patches for owner references and finalizers.

A strategic merge patch changes single references and keeps the others. It has the object's uid, so it fails for another
object with the same name. Custom resources do not support it. For them a JSON merge patch with all references is made;
it has the resource version, so it fails if the object has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from kinformer.deletion.graph import ReferenceLike

__all__ = ("disown", "disown_merge", "unblock", "unblock_merge", "without_finalizer")


def disown(uid: str, owners: Iterable[str]) -> dict[str, Any]:
    """
    Return a strategic merge patch that removes references to owners from an object.

    :param uid: the object's uid
    :param owners: the owners' uids
    """
    return {"metadata": {"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": owner} for owner in owners]}}


def disown_merge(version: str, references: Iterable[ReferenceLike], owners: Collection[str]) -> dict[str, Any]:
    """
    Return the same as a JSON merge patch.

    :param version: the resource version at which the object has these references
    """
    kept = [_to_dict(reference) for reference in references if reference.uid not in owners]
    return {"metadata": {"resourceVersion": version, "ownerReferences": kept or None}}


def unblock(uid: str, references: Iterable[ReferenceLike]) -> dict[str, Any]:
    """Return a strategic merge patch that sets blockOwnerDeletion to False in all references."""
    blocking = [_unblocked(reference) for reference in references if reference.block_owner_deletion]
    return {"metadata": {"uid": uid, "ownerReferences": blocking}}


def unblock_merge(version: str, references: Iterable[ReferenceLike]) -> dict[str, Any]:
    """Return the same as a JSON merge patch."""
    return {"metadata": {"resourceVersion": version, "ownerReferences": [_unblocked(one) for one in references]}}


def without_finalizer(version: str, finalizers: Iterable[str], finalizer: str) -> dict[str, Any]:
    """Return a JSON merge patch that removes one of an object's finalizers, at this resource version."""
    kept = [one for one in finalizers if one != finalizer]
    return {"metadata": {"resourceVersion": version, "finalizers": kept or None}}


def _unblocked(reference: ReferenceLike) -> dict[str, Any]:
    return {**_to_dict(reference), "blockOwnerDeletion": False}


def _to_dict(reference: ReferenceLike) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(reference)
    return {name: value for name, value in found.items() if value is not None}
