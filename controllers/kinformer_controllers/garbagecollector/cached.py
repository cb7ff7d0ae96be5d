"""The metadata of objects from the caches, so that the server need not be asked for each object."""

from __future__ import annotations

from typing import Any

from kinformer.cache import SharedIndexInformer
from kinformer.deletion.graph import Kind, Node
from kinformer.deletion.heads import Head, HeadMeta, Reference
from kinformer.meta import Accessor, accessor_for

__all__ = ("CachedHeads",)


class CachedHeads:
    """The caches of the kinds that are followed."""

    def __init__(self) -> None:
        self._informers: dict[Kind, SharedIndexInformer[Any]] = {}

    def add(self, kind: Kind, informer: SharedIndexInformer[Any]) -> None:
        """Add the informer of a kind."""
        self._informers[kind] = informer

    def remove(self, kind: Kind) -> None:
        """Remove a kind that is no longer watched."""
        self._informers.pop(kind, None)

    def get(self, node: Node) -> HeadMeta | None:
        """Return the metadata of the object with this uid; None if no cache has it."""
        informer = self._informers.get(node.kind)
        if informer is None:
            return None
        obj = informer.indexer.get_by_key(f"{node.namespace}/{node.name}" if node.namespace else node.name)
        if obj is None:
            return None
        meta = obj.metadata if type(obj) is Head else _head_of(obj, accessor_for(informer.type))
        return meta if meta.uid == node.uid else None


def _head_of(obj: Any, accessor: Accessor[Any]) -> HeadMeta:
    being_deleted = accessor.is_being_deleted(obj)
    return HeadMeta(
        uid=accessor.uid(obj),
        name=accessor.name(obj),
        namespace=accessor.namespace(obj) or None,
        resource_version=accessor.resource_version(obj),
        owner_references=[_reference(one) for one in accessor.owner_references(obj)] or None,
        finalizers=list(accessor.finalizers(obj)) or None,
        deletion_timestamp=str(accessor.field(obj, "deletionTimestamp")) if being_deleted else None,
    )


def _reference(reference: Any) -> Reference:
    """Convert a model's owner reference, or a dict."""
    if isinstance(reference, dict):
        return Reference(
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            reference.get("uid", ""),
            reference.get("controller"),
            reference.get("blockOwnerDeletion"),
        )
    return Reference(
        reference.api_version,
        reference.kind,
        reference.name,
        reference.uid,
        reference.controller,
        reference.block_owner_deletion,
    )
