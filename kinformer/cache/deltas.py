"""Deltas: what happened to an object, in the words of a queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

__all__ = ("BookmarkInfo", "Delta", "DeltaType", "Deltas", "ReplacedAllInfo")

T = TypeVar("T")


class DeltaType(StrEnum):
    """What kind of change a :class:`Delta` is. There is one of each: compare with ``is``."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    #: The object was in a list: the first one, or one after a watch had broken. It may not have changed at all.
    REPLACED = "Replaced"
    #: The whole list at once, from a queue of atomic events; the object is a :class:`ReplacedAllInfo`.
    REPLACED_ALL = "ReplacedAll"
    #: Nothing has changed; it is time to look at the object again.
    SYNC = "Sync"
    #: It is time to look at all objects again, from a queue of atomic events; there is no object.
    SYNC_ALL = "SyncAll"
    #: The server says up to which version nothing has changed; the object is a :class:`BookmarkInfo`.
    BOOKMARK = "Bookmark"


class Delta(msgspec.Struct, frozen=True, gc=False):
    """
    One change.

    :param type: which kind of change
    :param object: the object after the change; of one that was deleted its last state, or a
        :class:`~kinformer.cache.DeletedFinalStateUnknown`
    :param key: the object's key, which the queue had to make anyway; empty where the delta is about all objects
    """

    type: DeltaType
    object: Any
    key: str = ""


#: The changes of one object, oldest first; never empty.
Deltas: TypeAlias = Sequence[Delta]


@dataclass(frozen=True, slots=True)
class ReplacedAllInfo(Generic[T]):
    """A list that takes the place of all that was known; the objects have been transformed."""

    resource_version: str
    objects: Sequence[T]


@dataclass(frozen=True, slots=True)
class BookmarkInfo:
    """Nothing has changed up to this resourceVersion."""

    resource_version: str
