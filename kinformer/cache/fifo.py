"""FIFO: a queue of the newest state of each object, for consumers that do not need the changes in between.

An object is queued once, however often it changes. An object that is deleted before its turn is not processed at all.
Informers use :class:`~kinformer.cache.DeltaFIFO`, which reports deletions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from kinformer.cache.keys import DeletedFinalStateUnknown, KeyFunc
from kinformer.cache.queue import BaseFIFO
from kinformer.meta import Accessor

__all__ = ("FIFO",)

T = TypeVar("T")


class FIFO(BaseFIFO[T, T]):
    """
    :param key: makes the keys: an accessor, a function, or None for ``namespace/name`` of any object
    :param name: the queue's name in errors and logs
    """

    __slots__ = ("_items", "_order")

    def __init__(self, key: Accessor[T] | KeyFunc[T] | None = None, *, name: str = "FIFO"):
        super().__init__(name, key, None, None)
        self._items: dict[str, T] = {}
        #: The keys of `_items`, and the keys of objects that were deleted while queued.
        self._order: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def add(self, obj: T) -> None:
        """
        Queue an object that is new or has changed.

        :raises ObjectKeyError: if no key can be made for it
        """
        key = self.key_of(obj)
        if not self._populated:
            self._populate(0)
        if key not in self._items:
            self._order.append(key)
        self._items[key] = obj
        self._wake()

    def update(self, obj: T) -> None:
        """The same as :meth:`add`."""
        self.add(obj)

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """
        Take a deleted object out of the queue. It is not processed.

        :raises ObjectKeyError: if no key can be made for it
        """
        key = self.key_of(obj)
        if not self._populated:
            self._populate(0)
        self._items.pop(key, None)

    def replacing(self, objects: Sequence[T], resource_version: str = "") -> Iterator[None]:
        """Queue these objects and no others, in one part."""
        items = {self.key_of(obj): obj for obj in objects}
        self._items = items
        self._order = deque(items)
        if not self._populated:
            self._populate(len(items))
        self._wake()
        yield

    def resyncing(self) -> Iterator[None]:
        """Do nothing: a FIFO knows no objects but the queued ones."""
        yield

    async def wait(self) -> None:
        self._skip_deleted()
        await super().wait()

    def pop_nowait(self, process: Callable[[T, bool], object]) -> T:
        """
        Process the object that was queued first.

        :return: that object
        :raises IndexError: if nothing is queued
        """
        self._skip_deleted()
        in_initial_list = not self._synced
        key = self._order.popleft()
        obj = self._items.pop(key)
        try:
            process(obj, in_initial_list)
        finally:
            self._popped()
        return obj

    def _skip_deleted(self) -> None:
        while self._order and self._order[0] not in self._items:
            self._order.popleft()
            self._popped()

    def _popped(self) -> None:
        if self._initial:
            self._initial -= 1
            self._check_synced()
