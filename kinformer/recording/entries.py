"""Entries: what a recording consists of, in the order in which it happened.

An *exchange* is one request with its answer: of an informer, of a sync, or of other code of a controller. Its entries
are an :class:`Asked`, for a watch an :class:`Opened`, any number of :class:`Came`, and an :class:`Over`. A *sync* has a
:class:`Began` and an :class:`Ended`. All times are seconds since the recorder was made.

In a file, entries are lists in MessagePack. Fields may only be added at the end of an entry, with a default.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

__all__ = (
    "Asked",
    "Began",
    "Begin",
    "Cached",
    "Came",
    "Ended",
    "Entry",
    "Opened",
    "Over",
    "Wall",
    "decode_entries",
    "encode_entries",
)


class _Entry(msgspec.Struct, array_like=True, gc=False):
    pass


class Begin(_Entry, tag="begin", kw_only=True):
    """
    The first entry of a segment.

    :param run: a random text, the same in all segments of a process
    :param number: of the segment, from 0
    :param is_gapless: whether nothing is missing between the segment before and this one
    :param wall: the wall-clock time at this moment, in seconds since 1970
    :param version: kinformer's
    :param controllers: the controllers, as ``kinformer simulate`` takes them
    :param options: the options of the controllers
    :param namespaces: the namespaces that are watched; none for all
    :param redact: the annotations that are left out
    """

    at: float
    run: str
    number: int
    is_gapless: bool
    wall: float
    version: str
    controllers: list[str]
    options: dict[str, bool | int | float | str | None]
    namespaces: list[str]
    redact: list[str]


class Cached(_Entry, tag="cached"):
    """
    Some objects of a cache, when the segment begins.

    :param path: the path of the watch that the cache is filled from
    :param version: the version that the cache has reached
    :param form: the Accept header of the watch; empty for the usual one
    :param selectors: its label selector and its field selector
    :param objects: in JSON, each on a line
    """

    at: float
    path: str
    version: str
    form: str
    selectors: tuple[str, str]
    objects: bytes


class Asked(_Entry, tag="asked"):
    """
    A request is sent, or was sent before the segment begins and is not over.

    :param sync: the number of the sync that sends it; 0 for others
    :param method: WATCH for a watch
    :param form: the Content-Type of what is written, or the Accept header of what is read; empty for the usual ones
    """

    at: float
    exchange: int
    sync: int
    method: str
    path: str
    params: dict[str, str]
    form: str
    body: bytes

    @property
    def is_watch(self) -> bool:
        return self.method == "WATCH"


class Opened(_Entry, tag="opened"):
    """A watch has been accepted."""

    at: float
    exchange: int


class Came(_Entry, tag="came"):
    """
    A part of an answer has arrived: for a watch whole lines. An empty part says that the answer begins again.
    """

    at: float
    exchange: int
    data: bytes


class Over(_Entry, tag="over"):
    """
    An exchange is over.

    :param status: the HTTP status; 0 if there is none, or this side has closed a watch
    :param error: the type of the client's error, empty if there is none
    :param text: its text
    """

    at: float
    exchange: int
    status: int
    error: str
    text: str


class Began(_Entry, tag="began"):
    """
    A sync begins.

    :param sync: its number, from 1
    :param event: what added the key to the queue: see :class:`~kinformer.manager.history.Trigger`
    :param object: the object that changed
    :param version: its resourceVersion
    :param waited: how many seconds the key was in the queue
    """

    at: float
    sync: int
    controller: str
    key: str
    event: str
    informer: str
    object: str
    version: str
    waited: float


class Ended(_Entry, tag="ended"):
    """
    A sync has ended.

    :param error: the type of its exception, empty if it succeeded
    :param text: the exception's text
    :param after: the seconds after which it asked to be called again; 0 if it did not
    """

    at: float
    sync: int
    error: str
    text: str
    after: float


class Wall(_Entry, tag="wall"):
    """The wall clock was set: it is now this many seconds since 1970."""

    at: float
    wall: float


Entry: TypeAlias = Begin | Cached | Asked | Opened | Came | Over | Began | Ended | Wall

encode_entries: Final = msgspec.msgpack.Encoder().encode
decode_entries: Final = msgspec.msgpack.Decoder(list[Entry]).decode
