"""Reading, patching and deleting objects on the server that are named by references. Only their metadata is read.

A strategic merge patch changes single references and keeps the others. It has the object's uid, so it fails for another
object with the same name. Custom resources do not support it. For them a JSON merge patch with all references is made;
it has the resource version, so it fails if the object has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from kinformer.client import (
    Client,
    DeleteOptions,
    NoKindMatch,
    NotFound,
    PatchType,
    Preconditions,
    Resource,
    UnsupportedMediaType,
)
from kinformer.client.discovery import ApiResource
from kinformer.deletion.graph import Identity, ReferenceLike
from kinformer.deletion.heads import Head, HeadMeta, Reference
from kinformer.deletion.verdict import Propagation
from kinformer.meta import GroupResource
from kinformer_controllers.shared.kinds import KindMapper

__all__ = (
    "NamespacedOwnerOfClusterWide",
    "Objects",
    "disown",
    "disown_merge",
    "unblock",
    "unblock_merge",
    "without_finalizer",
)

_NO_REFERENCES: Final[list[Reference]] = []


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


class NamespacedOwnerOfClusterWide(Exception):
    """A cluster-scoped object names an owner of a namespaced kind. The reference cannot say in which namespace."""


class Objects:
    """
    The server's objects.

    :param mapper: finds the resources of kinds
    """

    def __init__(self, client: Client, mapper: KindMapper) -> None:
        self._client = client
        self._mapper = mapper
        #: Resources that do not support strategic merge patches.
        self._custom: set[GroupResource] = set()

    async def kind_of(self, api_version: str, kind: str) -> ApiResource:
        """
        Return the resource of a kind.

        :raises NoKindMatch: if the server does not serve the kind
        """
        return await self._mapper.find(api_version, kind)

    async def get(self, identity: Identity) -> HeadMeta:
        """
        Return the metadata of the object with that name, even if its uid is another one.

        :raises NotFound: if there is no object with that name
        :raises NoKindMatch: if the server does not serve the kind, or not at this version
        :raises NamespacedOwnerOfClusterWide: if the kind is namespaced, and the namespace is not known
        """
        resource, namespace = await self._resource(identity)
        try:
            return (await resource.get(identity.name, namespace)).metadata
        except NotFound as error:
            if _is_of_the_object(error):
                raise
            # The API version is no longer served, or its server is not available. The object may still exist.
            raise NoKindMatch(f"{identity.kind} in {identity.api_version}: {error}") from error

    async def delete(self, identity: Identity, propagation: Propagation, version: str = "") -> None:
        """
        Delete the object with this uid.

        :param version: the resource version that it must have; empty for any
        :raises NotFound: if there is no object with its name
        :raises Conflict: if the object has another uid or version
        """
        resource, namespace = await self._resource(identity)
        preconditions = Preconditions(uid=identity.uid, resource_version=version or None)
        options = DeleteOptions(preconditions=preconditions, propagation_policy=propagation)
        await resource.delete(identity.name, namespace, options)

    async def disown(self, identity: Identity, owners: tuple[str, ...]) -> None:
        """
        Remove references to these owners from an object.

        :raises NotFound: if there is no object with its name
        :raises Conflict: if the object has another uid, or another client has changed it
        """

        def merge(meta: HeadMeta) -> dict[str, Any]:
            return disown_merge(meta.resource_version, meta.owner_references or _NO_REFERENCES, owners)

        await self._patch(identity, disown(identity.uid, owners), merge)

    async def unblock(self, identity: Identity, meta: HeadMeta) -> None:
        """
        Set blockOwnerDeletion to False in all owner references of an object.

        :param meta: the object's metadata as last read
        :raises NotFound: as in :meth:`disown`
        :raises Conflict: as in :meth:`disown`
        """

        def merge(meta: HeadMeta) -> dict[str, Any]:
            return unblock_merge(meta.resource_version, meta.owner_references or _NO_REFERENCES)

        await self._patch(identity, unblock(identity.uid, meta.owner_references or _NO_REFERENCES), merge)

    async def take_finalizer(self, identity: Identity, meta: HeadMeta, finalizer: str) -> None:
        """
        Remove a finalizer from an object that was just read, if it has it.

        :raises Conflict: if another client has changed the object
        """
        if finalizer not in (meta.finalizers or ()):
            return
        resource, namespace = await self._resource(identity)
        body = without_finalizer(meta.resource_version, meta.finalizers or (), finalizer)
        await resource.patch(identity.name, body, namespace, patch_type=PatchType.MERGE)

    async def _patch(self, identity: Identity, strategic: dict[str, Any], merge: Any) -> None:
        resource, namespace = await self._resource(identity)
        kind = resource.gvr.group_resource
        if kind not in self._custom:
            try:
                await resource.patch(identity.name, strategic, namespace, patch_type=PatchType.STRATEGIC)
            except UnsupportedMediaType:
                self._custom.add(kind)
            else:
                return
        meta = (await resource.get(identity.name, namespace)).metadata
        if meta.uid == identity.uid:
            await resource.patch(identity.name, merge(meta), namespace, patch_type=PatchType.MERGE)

    async def _resource(self, identity: Identity) -> tuple[Resource[Head], str]:
        kind = await self._mapper.find(identity.api_version, identity.kind)
        if kind.namespaced and not identity.namespace:
            raise NamespacedOwnerOfClusterWide(str(identity))
        resource = self._client.resource(Head, kind.gvr, namespaced=kind.namespaced, metadata_only=True)
        return resource, identity.namespace if kind.namespaced else ""


def _is_of_the_object(error: NotFound) -> bool:
    """Whether the object was not found, rather than the resource."""
    unexpected = any(cause.reason == "UnexpectedServerResponse" for cause in error.causes)
    return bool(error.details.name) and not unexpected
