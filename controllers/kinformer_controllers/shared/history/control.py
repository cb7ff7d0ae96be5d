"""RevisionHistory: the ControllerRevisions of owners, on a server."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, PatchType
from kinformer.client.errors import AlreadyExists, Conflict, Invalid, NotFound
from kinformer.meta import GroupVersionKind, Selector, accessor_of, get_controller_of, new_controller_ref
from kinformer.models import V1ControllerRevision, to_dict
from kinformer_controllers.shared.history.hashing import in_order
from kinformer_controllers.shared.history.revisions import revision_hash, revision_name, same_revision
from kinformer_controllers.shared.owning.claim import AdoptionError
from kinformer_controllers.shared.owning.index import add_controller_index, owned_by

__all__ = ("RevisionHistory",)

#: How often a number that was refused is written again.
_RETRIES: Final = 4


class RevisionHistory:
    """
    :param kind: what the owners are
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
        """Those that match, and are the owner's or nobody's."""
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
        Create a revision. One of its name that has the same data is given back instead; for another, a new name is
        tried.

        :param on_collision: told of the new count each time that a name was taken
        """
        name = accessor_of(owner).name(owner)
        made = copy.copy(revision)
        made.metadata = copy.copy(revision.metadata)
        made.data = in_order(revision.data)
        while True:
            made.metadata.name = revision_name(name, revision_hash(revision.data, collision_count))
            try:
                return await self._server.create(made)
            except AlreadyExists:
                there = await self._server.get(made.metadata.name, made.metadata.namespace)
                if same_revision(there, made):
                    return there
                collision_count += 1
                on_collision(collision_count)

    async def renumber(self, revision: V1ControllerRevision, number: int) -> V1ControllerRevision:
        """Give a revision another number, whoever else writes it meanwhile."""
        for retries_left in range(_RETRIES, -1, -1):
            if revision.revision == number:
                return revision
            changed = copy.copy(revision)
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
        :raises NotFound: if it is gone already
        """
        await self._server.delete(revision.metadata.name, revision.metadata.namespace)

    async def patch(self, namespace: str, name: str, patch: dict[str, Any]) -> V1ControllerRevision:
        """Apply a strategic merge patch: what a :class:`ControllerRefManager` adopts and releases with."""
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
        """Take an owner's reference off; None if the revision is gone, or has no such owner."""
        meta = revision.metadata
        taken = {"$patch": "delete", "uid": accessor_of(owner).uid(owner)}
        try:
            return await self.patch(meta.namespace, meta.name, _owners_patch(meta.uid, taken))
        except (NotFound, Invalid):
            return None


def _owners_patch(uid: str, reference: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"uid": uid, "ownerReferences": [reference]}}
