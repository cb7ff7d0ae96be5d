"""The names, the equality and the order of ControllerRevisions. No I/O.

The owner chooses a revision's data. For DaemonSets and StatefulSets it is a patch of their template.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kinformer.meta import GroupVersionKind, accessor_of, new_controller_ref
from kinformer.models import V1ControllerRevision, V1ObjectMeta, V1PodTemplateSpec, to_dict
from kinformer_controllers.shared.history.hashing import canonical_json, fnv32, go_json, safe_encode

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
    "template_patch",
    "with_bytes",
)

#: The label with the hash of a revision's data.
HASH_LABEL: Final = "controller.kubernetes.io/hash"

#: The length to which the owner's name is cut. A name has at most 253 letters; the hash and its dash need the rest.
_PREFIX_LENGTH: Final = 223
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


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
