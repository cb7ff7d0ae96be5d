"""What makes a ReplicaSet or ReplicationController be synced besides its pods: every change of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.meta import meta_namespace_key

__all__ = ("OwnerHandler",)


class OwnerHandler:
    """
    An event handler for objects that own others: each change of one has it synced.

    :param add: takes a key; a queue's ``add``
    :param forget: told of each that is gone: its key and its uid, which is empty where nobody knows it
    """

    def __init__(self, add: Callable[[str], object], *forget: Callable[[str, str], object]) -> None:
        self._add = add
        self._forget = forget

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self._add(meta_namespace_key(obj))

    def on_update(self, old: Any, new: Any, /) -> None:
        if old.metadata.uid != new.metadata.uid:
            # It was deleted and made anew, and nobody saw the moment between.
            self._gone(meta_namespace_key(old), old)
        self._add(meta_namespace_key(new))

    def on_delete(self, obj: Any, /) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            self._gone(obj.key, obj.obj)
        else:
            self._gone(meta_namespace_key(obj), obj)

    def _gone(self, key: str, obj: Any) -> None:
        uid = obj.metadata.uid or "" if obj is not None else ""
        for forget in self._forget:
            forget(key, uid)
        self._add(key)
