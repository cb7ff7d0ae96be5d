"""RevisionHistory: reads the ControllerRevisions of owners from a cache, and writes them to the server."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, PatchType
from kinformer.client.errors import AlreadyExists, Conflict, Invalid, NotFound
from kinformer.controllerutil.claiming import AdoptionError
from kinformer.controllerutil.owning import add_controller_index, owned_by
from kinformer.meta import GroupVersionKind, Selector, accessor_of, get_controller_of, new_controller_ref
from kinformer.models import V1ControllerRevision, to_dict
from kinformer_controllers.shared.history.revisions import revision_hash, revision_name, same_revision, with_bytes

__all__ = ("RevisionHistory",)

#: How often a new number is written again after a conflict.
_RETRIES: Final = 4


class RevisionHistory:
    """
    The ControllerRevisions of all owners of one kind.

    :param kind: the owners' kind
    :param informer: of ControllerRevisions; it gets an index by controller
    """

    def __init__(
        self, client: Client, kind: GroupVersionKind, informer: SharedIndexInformer[V1ControllerRevision]
    ) -> None:
        add_controller_index(informer)
        self._kind = kind
        self._indexer = informer.indexer
        self._server = client.resource(V1ControllerRevision)

    def list(self, owner: Any, selector: Selector) -> list[V1ControllerRevision]:
        """Return the revisions that match the selector and belong to the owner or have no owner."""
        found = owned_by(self._indexer, owner, self._kind.kind)
        return [each for each in found if selector.matches(each.metadata.labels)]

    async def create(
        self,
        owner: Any,
        revision: V1ControllerRevision,
        collision_count: int,
        on_collision: Callable[[int], object] = lambda count: None,
    ) -> V1ControllerRevision:
        """
        Create a revision.

        If its name is taken by a revision with the same data, that one is returned. If it is taken by another
        revision, the next name is tried.

        :param on_collision: called with the new count each time that a name was taken
        """
        name = accessor_of(owner).name(owner)
        made = with_bytes(revision, is_new=True)
        made.metadata = copy.copy(revision.metadata)
        while True:
            made.metadata.name = revision_name(name, revision_hash(revision.data, collision_count))
            try:
                return await self._server.create(made)
            except AlreadyExists:
                there = await self._server.get(made.metadata.name, made.metadata.namespace)
                if same_revision(there, revision):
                    return there
                collision_count += 1
                on_collision(collision_count)

    async def renumber(self, revision: V1ControllerRevision, number: int) -> V1ControllerRevision:
        """
        Set a revision's number. After a conflict, the revision is read again and the write is repeated.

        :raises Conflict: if the write failed five times
        :raises NotFound: if the revision is gone
        """
        for retries_left in range(_RETRIES, -1, -1):
            if revision.revision == number:
                return revision
            changed = with_bytes(revision)
            changed.revision = number
            try:
                return await self._server.update(changed)
            except Conflict:
                if not retries_left:
                    raise
            revision = await self._server.get(revision.metadata.name, revision.metadata.namespace)
        raise AssertionError("the last try returns or raises")

    async def delete(self, revision: V1ControllerRevision) -> None:
        """
        Delete a revision.

        :raises NotFound: if it is already gone
        """
        await self._server.delete(revision.metadata.name, revision.metadata.namespace)

    async def patch(self, namespace: str, name: str, patch: dict[str, Any]) -> V1ControllerRevision:
        """Apply a strategic merge patch. A :class:`ControllerRefManager` adopts and releases with this method."""
        return await self._server.patch(name, patch, namespace, patch_type=PatchType.STRATEGIC)

    async def adopt(self, owner: Any, revision: V1ControllerRevision) -> V1ControllerRevision:
        """
        Make `owner` the controller of an orphan.

        :raises AdoptionError: if it has a controller
        """
        meta = revision.metadata
        if (controller := get_controller_of(revision)) is not None:
            raise AdoptionError(f"revision {meta.name} is controlled by {controller.kind} {controller.name} already")
        reference = to_dict(new_controller_ref(owner, self._kind))
        return await self.patch(meta.namespace, meta.name, _owners_patch(meta.uid, reference))

    async def release(self, owner: Any, revision: V1ControllerRevision) -> V1ControllerRevision | None:
        """Remove the owner's reference. Returns None if the revision is gone or does not have this owner."""
        meta = revision.metadata
        taken = {"$patch": "delete", "uid": accessor_of(owner).uid(owner)}
        try:
            return await self.patch(meta.namespace, meta.name, _owners_patch(meta.uid, taken))
        except (NotFound, Invalid):
            return None


def _owners_patch(uid: str, reference: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"uid": uid, "ownerReferences": [reference]}}
