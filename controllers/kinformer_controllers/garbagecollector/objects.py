"""Objects on the server: read, changed and deleted by what references say of them.

Of each no more than the metadata is asked for.
"""

from __future__ import annotations

from typing import Any, Final

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
from kinformer.deletion.absent import Identity
from kinformer.deletion.heads import Head, HeadMeta, Reference
from kinformer.deletion.verdict import Propagation
from kinformer.meta import GroupResource
from kinformer_controllers.garbagecollector import patches
from kinformer_controllers.shared.kinds.mapping import KindMapper

__all__ = ("NamespacedOwnerOfClusterWide", "Objects")

_NO_REFERENCES: Final[list[Reference]] = []


class NamespacedOwnerOfClusterWide(Exception):
    """An object that belongs to no namespace names an owner of a kind that does: it says not in which."""


class Objects:
    """
    The server's objects.

    :param mapper: knows where kinds are served
    """

    def __init__(self, client: Client, mapper: KindMapper) -> None:
        self._client = client
        self._mapper = mapper
        #: Those that take no strategic merge patches.
        self._custom: set[GroupResource] = set()

    async def kind_of(self, api_version: str, kind: str) -> ApiResource:
        """
        :raises NoKindMatch: if the server serves no such kind
        """
        return await self._mapper.find(api_version, kind)

    async def get(self, identity: Identity) -> HeadMeta:
        """
        :raises NotFound: if there is none of that name; another one of its name is returned
        :raises NoKindMatch: if the server serves no such kind, or does not know where it is asked for it
        :raises NamespacedOwnerOfClusterWide: if the kind belongs to namespaces, and it is not known to which
        """
        resource, namespace = await self._resource(identity)
        try:
            return (await resource.get(identity.name, namespace)).metadata
        except NotFound as error:
            if _is_of_the_object(error):
                raise
            # Its version is served no longer, or its server is not there: that says nothing of the object.
            raise NoKindMatch(f"{identity.kind} in {identity.api_version}: {error}") from error

    async def delete(self, identity: Identity, propagation: Propagation, version: str = "") -> None:
        """
        Delete this very object.

        :param version: only at this version, if it is not empty
        :raises NotFound: if there is none of its name
        :raises Conflict: if it has another uid, or version
        """
        resource, namespace = await self._resource(identity)
        preconditions = Preconditions(uid=identity.uid, resource_version=version or None)
        options = DeleteOptions(preconditions=preconditions, propagation_policy=propagation)
        await resource.delete(identity.name, namespace, options)

    async def disown(self, identity: Identity, owners: tuple[str, ...]) -> None:
        """
        Take references to owners from an object.

        :raises NotFound: if there is none of its name
        :raises Conflict: if it is another one, or somebody changed it meanwhile
        """

        def merge(meta: HeadMeta) -> dict[str, Any]:
            return patches.disown_merge(meta.resource_version, meta.owner_references or _NO_REFERENCES, owners)

        await self._patch(identity, patches.disown(identity.uid, owners), merge)

    async def unblock(self, identity: Identity, meta: HeadMeta) -> None:
        """
        Let an object hold up the deletion of no owner.

        :param meta: the object as it was seen last
        :raises NotFound: as :meth:`disown`
        :raises Conflict: as :meth:`disown`
        """

        def merge(meta: HeadMeta) -> dict[str, Any]:
            return patches.unblock_merge(meta.resource_version, meta.owner_references or _NO_REFERENCES)

        await self._patch(identity, patches.unblock(identity.uid, meta.owner_references or _NO_REFERENCES), merge)

    async def take_finalizer(self, identity: Identity, meta: HeadMeta, finalizer: str) -> None:
        """
        Take a finalizer from an object that was just read; nothing if it does not have it.

        :raises Conflict: if somebody changed it meanwhile
        """
        if finalizer not in (meta.finalizers or ()):
            return
        resource, namespace = await self._resource(identity)
        body = patches.without_finalizer(meta.resource_version, meta.finalizers or (), finalizer)
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
    """Whether it is the object that is not there, and not the resource."""
    unexpected = any(cause.reason == "UnexpectedServerResponse" for cause in error.causes)
    return bool(error.details.name) and not unexpected
