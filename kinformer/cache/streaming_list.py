"""Streaming lists: everything there is, as the first events of a watch that then goes on.

The server sends an ADDED event for each object and then a bookmark that says so; what comes after it is news. It costs
the server much less than a list, and the client one request less.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import anyio
import msgspec

from kinformer.cache.pager import DEFAULT_MAX_OBJECTS
from kinformer.client.errors import ClientError, ConnectionLost, EndlessList
from kinformer.client.types import BOOKMARK, INITIAL_EVENTS_ANNOTATION, Undecodable, WatchEvent
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import Accessor, accessor_of

__all__ = ("InitialEvents", "StreamedList", "StreamingListIgnored", "shows_end")

T = TypeVar("T")

log = get_logger(__name__)

_PATIENCE = 10.0

_BOOKMARK = b'{"kind":"","apiVersion":"","metadata":{"resourceVersion":"1","creationTimestamp":null}}'

#: Seconds without a further object, and without the bookmark, after which the server is taken for one that knows
#: nothing of streaming lists: to it, what it was asked for is a plain watch.
GIVEN_UP_AFTER = 30.0


class StreamingListIgnored(ClientError):
    """
    The server sent what there is, perhaps, and never said that this was all.

    :ivar objects: how many there were
    """

    def __init__(self, name: str, objects: int, seconds: float):
        super().__init__(
            f"streaming list of {name}: no further object came for {seconds:g} seconds, nor the bookmark that ends it"
        )
        self.objects = objects


@dataclass(slots=True)
class StreamedList(Generic[T]):
    """
    What the initial events of a watch told.

    :param resource_version: the version of the server's state that it is
    :param rest: what came in the same batch after it
    """

    objects: list[T]
    resource_version: str
    rest: Sequence[WatchEvent[T]]


def shows_end(accessor: Accessor[Any]) -> bool:
    """
    Whether the bookmark that ends the initial events can be told from others, as objects of this type.

    It cannot where a Struct leaves annotations out, unless the Struct requires something that no bookmark has: such a
    bookmark is decoded as one.
    """
    declared = accessor.declared_meta
    if declared is None or "annotations" in declared.__struct_encode_fields__:
        return True
    try:
        msgspec.json.decode(_BOOKMARK, type=accessor.type)
    except msgspec.MsgspecError:
        return True
    return False


class InitialEvents(Generic[T]):
    """
    Reads the initial events of one watch.

    :param name: what the log calls it
    :param accept: makes of an object what is kept, None if nothing is; it is given what does not decode, too
    :param started: when the watch was asked for
    :param max_objects: a list of more is an error
    """

    def __init__(
        self,
        name: str,
        accessor: Accessor[T],
        accept: Callable[[T | Undecodable], T | None],
        clock: Clock,
        started: float,
        max_objects: int = DEFAULT_MAX_OBJECTS,
    ):
        self._name = name
        self._key_of = accessor.key
        self._accept = accept
        self._clock = clock
        self._last = self._progress = started
        self._max_objects = max_objects
        #: How many events came.
        self.received = 0
        self._objects = 0

    async def read(self, batches: AsyncIterator[Sequence[WatchEvent[T]]]) -> StreamedList[T] | None:
        """
        The list; None if the watch ended within it.

        :raises StreamingListIgnored: if the server does not seem to know that this is to be a list
        :raises ClientError: if the watch failed
        """
        with anyio.CancelScope() as waiting:
            self._waiting = waiting
            return await self._read(batches)
        raise StreamingListIgnored(self._name, self._objects, self._clock.monotonic() - self._progress)

    async def _read(self, batches: AsyncIterator[Sequence[WatchEvent[T]]]) -> StreamedList[T] | None:
        found: dict[str, T] = {}
        self._timer = self._clock.call_later(_PATIENCE, self._due)
        try:
            async for batch in batches:
                self._last = self._clock.monotonic()
                self.received += len(batch)
                if len(found) > self._max_objects:
                    raise EndlessList(f"more than {self._max_objects} objects came")
                for at, event in enumerate(batch, 1):
                    if event.type != BOOKMARK:
                        self._take(event, found)
                    elif _ends_initial_events(event):
                        bookmark = event.object
                        version = accessor_of(bookmark).resource_version(bookmark)
                        return StreamedList(list(found.values()), version, batch[at:])
                if len(found) > self._objects:
                    self._progress = self._last
                self._objects = len(found)
        except ConnectionLost as error:
            log.debug("watch_broke", reflector=self._name, error=str(error))
        finally:
            self._timer.cancel()
        return None

    def _take(self, event: WatchEvent[T], found: dict[str, T]) -> None:
        try:
            key = event.object.key if isinstance(event.object, Undecodable) else self._key_of(event.object)
            if event.type == "DELETED":
                found.pop(key, None)
            elif (obj := self._accept(event.object)) is not None:
                found[key] = obj
        except Exception:  # a transformer's, or what an object of another type makes of the accessor
            log.exception("watch_event_not_stored", reflector=self._name, type=event.type)

    def _due(self) -> None:
        silent = self._clock.monotonic() - self._last
        if silent >= _PATIENCE:
            log.warning("initial_events_late", reflector=self._name, seconds_since_last_event=round(silent, 1))
        if self._clock.monotonic() - self._progress >= GIVEN_UP_AFTER:
            self._waiting.cancel()
        self._timer = self._clock.call_later(_PATIENCE, self._due)


def _ends_initial_events(bookmark: WatchEvent[T]) -> bool:
    # A bookmark's object need not be of the type that was asked for.
    annotations = accessor_of(bookmark.object).annotations(bookmark.object)
    return annotations.get(INITIAL_EVENTS_ANNOTATION) == "true"
