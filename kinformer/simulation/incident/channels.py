"""Channels: what a recorded API server shows to informers, as far as the replay has come.

A channel is what informers list and watch with one path and one pair of selectors. It has the objects of that moment,
and every event since the beginning. The informers of the replay list and watch on their own. They get what the recorded
ones got, at the same moment:

- A list or a watch waits for the next recorded one, and is answered as that one was, also with an error.
- If a recorded watch is open at that moment, a new watch goes on with it from the version that was asked for, and a
  list is made of the objects. So it does not matter if a timer of the replay differs from a recorded one.
- A watch that begins with all objects is answered by a recorded list, too: the recorded informers may have had other
  options.
- Informers of the replay ask again at once after a failure. Recorded ones wait for a random time, and another random
  time would bring the next event too late.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from kinformer.client import ConnectionLost
from kinformer.client.types import BOOKMARK, ERROR
from kinformer.meta import is_older
from kinformer.recording.entries import Asked, Cached
from kinformer.simulation.incident.tape import Exchange

__all__ = ("Channel", "ChannelKey", "Reader", "key_of_cache", "key_of_request")

#: The path, the label selector, the field selector, and whether only metadata is sent.
ChannelKey: TypeAlias = tuple[str, str, str, bool]

_METADATA: Final = "PartialObjectMetadata"


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Event(msgspec.Struct):
    type: str = ""
    object: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _List(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    items: list[msgspec.Raw] | None = None


_event: Final = msgspec.json.Decoder(_Event)
_object: Final = msgspec.json.Decoder(_Object)
_list: Final = msgspec.json.Decoder(_List)


def key_of_request(path: str, params: Mapping[str, str], form: str) -> ChannelKey:
    return path, params.get("labelSelector", ""), params.get("fieldSelector", ""), _METADATA in form


def key_of_cache(cached: Cached) -> ChannelKey:
    return cached.path, *cached.selectors, _METADATA in cached.form


class Reader:
    """An open watch of the replay. It has the methods of :class:`~kinformer.client.transport.BodyStream`."""

    def __init__(self, channel: Channel, url: str, lines: list[bytes]) -> None:
        self.url = url
        self._channel = channel
        self._pieces = lines
        self._end: Exception | bool = False
        self._waiter: asyncio.Future[None] | None = None

    def feed(self, lines: bytes) -> None:
        self._pieces.append(lines)
        self._wake()

    def end(self, error: Exception | None) -> None:
        self._end = error or True
        self._wake()

    async def read(self) -> list[bytes] | None:
        while not self._pieces:
            if isinstance(self._end, Exception):
                raise self._end
            if self._end:
                return []
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
            if not self._pieces and not self._end:
                return None  # interrupted
        pieces, self._pieces = self._pieces, []
        return pieces

    def interrupt(self) -> None:
        self._wake()

    @property
    def has_unread(self) -> bool:
        return bool(self._pieces or self._end)

    def close(self) -> None:
        self._channel.leave(self)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Channel:
    """
    See the module.

    :param seen: called with the type of each event and its object, also with the objects of lists
    """

    def __init__(self, seen: Callable[[str, bytes], object]) -> None:
        self._seen = seen
        #: The objects by namespace and name, in JSON.
        self.objects: dict[tuple[str, str], bytes] = {}
        self._version = ""
        self._log: list[tuple[str, bytes]] = []
        #: The recorded watches that are open. Only the last one counts: it may be there to replace another one.
        self._open: list[Exchange] = []
        #: Whether the objects are from the beginning of the recording, and no informer has them yet.
        self._is_fresh = False
        self._readers: list[Reader] = []
        self._opening: deque[asyncio.Future[Exchange]] = deque()
        self._listing: deque[asyncio.Future[Exchange]] = deque()
        self._listed: deque[Exchange] = deque()
        self._lists_ahead = 0

    # -- what was recorded --------------------------------------------------------------------------------------------

    def begin_with(self, cached: Cached) -> None:
        self._is_fresh, self._version = True, cached.version
        for line in cached.objects.splitlines():
            self._put(line)

    def note_ahead(self, asked: Asked) -> None:
        """Note that a list is recorded."""
        self._lists_ahead += not asked.is_watch

    def opened(self, exchange: Exchange) -> None:
        self._open.append(exchange)
        if _has_everything(exchange.asked.params) and not self._is_fresh:
            self.objects.clear()  # all of them come now
        _give(self._opening, exchange)

    def came(self, exchange: Exchange, lines: bytes) -> None:
        if not self._open or self._open[-1] is not exchange:
            return
        for line in lines.splitlines():
            event = _event.decode(line)
            meta = self._put(bytes(event.object), event.type)
            self._log.append((meta.resource_version, line + b"\n"))
            if event.type == ERROR and exchange in self._open:
                self._open.remove(exchange)  # nothing comes after it, and informers ask again
        for reader in self._readers:
            reader.feed(lines)

    def over(self, exchange: Exchange) -> None:
        if not exchange.asked.is_watch:
            self._lists_ahead -= 1
            if exchange.error() is None:
                self._take_list(exchange)
            if not _give(self._listing, exchange):
                self._listed.append(exchange)
            return
        if not exchange.is_opened and _give(self._opening, exchange):
            return
        if exchange in self._open:
            self._open.remove(exchange)
        over = exchange.over
        if over is not None and over.status and not self._open:  # the informer itself has not closed it
            readers, self._readers = self._readers, []
            for reader in readers:
                reader.end(exchange.error())

    def _take_list(self, exchange: Exchange) -> None:
        found = _page(exchange)
        if not exchange.asked.params.get("continue"):
            self.objects.clear()
        self._version = found.metadata.resource_version or self._version
        for item in found.items or ():
            self._put(bytes(item))

    def _put(self, line: bytes, type_: str = "ADDED") -> _Meta:
        try:
            meta = _object.decode(line).metadata
        except msgspec.MsgspecError:
            return _Meta()
        key = meta.namespace, meta.name
        if type_ == "DELETED":
            self.objects.pop(key, None)
        elif type_ in ("ADDED", "MODIFIED"):
            self.objects[key] = line
        self._seen(type_, line)
        if meta.resource_version and not is_older(meta.resource_version, self._version):
            self._version = meta.resource_version
        return meta

    # -- what the replay asks for -------------------------------------------------------------------------------------

    async def watch(self, params: Mapping[str, str], url: str) -> Reader:
        """
        Open a watch.

        :raises ClientError: if the recorded one was refused
        """
        wants_everything = _has_everything(params)
        lines: list[bytes] = []
        if not self._open and not (wants_everything and self._is_fresh):
            exchange = await self._opened_or_listed(can_be_listed=wants_everything)
            if (error := exchange.error()) is not None and not exchange.is_opened:
                raise error
            if wants_everything and not _has_everything(exchange.asked.params):
                lines = self._everything()
        elif wants_everything:
            lines = self._everything()
        else:
            since = params.get("resourceVersion", "")
            lines = [line for version, line in self._log if is_older(since, version)]
        self._is_fresh = False
        reader = Reader(self, url, lines)
        self._readers.append(reader)
        return reader

    async def _opened_or_listed(self, *, can_be_listed: bool) -> Exchange:
        """The next recorded watch that is opened or refused, or the next recorded list with its last page."""
        if not can_be_listed:
            return await _next(self._opening)
        while True:
            exchange = self._listed.popleft() if self._listed else await _next(self._opening, self._listing)
            if exchange.asked.is_watch or exchange.error() is not None or not _page(exchange).metadata.continue_:
                return exchange

    async def list_all(self) -> bytes:
        """
        A list.

        :raises ClientError: if the recorded one was refused
        """
        if self._is_fresh or self._open or not (self._listed or self._lists_ahead):
            self._is_fresh = False
            return self.answer()
        exchange = self._listed.popleft() if self._listed else await _next(self._listing)
        if (error := exchange.error()) is not None:
            raise error
        return bytes(exchange.answer)

    def answer(self) -> bytes:
        """The list of all objects of this moment."""
        items = b",".join(self.objects.values())
        return b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%s"},"items":[%s]}' % (
            self._version.encode(),
            items,
        )

    def leave(self, reader: Reader) -> None:
        if reader in self._readers:
            self._readers.remove(reader)
        reader.end(ConnectionLost(reader.url, "the watch is closed"))

    def _everything(self) -> list[bytes]:
        lines = [b'{"type":"ADDED","object":%s}\n' % obj for obj in self.objects.values()]
        meta: dict[str, Any] = {
            "resourceVersion": self._version,
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        mark: dict[str, Any] = {"type": BOOKMARK, "object": {"kind": "List", "apiVersion": "v1", "metadata": meta}}
        return [*lines, msgspec.json.encode(mark) + b"\n"]


def _has_everything(params: Mapping[str, str]) -> bool:
    """Whether a watch begins with all objects."""
    return params.get("sendInitialEvents") == "true"


def _page(exchange: Exchange) -> _List:
    """A recorded list, or a page of one. Empty if it cannot be read."""
    try:
        return _list.decode(bytes(exchange.answer))
    except msgspec.MsgspecError:
        return _List()


def _give(waiting: deque[asyncio.Future[Exchange]], exchange: Exchange) -> bool:
    while waiting:
        future = waiting.popleft()
        if not future.done():
            future.set_result(exchange)
            return True
    return False


async def _next(*waiting: deque[asyncio.Future[Exchange]]) -> Exchange:
    """What comes next of any of these."""
    future: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()
    for each in waiting:
        each.append(future)
    return await future
