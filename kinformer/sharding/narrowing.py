"""RangesListWatch: a lister-watcher of only those objects that belong to some ranges.

Objects of other ranges are left out before anything is stored: in a list, object by object as it arrives; in a watch,
event by event. If the last event of a batch is left out, a bookmark takes its place, so that the reflector knows which
version it has reached. A watch asks the server to leave out the namespaces of other members (see
:mod:`kinformer.sharding.others`). A streaming list has to name them first: another watch takes its place after it.

When ranges are added, their objects are missing, and no watch will bring them. So the watch ends with
:exc:`~kinformer.cache.listwatch.ListAgain`. The next list asks for the most recent state, which is not older than the
moment when the ranges were added.

Where objects are divided by their owner, one that was passed on may get another owner, and belong to other ranges then.
A :data:`~kinformer.cache.division.LEFT` event takes it out of the store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar, cast

import anyio

from kinformer.cache.division import LEFT
from kinformer.cache.listwatch import ListAgain, ListerWatcher, ListWatch, list_accepting
from kinformer.client.errors import ApiError
from kinformer.client.reachability import Reachability
from kinformer.client.types import (
    BOOKMARK,
    DELETED,
    ListOptions,
    ObjectList,
    Undecodable,
    WatchEvent,
    ends_initial_events,
)
from kinformer.logs import get_logger
from kinformer.meta import accessor_of
from kinformer.sharding.others import Others

__all__ = ("RangesListWatch",)

T = TypeVar("T")

log = get_logger(__name__)

#: The statuses of a request whose selector a server, or a proxy before it, does not take: bad request, URI too long,
#: header fields too large.
_NOT_UNDERSTOOD: Final = frozenset({400, 414, 431})


class RangesListWatch(ListerWatcher[T], Generic[T]):
    """
    :param inner: lists and watches everything
    :param is_ours: whether an object belongs to the ranges that are held now
    :param on_stored: called when a list is in the store
    :param moving: returns an object's uid, if objects may come to belong to other ranges; None if they may not
    :ivar others: the namespaces that a watch asks the server to leave out; None to ask for all objects
    :ivar passed: the uids of the objects that were passed on, and may have to leave; None if objects do not move
    """

    def __init__(
        self,
        inner: ListerWatcher[T],
        is_ours: Callable[[T | Undecodable], bool],
        on_stored: Callable[[], object] = lambda: None,
        moving: Callable[[T], str] | None = None,
    ) -> None:
        #: What lists and watches everything.
        self.inner = inner
        #: Whether an object belongs to the ranges that are held now.
        self.is_ours = is_ours
        self._on_stored = on_stored
        self._uid_of = moving
        self.passed: set[str] | None = None if moving is None else set()
        self.others: Others | None = None
        #: The number of times that ranges were added; that number when the running list began, and for the stored list.
        self._wanted = 0
        self._listing: int | None = None
        self._stored = -1
        self._waiting: anyio.CancelScope | None = None

    @property
    def supports_watch_list(self) -> bool:
        return self.inner.supports_watch_list

    @property
    def reachability(self) -> Reachability | None:
        """The record of whether the server can be reached; None if there is none."""
        return getattr(self.inner, "reachability", None)

    def selects(self, obj: Any) -> bool:
        """Whether an object belongs to the ranges that are held now, and these objects include one like it."""
        selects: Callable[[Any], bool] | None = getattr(self.inner, "selects", None)
        return self.is_ours(obj) and (selects is None or selects(obj))

    def beside(self) -> RangesListWatch[T]:
        """For requests beside the reflector's: what they list and watch is not stored, and nothing is noted of it."""
        return RangesListWatch(self.inner, self.is_ours)

    # --- changes of the ranges

    def changed(self, *, added: bool) -> None:
        """
        Note that other ranges are held from now on.

        :param added: whether there are new ranges among them
        """
        # A running list has accepted or left out objects by the ranges that were held before.
        if added or self._listing is not None:
            self._wanted += 1
            if self._waiting is not None:
                self._waiting.cancel()

    @property
    def is_complete(self) -> bool:
        """Whether the store has everything that must be held, as far as is known."""
        return self._stored == self._wanted

    # --- called by the reflector

    async def list(self, options: ListOptions) -> ObjectList[T]:
        options = self._begin(options)
        return self._narrowed(await self.inner.list(options))

    async def list_as_it_comes(self, options: ListOptions, accept: Callable[[T], bool]) -> ObjectList[T]:
        """Like :meth:`list`, but `accept` is called with each object of our ranges while others are still coming."""
        options, passes = self._begin(options), self._passes
        return self._narrowed(
            await list_accepting(self.inner, options, lambda obj: passes(obj) and accept(obj)), filtered=True
        )

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[T]]]]:
        if options.send_initial_events:
            options = self._begin(options)
        else:
            self._list_is_stored()
        async with AsyncExitStack() as opened:
            batches = await self._open(opened, options)
            yield self._ours(batches, opened, options)

    async def _open(self, opened: AsyncExitStack, options: ListOptions) -> AsyncIterator[Sequence[WatchEvent[T]]]:
        """Open a watch that leaves out what the server can be asked to leave out, if it is not a list, too."""
        inner = self.inner
        if self.others is not None and not options.send_initial_events and (selector := self.others.selector()):
            assert isinstance(inner, ListWatch)
            both = f"{inner.field_selector},{selector}" if inner.field_selector else selector
            try:
                return await opened.enter_async_context(replace(inner, field_selector=both).watch(options))
            except ApiError as error:
                if error.code not in _NOT_UNDERSTOOD:
                    raise
                self.others = None
                log.info("namespaces_not_left_out", error=str(error), why="the server does not accept the selector")
        return await opened.enter_async_context(inner.watch(options))

    def _begin(self, options: ListOptions) -> ListOptions:
        if options.continue_token:
            return options
        self._listing = self._wanted
        if self.passed:
            self.passed.clear()
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
        items = found.items if filtered else list(filter(self._passes, found.items))
        return replace(found, items=items, left_out=list(filter(self.is_ours, found.left_out)))

    async def _ours(
        self, batches: AsyncIterator[Sequence[WatchEvent[T]]], opened: AsyncExitStack, options: ListOptions
    ) -> AsyncIterator[Sequence[WatchEvent[T]]]:
        in_list = bool(options.send_initial_events)
        #: The version to open another watch from, which leaves out what a list must not leave out.
        since = ""
        while True:
            if not in_list:
                # When the reflector asks for the next batch, it has stored the one before.
                self._list_is_stored()
            if since and self.others is not None and self.others.seen:
                await opened.aclose()
                rest = replace(options, send_initial_events=None, resource_version_match="", resource_version=since)
                batches, since = await self._open(opened, rest), ""
                continue  # ranges may have been added meanwhile
            batch = await self._next(batches)
            if batch is None:
                return
            ours = self._of(batch, in_list)
            if in_list and any(map(ends_initial_events, batch)):
                in_list, since = False, _version_of(batch[-1])
            else:
                since = ""
            yield ours

    async def _next(self, batches: AsyncIterator[Sequence[WatchEvent[T]]]) -> Sequence[WatchEvent[T]] | None:
        with anyio.CancelScope() as scope:
            self._waiting = None if self._listing is not None else scope
            try:
                return await anext(batches, None)
            finally:
                self._waiting = None
        raise ListAgain("there are objects to be held that were left out before")

    def _passes(self, obj: T | Undecodable) -> bool:
        """Whether an object belongs to the ranges. If so, note that it is passed on."""
        if not self.is_ours(obj):
            if self.others is not None and not isinstance(obj, Undecodable):
                self.others.note(accessor_of(obj).namespace(obj))
            return False
        if self.passed is not None and self._uid_of is not None and not isinstance(obj, Undecodable):
            self.passed.add(self._uid_of(obj))
        return True

    def _moved(self, batch: Sequence[WatchEvent[T]], in_list: bool) -> Iterator[WatchEvent[T]]:
        """The events of a batch that are passed on, with the objects that leave."""
        for event in batch:
            if event.type == BOOKMARK:
                in_list = in_list and not ends_initial_events(event)
                yield event
            elif isinstance(event.object, Undecodable):
                yield event
            elif event.type == DELETED:
                if self._forgets(event.object) or self.is_ours(event.object):
                    yield event
            elif self._passes(event.object):
                yield event
            elif self._forgets(event.object):
                yield WatchEvent(cast("Any", DELETED if in_list else LEFT), event.object)

    def _forgets(self, obj: T) -> bool:
        """Note that an object leaves. Return whether it was passed on."""
        assert self.passed is not None
        assert self._uid_of is not None
        uid = self._uid_of(obj)
        was = uid in self.passed
        self.passed.discard(uid)
        return was

    def _of(self, batch: Sequence[WatchEvent[T]], in_list: bool) -> Sequence[WatchEvent[T]]:
        if self.passed is None:
            is_ours = self.is_ours
            ours = [event for event in batch if event.type == BOOKMARK or is_ours(event.object)]
        else:
            ours = list(self._moved(batch, in_list))
        if batch and (not ours or ours[-1].object is not batch[-1].object) and (version := _version_of(batch[-1])):
            ours.append(_bookmark(version))
        return ours


def _version_of(event: WatchEvent[Any]) -> str:
    """The version of an event's object; empty if it does not decode. Then the next event has one."""
    try:
        return accessor_of(event.object).resource_version(event.object)
    except (TypeError, AttributeError):
        return ""


def _bookmark(version: str) -> WatchEvent[T]:
    # A bookmark's object may be of another type than the requested one.
    return WatchEvent(BOOKMARK, cast("T", {"metadata": {"resourceVersion": version}}))
