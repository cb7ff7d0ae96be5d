"""Deltas: the changes of objects, as a queue holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

__all__ = ("BookmarkInfo", "Delta", "DeltaType", "Deltas", "ReplacedAllInfo")

T = TypeVar("T")


class DeltaType(StrEnum):
    """The kind of change that a :class:`Delta` is. Each member exists once, so compare with ``is``."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    #: The object was in a list: the first one, or one after a watch broke. It may not have changed at all.
    REPLACED = "Replaced"
    #: A whole list as one delta, from a queue of atomic events. The delta's object is a :class:`ReplacedAllInfo`.
    REPLACED_ALL = "ReplacedAll"
    #: A resync of this object. It has not changed.
    SYNC = "Sync"
    #: A resync of all objects as one delta, from a queue of atomic events. The delta has no object.
    SYNC_ALL = "SyncAll"
    #: The server says that nothing has changed up to a version. The delta's object is a :class:`BookmarkInfo`.
    BOOKMARK = "Bookmark"


class Delta(msgspec.Struct, frozen=True, gc=False):
    """
    One change.

    :param type: the kind of change
    :param object: the object after the change. Of a deleted object it is the last state, or a
        :class:`~kinformer.cache.DeletedFinalStateUnknown`.
    :param key: the object's key, which the queue had to make anyway; empty where the delta is about all objects
    """

    type: DeltaType
    object: Any
    key: str = ""


#: The changes of one object, oldest first; never empty.
Deltas: TypeAlias = Sequence[Delta]


@dataclass(frozen=True, slots=True)
class ReplacedAllInfo(Generic[T]):
    """A list that replaces everything that was known. Its objects have been transformed."""

    resource_version: str
    objects: Sequence[T]


@dataclass(frozen=True, slots=True)
class BookmarkInfo:
    """Nothing has changed up to this resourceVersion."""

    resource_version: str
