"""ControllerRevisions as values: what one is called, which are equal, and in which order they came. No I/O.

A revision's data is whatever its owner wants to find again: for DaemonSets and StatefulSets a patch of their template.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from kinformer.meta import GroupVersionKind, accessor_of, new_controller_ref
from kinformer.models import V1ControllerRevision, V1ObjectMeta
from kinformer_controllers.shared.history.hashing import canonical_json, fnv32, safe_encode

__all__ = (
    "HASH_LABEL",
    "equal_revisions",
    "next_revision",
    "new_revision",
    "number_of",
    "revision_hash",
    "revision_name",
    "same_revision",
    "sorted_revisions",
)

#: Has the hash of a revision's data.
HASH_LABEL: Final = "controller.kubernetes.io/hash"

#: A name has 253 letters at most; the hash and its dash take the rest.
_PREFIX_LENGTH: Final = 223
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def revision_name(prefix: str, hash_: str) -> str:
    """The name of a revision with that hash, of an owner of that name."""
    return f"{prefix[:_PREFIX_LENGTH]}-{hash_}"


def revision_hash(data: Any, collision_count: int | None = None) -> str:
    """
    The hash of a revision's data.

    :param collision_count: how often a name was taken already; None if nobody counts
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
    """A revision of `owner`, named after its hash and ready to be created."""
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


def same_revision(one: V1ControllerRevision, other: V1ControllerRevision) -> bool:
    """Whether two revisions have the same data, whatever they are called and numbered."""
    return bool(one.data == other.data)


def equal_revisions(
    revisions: Iterable[V1ControllerRevision], like: V1ControllerRevision
) -> list[V1ControllerRevision]:
    """Those that have the same data."""
    return [each for each in revisions if same_revision(each, like)]


def sorted_revisions(revisions: Iterable[V1ControllerRevision]) -> list[V1ControllerRevision]:
    """By number, then age, then name: the newest is the last."""
    return sorted(revisions, key=_order)


def number_of(revision: V1ControllerRevision) -> int:
    """A revision's number; 0 where it was made without one."""
    number: int | None = revision.revision
    return number or 0


def next_revision(revisions: Iterable[V1ControllerRevision]) -> int:
    """The number of the next one: one more than the highest."""
    return max((number_of(each) for each in revisions), default=0) + 1


def _order(revision: V1ControllerRevision) -> tuple[int, datetime, str]:
    meta = revision.metadata
    return number_of(revision), meta.creation_timestamp or _LONG_AGO, meta.name
