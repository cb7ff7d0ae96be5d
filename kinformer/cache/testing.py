"""A source of objects for tests of informers. It lists and watches as an API server does, all in memory.

::

    source = FakeControllerSource(V1Pod)
    source.add(pod)
    informer = SharedIndexInformer(source, V1Pod, clock=clock)

A test changes the source by :meth:`~FakeControllerSource.add`, ``modify`` and ``delete``. Every open watch gets the
change, unless the test asks for silence. Then only a new watch or a new list shows it. Watches can be ended, broken and
made to fail, the history can be forgotten, and lists and watches can be refused. Everything is a plain call that never
waits.

Objects are copied on their way in and on their way out. Selectors are ignored.
"""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, Literal, TypeVar, cast, overload

import anyio
import msgspec

from kinformer.client.errors import (
    CAUSE_RESOURCE_VERSION_TOO_LARGE,
    ApiError,
    ClientError,
    Status,
    StatusCause,
    StatusDetails,
    error_from_status,
)
from kinformer.client.types import (
    BOOKMARK,
    INITIAL_EVENTS_ANNOTATION,
    EventType,
    ListOptions,
    ObjectList,
    WatchEvent,
)
from kinformer.meta import accessor_for, accessor_of
from kinformer.meta.reading import attribute_of, read

__all__ = ("FakeControllerSource", "expired")

T = TypeVar("T")


def expired(message: str = "too old resource version") -> ApiError:
    """Make the error of a server that has forgotten a version."""
    return error_from_status(Status(status="Failure", code=410, reason="Expired", message=message))


