"""ControllerRevisions: their names, equality and order, and reading and writing those of an owner.

The owner chooses a revision's data. For DaemonSets and StatefulSets it is a patch of their template.
:class:`RevisionHistory` reads the revisions of owners from a cache, and writes them to the server.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, PatchType
from kinformer.client.errors import AlreadyExists, Conflict, Invalid, NotFound
from kinformer.controllerutil.claiming import AdoptionError
from kinformer.controllerutil.owning import add_controller_index, owned_by
from kinformer.meta import GroupVersionKind, Selector, accessor_of, get_controller_of, new_controller_ref
from kinformer.models import V1ControllerRevision, V1ObjectMeta, V1PodTemplateSpec, to_dict
from kinformer_controllers.shared.history.hashing import canonical_json, fnv32, go_json, safe_encode

__all__ = (
    "HASH_LABEL",
    "RevisionHistory",
    "equal_revisions",
    "new_revision",
    "next_revision",
    "number_of",
    "revision_hash",
    "revision_name",
    "same_revision",
    "sorted_revisions",
    "template_patch",
    "with_bytes",
)

#: The label with the hash of a revision's data.
HASH_LABEL: Final = "controller.kubernetes.io/hash"

#: The length to which the owner's name is cut. A name has at most 253 letters; the hash and its dash need the rest.
_PREFIX_LENGTH: Final = 223
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

#: How often a new number is written again after a conflict.
_RETRIES: Final = 4


def revision_name(prefix: str, hash_: str) -> str:
    """Return the name of a revision: the owner's name, a dash and the hash."""
    return f"{prefix[:_PREFIX_LENGTH]}-{hash_}"


def revision_hash(data: Any, collision_count: int | None = None) -> str:
    """
    Return the hash of a revision's data.

    :param collision_count: how often a name was already taken; None if the owner does not count this
    """
    probe = b"" if collision_count is None else str(collision_count).encode()
    return safe_encode(fnv32(canonical_json(data) if data is not None else b"", probe))


def new_revision(
    owner: Any,
    kind: GroupVersionKind,
    template_labels: Mapping[str, str] | None,
    data: Any,
    revision: int,
    collision_count: int | None = None,
) -> V1ControllerRevision:
    """Make a revision of `owner`. Its name has its hash, and it can be created as it is."""
    accessor = accessor_of(owner)
    hash_ = revision_hash(data, collision_count)
    return V1ControllerRevision(
        api_version="apps/v1",
        kind="ControllerRevision",
        metadata=V1ObjectMeta(
            name=revision_name(accessor.name(owner), hash_),
            namespace=accessor.namespace(owner),
            labels={**(template_labels or {}), HASH_LABEL: hash_},
            owner_references=[new_controller_ref(owner, kind)],
        ),
        data=data,
        revision=revision,
    )


def template_patch(template: V1PodTemplateSpec) -> dict[str, Any]:
    """Return a revision's data: a strategic merge patch that replaces the template by this one."""
    plain = to_dict(template)
    for volume in plain.get("spec", {}).get("volumes", ()):
        if "projected" in volume:
            volume["projected"].setdefault("sources", None)  # Go writes this list even if it is missing
    return {"spec": {"template": {**plain, "$patch": "replace"}}}


def with_bytes(revision: V1ControllerRevision, *, is_new: bool = False) -> V1ControllerRevision:
    """
    Return a copy to be sent, whose data has Go's bytes.

    :param is_new: whether the keys are to be sorted. They must not be moved in a revision that exists: the server
        refuses other bytes there
    """
    sent = copy.copy(revision)
    if revision.data is not None:
        sent.data = msgspec.Raw(canonical_json(revision.data) if is_new else go_json(revision.data))
    return sent


def same_revision(one: V1ControllerRevision, other: V1ControllerRevision) -> bool:
    """Whether two revisions have the same data. Their names and numbers are not compared."""
    return bool(one.data == other.data)


def equal_revisions(
    revisions: Iterable[V1ControllerRevision], like: V1ControllerRevision
) -> list[V1ControllerRevision]:
    """Return the revisions that have the same data as `like`."""
    return [each for each in revisions if same_revision(each, like)]


def sorted_revisions(revisions: Iterable[V1ControllerRevision]) -> list[V1ControllerRevision]:
    """Sort by number, then by creation time, then by name. The newest is the last."""
    return sorted(revisions, key=_order)


def number_of(revision: V1ControllerRevision) -> int:
    """Return a revision's number; 0 if it has none."""
    number: int | None = revision.revision
    return number or 0


def next_revision(revisions: Iterable[V1ControllerRevision]) -> int:
    """Return the number of the next revision: one more than the highest number."""
    return max((number_of(each) for each in revisions), default=0) + 1


def _order(revision: V1ControllerRevision) -> tuple[int, datetime, str]:
    meta = revision.metadata
    return number_of(revision), meta.creation_timestamp or _LONG_AGO, meta.name


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
