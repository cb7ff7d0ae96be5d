"""UndeltaStore: a store that passes all of its objects to a function after every change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kinformer.cache.keys import DeletedFinalStateUnknown, KeyFunc
from kinformer.cache.store import Indexer
from kinformer.meta import Accessor

__all__ = ("UndeltaStore",)

T = TypeVar("T")


class UndeltaStore(Indexer[T]):
    """
    For consumers that want the whole state, not its changes. A reflector fills it.

    :param push: called with all objects after each add, update, delete and replace
    :param key: makes the keys: an accessor, a function, or None for ``namespace/name`` of any object
    """

    __slots__ = ("_push",)

    def __init__(self, push: Callable[[list[T]], object], key: Accessor[T] | KeyFunc[T] | None = None):
        super().__init__(key)
        self._push = push

    def update(self, obj: T) -> T | None:
        old = super().update(obj)
        self._push(self.list())
        return old

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> T | None:
        old = super().delete(obj)
        self._push(self.list())
        return old

    def replace(self, objects: Sequence[T], resource_version: str = "") -> None:
        super().replace(objects, resource_version)
        self._push(self.list())
