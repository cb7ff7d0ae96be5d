"""The result of a write: whether the object was created or updated, and which fields changed.

:func:`create_or_update` and :class:`Applier` return it, so that a log line or an Event can say what was done.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from kinformer.models import to_dict

__all__ = ("Outcome", "Written", "changed_fields")

T = TypeVar("T")

#: The fields of the metadata that the server sets.
_KEPT_BY_SERVER: Final = frozenset(
    ("resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink")
)


class Outcome(enum.Enum):
    """Whether a write created or changed the object."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Written(Generic[T]):
    """
    An object after a write, and what the write changed.

    :ivar object: the object, as the server returned it
    :ivar outcome: whether it was created or changed
    :ivar fields: the paths of the fields that changed, such as ``spec.replicas``; empty for a new object
    """

    object: T
    outcome: Outcome
    fields: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the object was created or updated."""
        return self.outcome is not Outcome.UNCHANGED


def changed_fields(before: Any, after: Any) -> tuple[str, ...]:
    """
    Return the sorted paths of the fields in which two objects differ. A list counts as one field.

    The status is ignored, and so are the metadata fields that the server sets: the versions, the UID, the creation
    timestamp and the managed fields.
    """
    return tuple(sorted(_differences(comparable(before), comparable(after), "")))


def comparable(obj: Any) -> dict[str, Any]:
    """An object as a dict, without its status and the metadata fields that the server sets."""
    plain = dict(obj) if isinstance(obj, Mapping) else to_dict(obj)
    plain.pop("status", None)
    metadata = plain.get("metadata") or {}
    plain["metadata"] = {name: value for name, value in metadata.items() if name not in _KEPT_BY_SERVER}
    return plain


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    if before == after:
        return
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        yield path
        return
    for name in before.keys() | after.keys():
        yield from _differences(before.get(name), after.get(name), f"{path}.{name}" if path else str(name))
