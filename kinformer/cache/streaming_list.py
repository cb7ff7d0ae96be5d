"""Streaming lists: the first events of a watch that give everything the server has. The watch then goes on.

The server sends an ADDED event for each object, and then a bookmark that ends the list. Later events are changes. It
costs the server much less than a list, and the client sends one request less.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import anyio
import msgspec

from kinformer.cache.pager import DEFAULT_MAX_OBJECTS
from kinformer.client.errors import ClientError, ConnectionLost, EndlessList
from kinformer.client.types import BOOKMARK, Undecodable, WatchEvent, ends_initial_events
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import Accessor, accessor_of

__all__ = ("InitialEvents", "StreamedList", "StreamingListIgnored", "shows_end")

T = TypeVar("T")

log = get_logger(__name__)

#: Seconds without an event after which the log says that the list is late.
_PATIENCE = 10.0

_BOOKMARK = b'{"kind":"","apiVersion":"","metadata":{"resourceVersion":"1","creationTimestamp":null}}'

#: Seconds without another object, and without the bookmark, after which the server is taken for one that does not know
#: streaming lists. Such a server treats the request as a plain watch.
GIVEN_UP_AFTER = 30.0


class StreamingListIgnored(ClientError):
    """
    The server sent no bookmark that ends a streaming list. It may have sent all objects.

    :ivar objects: the number of objects that came
    """

    def __init__(self, name: str, objects: int, seconds: float):
        super().__init__(
            f"streaming list of {name}: for {seconds:g} seconds neither an object came nor the bookmark that ends it"
        )
        self.objects = objects


@dataclass(slots=True)
class StreamedList(Generic[T]):
    """
    The list that the initial events of a watch make.

    :param resource_version: the version of the list
    :param rest: the events that came in the same batch after the list
    """

    objects: list[T]
    resource_version: str
    rest: Sequence[WatchEvent[T]]


def shows_end(accessor: Accessor[Any]) -> bool:
    """
    Whether the bookmark that ends the initial events can be told from other bookmarks, as objects of this type.

    It cannot if the type is a Struct that leaves annotations out. There is one exception: if the Struct requires a
    field that no bookmark has, bookmarks are decoded as a type that has annotations.
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

    :param name: the reflector's name in logs
    :param accept: returns an object as it is kept, or None to leave it out. It also gets what does not decode.
    :param started: when the watch was requested, by the clock's :meth:`~kinformer.clock.Clock.monotonic`
    :param max_objects: the greatest number of objects in a list; a longer one is an error
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
        #: Number of events that came.
        self.received = 0
        self._objects = 0

    async def read(self, batches: AsyncIterator[Sequence[WatchEvent[T]]]) -> StreamedList[T] | None:
        """
        Read the list. None if the watch ended before the list did.

        :raises StreamingListIgnored: if the server seems not to know streaming lists
        :raises EndlessList: if there are more than `max_objects` objects
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
                    raise EndlessList(f"the list has more than {self._max_objects} objects")
                for at, event in enumerate(batch, 1):
                    if event.type != BOOKMARK:
                        self._take(event, found)
                    elif ends_initial_events(event):
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
        except Exception:  # raised by a transformer, or by the accessor for an object of another type
            log.exception("watch_event_not_stored", reflector=self._name, type=event.type)

    def _due(self) -> None:
        silent = self._clock.monotonic() - self._last
        if silent >= _PATIENCE:
            log.warning("initial_events_late", reflector=self._name, seconds_since_last_event=round(silent, 1))
        if self._clock.monotonic() - self._progress >= GIVEN_UP_AFTER:
            self._waiting.cancel()
        self._timer = self._clock.call_later(_PATIENCE, self._due)
