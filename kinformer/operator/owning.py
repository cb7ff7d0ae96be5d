"""Owner references: an object is deleted with its owner, and its changes can trigger a sync of the owner."""

from __future__ import annotations

from typing import Any

from kinformer.meta import GroupVersionKind, accessor_of, get_controller_of, new_controller_ref
from kinformer.models import V1ObjectMeta, to_dict

__all__ = ("AlreadyOwned", "set_controller_reference")


class AlreadyOwned(Exception):
    """The object already has another controlling owner. An object can have only one."""


def set_controller_reference(owner: Any, obj: Any, gvk: GroupVersionKind | None = None) -> None:
    """
    Make `owner` the controlling owner of `obj`, in place (controller-runtime's ``SetControllerReference``).

    If the object has no namespace, it gets its owner's. If it has a reference to this owner already, the reference is
    replaced.

    :param owner: an object from the server, with a UID
    :param obj: a model, a custom resource or a dict, with metadata. It is changed, so it must not be an object of a
        cache
    :param gvk: the kind of `owner`; needed only if its type does not tell
    :raises AlreadyOwned: if `obj` has another controlling owner
    :raises ValueError: if `obj` is in another namespace than its owner, or `owner` has no UID because it was not
        created yet
    :raises TypeError: if the metadata of `obj` is of another type
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
