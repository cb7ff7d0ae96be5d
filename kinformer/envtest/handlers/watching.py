"""Watches: the changes of a resource, sent to a client when they happen.

A watch is a position in the history of its resource (:class:`~kinformer.envtest.storage.ResourceLog`). It sleeps until
the history grows, takes all new changes, and writes them together. So many changes cause few wake-ups. A slow client
needs no memory, because there is no queue: it falls behind, and gets an error when the history no longer has its
position.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from kinformer.clock import Clock
from kinformer.envtest import status
from kinformer.envtest.causes import forbidden, not_supported
from kinformer.envtest.containers.streams import StreamSet
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.handlers.reading import parse_version
from kinformer.envtest.handlers.selecting import Selection, selection_of
from kinformer.envtest.handlers.views import View, choose_view
from kinformer.envtest.operations import Operations
from kinformer.envtest.registry.schema import zero_of
from kinformer.envtest.storage import Change, Expired, ResourceLog, Version
from kinformer.envtest.storage.history import ADDED, DELETED, MODIFIED

__all__ = ("Watch", "WatchSet", "open_watch")

_BATCH = 500
_BOOKMARK_EVERY = 60.0
#: The time of the last bookmark before the end of the watch, in seconds.
_LAST_BOOKMARK = 2.0
_INITIAL_END = "k8s.io/initial-events-end"


class WatchSet:
    """
    The open watches, and switches for all of them.

    :ivar bookmarks: whether they send periodic bookmarks
    :ivar stalled: while true, they send nothing
    :ivar behind: the version up to which they send changes. None for the current version
    :ivar streams_lists: whether a watch may begin with the present objects and a bookmark at their end
    """

    def __init__(self) -> None:
        self.open: set[Watch] = set()
        #: Other open answers: logs, commands, forwarded ports.
        self.streams = StreamSet()
        self.bookmarks = True
        self.stalled = False
        self.behind: int | None = None
        self.streams_lists = True

    def make(self, operations: Operations, call: Call, terms: Terms) -> Watch:
        """Make a watch of this set. It is not open yet."""
        return Watch(operations, call, terms, self)

    @property
    def idle(self) -> bool:
        """Whether every open watch has sent all changes and waits for more."""
        return all(watch.is_idle for watch in self.open)

    def end_all(self) -> None:
        for watch in list(self.open):
            watch.end()
        self.streams.cut_all()

    def nudge(self) -> None:
        """Make every watch check again whether there is something to send."""
        for watch in self.open:
            watch.nudge()

    def newest(self, version: int) -> int:
        """The newest version that the watches show, for a version of the storage."""
        return version if self.behind is None else min(version, self.behind)


@dataclass(frozen=True, slots=True)
class Terms:
    """
    The form, the selection, the beginning and the duration of a watch.

    :param seconds: the time until its end
    :param bookmarks: whether it sends bookmarks
    :param start: the version after which it begins
    :param asked: that version as the client has named it
    :param initial: whether the present objects come first, as ADDED events
    """

    view: View
    selection: Selection
    seconds: float
    bookmarks: bool
    start: int
    asked: int
    initial: bool


def _causes(query: dict[str, str], call: Call) -> list[status.Cause]:
    field = "resourceVersionMatch"
    causes: list[status.Cause] = []
    match = query.get("resourceVersionMatch", "")
    initial = "sendInitialEvents" in query
    if match and not initial:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden(field, text))
    if initial and match != "NotOlderThan":
        causes.append(forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match and match != "NotOlderThan":
        causes.append(not_supported(field, match, ("NotOlderThan",)))
    from_now = not match and not initial and query.get("resourceVersion", "") in ("", "0")
    if query.get("continue") and (match or from_now):
        causes.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    return causes


def open_watch(operations: Operations, call: Call, watches: WatchSet, rng: random.Random) -> Watch:
    """
    Make the watch of a request. Nothing is sent yet.

    :raises StatusError: BadRequest, Invalid
    """
    view = choose_view(operations, call)
    query = dict(call.query)
    call.number("limit")  # only to check that it is a number
    timeout = call.number("timeoutSeconds") or 0
    causes = _causes(query, call)
    if "sendInitialEvents" in query and not watches.streams_lists:
        text = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        causes.append(forbidden("sendInitialEvents", text))
    selection = selection_of(call, operations.strategy(call.target.resource), causes)
    asked = query.get("resourceVersion", "")
    said = parse_version(asked, status.internal) if asked and asked != "0" else 0
    number = operations.storage.meant(said) if said else 0
    bookmarks = call.is_set("allowWatchBookmarks")
    # Without the option, a watch without a version begins with the objects as well.
    initial = call.is_set("sendInitialEvents") if "sendInitialEvents" in query else not number
    start = number if initial else number or watches.newest(operations.storage.version)
    seconds = float(timeout) if timeout > 0 else 1800.0 * (1 + rng.random())
    return watches.make(operations, call, Terms(view, selection, seconds, bookmarks, start, said, initial))


# More than 15 fields: most are the request's terms, flat because each event reads them.
class Watch:
    """One open watch. Its connection sends :meth:`chunks`."""

    def __init__(self, operations: Operations, call: Call, terms: Terms, watches: WatchSet):
        self.resource = call.target.resource
        self._operations = operations
        self._clock: Clock = operations.clock
        self._log: ResourceLog = operations.storage.log(call.target.resource.storage)
        self._view = terms.view
        self._selection = terms.selection
        self._namespace = call.namespace
        self._prefix = f"{call.namespace}/" if call.namespace else ""
        self._terms = terms
        self._start = terms.start
        self._deadline = self._clock.monotonic() + terms.seconds
        self._watches = watches
        self._wake = asyncio.Event()
        self._ended = False
        self.is_idle = False
        #: Whether this watch sends nothing. Other watches may go on.
        self.stalled = False
        #: Whether the connection is closed instead of ending the answer, and the bytes to send before.
        self.is_cut = False
        self.last_words = b""
        self._inserted = b""

    def end(self) -> None:
        """End the watch as if its time were over."""
        self._ended = True
        self._wake.set()

    def cut(self, in_a_line: bool) -> None:
        """Close the connection. If `in_a_line`, send the beginning of an event before."""
        self.is_cut = True
        self.last_words = self._bookmark(self._newest)[:-20] if in_a_line else b""
        self.end()

    def nudge(self) -> None:
        """Make the watch check again whether there is something to send."""
        self._wake.set()

    def insert(self, lines: bytes) -> None:
        """Send these lines next, in addition to the changes: events that a correct server would not send."""
        self._inserted += lines
        self._wake.set()

    @property
    def _newest(self) -> int:
        return self._watches.newest(self._operations.storage.version)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes to send until the watch ends. Each part has whole events, as many as there are."""
        self._watches.open.add(self)
        timer = self._clock.call_later(self._deadline - self._clock.monotonic(), self.end)
        try:
            position = self._log.end
            if self._terms.initial:
                if self._watches.behind is not None:
                    position = self._log.position_after(self._watches.behind)
                if self._start > (latest := self._newest):
                    yield self._error(status.too_large_resource_version(self._terms.asked, latest))
                    return
                for chunk in self._initial():
                    yield chunk
            else:
                try:
                    position = self._log.position_after(self._start)
                except Expired:
                    yield self._too_old(self._start)
                    return
            async for chunk in self._follow(position):
                yield chunk
        finally:
            timer.cancel()
            self._watches.open.discard(self)

    async def _follow(self, position: int) -> AsyncIterator[bytes]:
        next_bookmark = self._next_bookmark()
        while not self._ended:
            if self.stalled or self._watches.stalled:
                await self._sleep(self._log.end, None)
                continue
            if self._inserted:
                lines, self._inserted = self._inserted, b""
                yield lines
            try:
                changes = self._log.since(position, _BATCH)
            except Expired:
                yield self._too_old(self._log.forgotten)
                return
            waits_for = position
            if changes and (behind := self._watches.behind) is not None:
                changes = [change for change in changes if change.number <= behind]
                waits_for = self._log.end
            if changes:
                position += len(changes)
                if chunk := self._lines(changes):
                    yield chunk
                continue
            if next_bookmark is not None and self._clock.monotonic() >= next_bookmark:
                if self._watches.bookmarks:
                    yield self._bookmark(self._newest)
                next_bookmark = self._next_bookmark()
                continue
            await self._sleep(waits_for, next_bookmark)

    async def _sleep(self, position: int, until: float | None) -> None:
        wake = self._wake
        wake.clear()
        if self._ended:
            return
        timer = None
        if until is not None:
            timer = self._clock.call_later(until - self._clock.monotonic(), wake.set)
        self.is_idle = True
        try:
            await self._log.news(position, wake)
        finally:
            self.is_idle = False
            if timer is not None:
                timer.cancel()

    def _next_bookmark(self) -> float | None:
        """The time of the next bookmark. They come every minute, and once shortly before the end."""
        now = self._clock.monotonic()
        last = self._deadline - _LAST_BOOKMARK
        return min(now + _BOOKMARK_EVERY, last) if self._terms.bookmarks and last > now else None

    # -- events -----------------------------------------------------------------------------------------------------

    def _initial(self) -> Iterable[bytes]:
        version, behind = self._newest, self._watches.behind
        matches = self._selection.matches if not self._selection.is_everything else None
        log, namespace = self._log, self._namespace
        found = list(log.select(namespace)) if behind is None else log.select_at(behind, namespace)
        for first in range(0, len(found), _BATCH):
            page = found[first : first + _BATCH]
            yield b"".join([self._view.line(ADDED, one.raw) for one in page if matches is None or matches(one)])
        if self._terms.bookmarks:
            yield self._bookmark(version, {_INITIAL_END: "true"})

    def _lines(self, changes: list[Change]) -> bytes:
        prefix, view = self._prefix, self._view
        if prefix:
            changes = [change for change in changes if change.now.key.startswith(prefix)]
        if self._start:
            # The watch may begin at a future version. Changes up to that version are not sent.
            changes = [change for change in changes if change.number > self._start]
        if self._selection.is_everything:
            if view.is_whole:
                kind = self.resource.prefix
                return b"".join([change.line(kind) for change in changes])
            return b"".join([view.line(change.type, change.now.raw) for change in changes])
        return b"".join([line for change in changes if (line := self._selected(change))])

    def _selected(self, change: Change) -> bytes | None:
        """
        The event of a change for a watch with selectors. An object that begins to match is ADDED, one that stops is
        DELETED.
        """
        matches = self._selection.matches
        before = change.before is not None and matches(change.before)
        now = change.type != DELETED and matches(change.now)
        if now:
            return self._view.line(MODIFIED if before else ADDED, change.now.raw)
        if not before:
            return None
        return self._view.line(DELETED, _at(change.before, change.number) if change.type != DELETED else change.now.raw)

    def _bookmark(self, number: int, annotations: dict[str, str] | None = None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(number)}
        if annotations:
            metadata["annotations"] = annotations
        raw = msgspec.json.encode({**zero_of(self.resource), "metadata": metadata})
        return self._view.line("BOOKMARK", raw)

    def _too_old(self, number: int) -> bytes:
        return self._error(status.expired(f"too old resource version: {number} ({self._log.forgotten + 1})"))

    @staticmethod
    def _error(error: status.StatusError) -> bytes:
        return msgspec.json.encode({"type": "ERROR", "object": error.to_dict()}) + b"\n"


def _at(version: Version | None, number: int) -> bytes:
    """The last matching state of an object, with the version at which it stopped matching."""
    assert version is not None
    obj = version.decode()
    obj["metadata"]["resourceVersion"] = str(number)
    return Version.of(version.key, number, obj, version.managed).raw
