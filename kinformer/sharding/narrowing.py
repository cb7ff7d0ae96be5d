"""RangesListWatch: a lister-watcher of those objects that belong to some ranges.

What is left out is so before anything is stored: a list gives it up object by object as it comes, a watch event by
event. Where the last event of a batch is left out, a bookmark stands in its place, so that the reflector knows how far
it has come.

When ranges are added, their objects are not there, and no watch will tell of them. The watch ends with
:exc:`~kinformer.cache.listwatch.ListAgain`, and the list that follows asks for the most recent state: one that is not
older than the moment when the ranges were added.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Generic, TypeVar, cast

import anyio

from kinformer.cache.listwatch import ListAgain, ListerWatcher, list_accepting
from kinformer.client.reachability import Reachability
from kinformer.client.types import BOOKMARK, INITIAL_EVENTS_ANNOTATION, ListOptions, ObjectList, Undecodable, WatchEvent
from kinformer.meta import accessor_of

__all__ = ("RangesListWatch",)

T = TypeVar("T")


class RangesListWatch(ListerWatcher[T], Generic[T]):
    """
    :param inner: lists and watches everything
    :param is_ours: whether an object belongs to the ranges that are held now
    :param on_stored: called when a list is in the store
    """

    def __init__(
        self,
        inner: ListerWatcher[T],
        is_ours: Callable[[T | Undecodable], bool],
        on_stored: Callable[[], object] = lambda: None,
    ) -> None:
        self._inner = inner
        #: Whether an object belongs to the ranges that are held now.
        self.is_ours = is_ours
        self._on_stored = on_stored
        #: How often ranges were added; what it was when the list began that is under way; and of the one in the store.
        self._wanted = 0
        self._listing: int | None = None
        self._stored = -1
        self._waiting: anyio.CancelScope | None = None

    @property
    def supports_watch_list(self) -> bool:
        return self._inner.supports_watch_list

    @property
    def reachability(self) -> Reachability | None:
        """Whether the server can be reached, where that is known."""
        return getattr(self._inner, "reachability", None)

    # --- what the ranges are told

    def changed(self, *, added: bool) -> None:
        """
        Other ranges are held from now on.

        :param added: whether there are new ones among them
        """
        # A list that is under way has let in, or left out, some objects by what was held before.
        if added or self._listing is not None:
            self._wanted += 1
            if self._waiting is not None:
                self._waiting.cancel()

    @property
    def is_complete(self) -> bool:
        """Whether everything that is to be held is in the store, and nothing is known to have come later."""
        return self._stored == self._wanted

    # --- what the reflector asks

    async def list(self, options: ListOptions) -> ObjectList[T]:
        options = self._begin(options)
        return self._narrowed(await self._inner.list(options))

    async def list_as_it_comes(self, options: ListOptions, accept: Callable[[T], bool]) -> ObjectList[T]:
        """:meth:`list`; `accept` is given each object that is ours while others are still coming."""
        options, is_ours = self._begin(options), self.is_ours
        return self._narrowed(
            await list_accepting(self._inner, options, lambda obj: is_ours(obj) and accept(obj)), filtered=True
        )

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[T]]]]:
        if options.send_initial_events:
            options = self._begin(options)
        else:
            self._list_is_stored()
        async with self._inner.watch(options) as batches:
            yield self._ours(batches, in_list=bool(options.send_initial_events))

    def _begin(self, options: ListOptions) -> ListOptions:
        if options.continue_token:
            return options
        self._listing = self._wanted
        if self._stored == self._wanted or self._wanted == 0:
            return options
        return replace(options, resource_version="")

    def _list_is_stored(self) -> None:
        if self._listing is not None:
            self._stored, self._listing = self._listing, None
            self._on_stored()
        if self._stored < self._wanted:
            raise ListAgain("there are objects to be held that were left out before")

    def _narrowed(self, found: ObjectList[T], *, filtered: bool = False) -> ObjectList[T]:
        items = found.items if filtered else list(filter(self.is_ours, found.items))
        return replace(found, items=items, left_out=list(filter(self.is_ours, found.left_out)))

    async def _ours(
        self, batches: AsyncIterator[Sequence[WatchEvent[T]]], *, in_list: bool
    ) -> AsyncIterator[Sequence[WatchEvent[T]]]:
        while True:
            if not in_list:
                # Asked for the next batch, the reflector has stored the one before.
                self._list_is_stored()
            batch = await self._next(batches)
            if batch is None:
                return
            if in_list:
                in_list = not any(event.type == BOOKMARK and _ends_list(event) for event in batch)
            yield self._of(batch)

    async def _next(self, batches: AsyncIterator[Sequence[WatchEvent[T]]]) -> Sequence[WatchEvent[T]] | None:
        with anyio.CancelScope() as scope:
            self._waiting = None if self._listing is not None else scope
            try:
                return await anext(batches, None)
            finally:
                self._waiting = None
        raise ListAgain("there are objects to be held that were left out before")

    def _of(self, batch: Sequence[WatchEvent[T]]) -> Sequence[WatchEvent[T]]:
        is_ours = self.is_ours
        ours = [event for event in batch if event.type == BOOKMARK or is_ours(event.object)]
        if batch and (not ours or ours[-1] is not batch[-1]):
            try:
                version = accessor_of(batch[-1].object).resource_version(batch[-1].object)
            except (TypeError, AttributeError):
                return ours  # it does not decode; the next event will tell
            ours.append(_bookmark(version))
        return ours


def _bookmark(version: str) -> WatchEvent[T]:
    # As another type than was asked for, which a bookmark's object may be.
    return WatchEvent(BOOKMARK, cast("T", {"metadata": {"resourceVersion": version}}))


def _ends_list(event: WatchEvent[T]) -> bool:
    annotations = accessor_of(event.object).annotations(event.object)
    return annotations.get(INITIAL_EVENTS_ANNOTATION) == "true"
