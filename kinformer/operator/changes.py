"""What a write came to: an object before and one after go in, the fields that differ come out.

What :func:`create_or_update` and :class:`Applier` return, so that a log line or an Event can say what was done.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from kinformer.models import to_dict

__all__ = ("Outcome", "Written", "changed_fields")

T = TypeVar("T")

#: Of the metadata, what the server counts and keeps by itself.
_KEPT_BY_SERVER: Final = frozenset(
    ("resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink")
)


class Outcome(enum.Enum):
    """What happened to the object."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Written(Generic[T]):
    """
    An object as the server has it after a write, and what was different before.

    :ivar fields: the paths of the fields that changed, as ``spec.replicas``; empty for a new object
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
    The paths at which two objects differ, in the order of their names. Lists are compared as wholes.

    What the server keeps by itself is left aside: the status, and in the metadata the versions, the uid, the time of
    creation and the managed fields.
    """
    return tuple(sorted(_differences(comparable(before), comparable(after), "")))


def comparable(obj: Any) -> dict[str, Any]:
    """An object as JSON has it, without what the server keeps by itself."""
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