class FakeControllerSource(Generic[T]):
    """
    A :class:`~kinformer.cache.ListerWatcher` of objects of one type, which tests change.

    :param type_: a model, a Struct that can be changed, or dict
    :param supports_watch_list: whether it supports streaming lists
    :ivar list_error: while set, every list is refused with this error
    :ivar watch_error: while set, every watch is refused with this error
    :ivar calls: the requests that came, in order
    """

    @overload
    def __init__(self: FakeControllerSource[dict[str, Any]], *, supports_watch_list: bool = False): ...
    @overload
    def __init__(self, type_: type[T], *, supports_watch_list: bool = False): ...

    def __init__(self, type_: Any = dict, *, supports_watch_list: bool = False):
        self.supports_watch_list = supports_watch_list
        self.list_error: ClientError | None = None
        self.watch_error: ClientError | None = None
        self.calls: list[tuple[Literal["list", "watch"], ListOptions]] = []
        self._accessor = accessor_for(cast("type[T]", type_))
        self._set_meta = _meta_setter(type_)
        self._type = type_
        self._objects: dict[str, T] = {}
        self._version = 0
        #: The changes after `_oldest`, each with its version.
        self._history: list[tuple[int, WatchEvent[T]]] = []
        self._oldest = 0
        self._pages: dict[str, tuple[list[T], int]] = {}
        self._watches: list[_Watch[T]] = []

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """The objects as they are now. Do not change them."""
        return iter(self._objects.values())

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def __getitem__(self, key: str) -> T:
        """The object with a key (``namespace/name``). Do not change it."""
        return self._objects[key]

    @property
    def resource_version(self) -> str:
        """The version of the last change."""
        return str(self._version)

    @property
    def open_watches(self) -> int:
        """Number of open watches."""
        return len(self._watches)

    # --- changes

    def add(self, obj: T, *, silently: bool = False) -> T:
        """
        Create an object.

        :param silently: do not send the change to open watches
        :return: the object as it was stored, with its version
        :raises ValueError: if there is already an object with that name
        """
        if (key := self._accessor.key(obj)) in self._objects:
            raise ValueError(f"{key} exists already: change it with modify()")
        return self._change("ADDED", obj, silently)

    def modify(self, obj: T, *, silently: bool = False) -> T:
        """
        Replace the object with the same key by this one.

        :raises LookupError: if there is no object with that name
        """
        self._known(obj)
        return self._change("MODIFIED", obj, silently)

    def delete(self, obj: T | str, *, silently: bool = False) -> T:
        """
        Delete an object, given as such or by its key.

        :return: its last state, with the version of its deletion
        :raises LookupError: if there is no object with that name
        """
        return self._change("DELETED", self._known(obj), silently)

    def send_bookmark(self) -> None:
        """Send a bookmark with the present version to the open watches."""
        self.send(WatchEvent(BOOKMARK, self._bookmark()))

    def send(self, *events: WatchEvent[T]) -> None:
        """Send events to the open watches that are no changes of the source: a duplicate, or nonsense."""
        for watch in self._watches:
            watch.send([self._copied(event) for event in events])

    # --- failures

    def end_watches(self, error: ClientError | None = None) -> None:
        """
        End the open watches after the events that they were sent, as a server does at their timeout.

        :param error: the error that they raise; None if they just end
        """
        for watch in self._watches:
            watch.end(error)
        self._watches.clear()

    def forget_history(self) -> None:
        """Forget all earlier versions: no watch can start at them, and no further page of an older list can be read."""
        self._history.clear()
        self._oldest = self._version
        self._pages.clear()

    def reset_watch(self) -> None:
        """End the open watches and forget the history, so that every reflector has to list again."""
        self.forget_history()
        self.end_watches()

    # --- requests of a reflector

    async def list(self, options: ListOptions) -> ObjectList[T]:
        """
        Return the objects, or a page of them.

        :raises ClientError: `list_error`, if set; if the version is not available; if the page's list is forgotten
        """
        self.calls.append(("list", options))
        if self.list_error is not None:
            raise self.list_error
        if options.continue_token:
            if options.continue_token not in self._pages:
                raise expired("the provided continue parameter is too old")
            objects, version = self._pages.pop(options.continue_token)
        else:
            self._check_version(options.resource_version)
            if options.resource_version_match == "Exact" and options.resource_version != self.resource_version:
                raise expired()
            objects, version = [self._accessor.copy(obj) for obj in self._objects.values()], self._version
        token = ""
        if options.limit and len(objects) > options.limit:
            token = f"{version}:{len(objects)}"
            self._pages[token] = (objects[options.limit :], version)
            objects = objects[: options.limit]
        return ObjectList(objects, str(version), token)

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[T]]]]:
        """
        Watch the changes after a version. Without a version, all objects come first.

        :raises ClientError: `watch_error`, if set; if the version is forgotten, or is in the future
        """
        self.calls.append(("watch", options))
        if self.watch_error is not None:
            raise self.watch_error
        watch: _Watch[T] = _Watch(self._first_events(options))
        self._watches.append(watch)
        try:
            yield watch
        finally:
            if watch in self._watches:
                self._watches.remove(watch)

    # --- implementation

    def _change(self, type_: EventType, obj: T, silently: bool) -> T:
        self._version += 1
        obj = self._accessor.copy(obj)
        self._set_meta(obj, "resourceVersion", str(self._version))
        key = self._accessor.key(obj)
        if type_ == "DELETED":
            del self._objects[key]
        else:
            self._objects[key] = obj
        event = WatchEvent(type_, obj)
        self._history.append((self._version, event))
        if not silently:
            self.send(event)
        return obj

    def _known(self, obj: T | str) -> T:
        key = obj if isinstance(obj, str) else self._accessor.key(obj)
        if key not in self._objects:
            raise LookupError(f"there is no object {key}")
        return self._objects[key] if isinstance(obj, str) else obj

    def _first_events(self, options: ListOptions) -> builtins.list[WatchEvent[T]]:
        version = options.resource_version
        self._check_version(version)
        # Here "0" is the version of the empty source: a list may have that version, so a watch goes on from it.
        if options.send_initial_events or not version:
            events = [self._copied(WatchEvent("ADDED", obj)) for obj in self._objects.values()]
            if options.send_initial_events:
                events.append(WatchEvent(BOOKMARK, self._bookmark(ends_initial_events=True)))
            return events
        if int(version) < self._oldest:
            raise expired(f"too old resource version: {version} ({self._oldest})")
        return [self._copied(event) for happened, event in self._history if happened > int(version)]

    def _check_version(self, version: str) -> None:
        if version and int(version) > self._version:
            raise error_from_status(
                Status(
                    status="Failure",
                    code=504,
                    reason="Timeout",
                    message=f"Too large resource version: {version}, current: {self._version}",
                    details=StatusDetails(causes=(StatusCause(reason=CAUSE_RESOURCE_VERSION_TOO_LARGE),)),
                )
            )

    def _bookmark(self, *, ends_initial_events: bool = False) -> T:
        meta: dict[str, Any] = {"resourceVersion": str(self._version)}
        if ends_initial_events:
            meta["annotations"] = {INITIAL_EVENTS_ANNOTATION: "true"}
        bookmark: T = msgspec.convert({"metadata": meta}, self._type)
        return bookmark

    def _copied(self, event: WatchEvent[T]) -> WatchEvent[T]:
        return WatchEvent(event.type, accessor_of(event.object).copy(event.object))


class _Watch(Generic[T]):
    """One open watch: the batches of events that it has still to return."""

    def __init__(self, events: list[WatchEvent[T]]):
        self._batches: deque[list[WatchEvent[T]]] = deque([events] if events else [])
        self._ended = False
        self._error: ClientError | None = None
        self._told = anyio.Event()

    def send(self, events: list[WatchEvent[T]]) -> None:
        self._batches.append(events)
        self._told.set()

    def end(self, error: ClientError | None) -> None:
        self._ended = True
        self._error = error
        self._told.set()

    def __aiter__(self) -> AsyncIterator[Sequence[WatchEvent[T]]]:
        return self

    async def __anext__(self) -> Sequence[WatchEvent[T]]:
        while not self._batches:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._told = anyio.Event()
            await self._told.wait()
        # As from a socket: everything that has come since the last read.
        batch = [event for events in self._batches for event in events]
        self._batches.clear()
        return batch


def _meta_setter(type_: type[Any]) -> Callable[[Any, str, Any], None]:
    """A function that sets a metadata field, named as in JSON, of objects of a type."""
    if issubclass(type_, Mapping):

        def set_item(obj: Any, name: str, value: Any) -> None:
            obj["metadata"][name] = value

        return set_item

    def set_attribute(obj: Any, name: str, value: Any) -> None:
        meta = read(obj, "metadata")
        attribute = attribute_of(type(meta), name)
        assert attribute is not None, f"{type(meta).__qualname__} has no field {name}"
        setattr(meta, attribute, value)

    return set_attribute
