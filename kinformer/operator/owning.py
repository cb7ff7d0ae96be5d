"""Owner references: whose an object is, so that it goes when its owner goes and its changes wake its owner's sync."""

from __future__ import annotations

from typing import Any

from kinformer.meta import GroupVersionKind, accessor_of, get_controller_of, new_controller_ref
from kinformer.models import V1ObjectMeta, to_dict

__all__ = ("AlreadyOwned", "set_controller_reference")


class AlreadyOwned(Exception):
    """Another object is the controller already; an object has one controller at most."""


def set_controller_reference(owner: Any, obj: Any, gvk: GroupVersionKind | None = None) -> None:
    """
    Make `owner` the controller of `obj`, in place (controller-runtime's ``SetControllerReference``).

    An object without a namespace gets its owner's. A reference to the same owner that is there already is replaced.

    :param obj: a model, a custom resource or a dict, with metadata; not one of a cache
    :param gvk: what kind `owner` is, where its type does not tell
    :raises AlreadyOwned: if another object is the controller of `obj`
    :raises ValueError: if `obj` is in another namespace than its owner, or `owner` has no uid (it was never created)
    """
    owners, objects = accessor_of(owner), accessor_of(obj)
    uid, namespace = owners.uid(owner), owners.namespace(owner)
    if not uid:
        raise ValueError(f"{owners.key(owner)} has no uid: create it before it owns something")
    current = get_controller_of(obj)
    if current is not None and current.uid != uid:
        raise AlreadyOwned(
            f"{objects.key(obj)} is controlled by {current.kind} {current.name}: it cannot belong to "
            f"{owners.key(owner)} as well"
        )
    there = objects.namespace(obj)
    if namespace and there and there != namespace:
        raise ValueError(f"{objects.key(obj)} cannot belong to {owners.key(owner)}, which is in another namespace")
    reference = new_controller_ref(owner, gvk)
    if isinstance(obj, dict):
        metadata = obj.setdefault("metadata", {})
        kept = [found for found in metadata.get("ownerReferences") or () if found.get("uid") != uid]
        metadata["ownerReferences"] = [*kept, to_dict(reference)]
        if namespace and not there:
            metadata["namespace"] = namespace
        return
    metadata = obj.metadata
    if not isinstance(metadata, V1ObjectMeta):
        raise TypeError(f"the metadata of {type(obj).__qualname__} is no V1ObjectMeta: it cannot name owners")
    kept = [found for found in metadata.owner_references or () if found.uid != uid]
    metadata.owner_references = [*kept, reference]
    if namespace and not there:
        metadata.namespace = namespace
