"""OwnerHandler: an event handler that queues an object, such as a ReplicaSet, whenever it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import deletion_handling_key, last_state
from kinformer.meta import meta_namespace_key

__all__ = ("OwnerHandler",)


class OwnerHandler:
    """
    An event handler for objects that own others. Each change of an object adds its key to the queue.

    :param add: called with the key; usually a queue's ``add``
    :param forget: called with the key and the uid of each object that is gone; the uid is empty if it is not known
    """

    def __init__(self, add: Callable[[str], object], *forget: Callable[[str, str], object]) -> None:
        self._add = add
        self._forget = forget

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self._add(meta_namespace_key(obj))

    def on_update(self, old: Any, new: Any, /) -> None:
        if old.metadata.uid != new.metadata.uid:
            # It was deleted and created again, and the watch did not show the deletion.
            self._gone(meta_namespace_key(old), old)
        self._add(meta_namespace_key(new))

    def on_delete(self, obj: Any, /) -> None:
        self._gone(deletion_handling_key(obj), last_state(obj))

    def _gone(self, key: str, obj: Any) -> None:
        uid = obj.metadata.uid or "" if obj is not None else ""
        for forget in self._forget:
            forget(key, uid)
        self._add(key)
