"""A lister-watcher that does what a test tells it, and remembers what it was asked."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio

from kinformer.client.errors import ApiError, Status, error_from_status
from kinformer.client.types import EventType, ListOptions, ObjectList, WatchEvent
from kinformer.clock import FakeClock

__all__ = ("Call", "ScriptedListerWatcher", "bookmark", "event", "obj", "settle", "status_error")

Object = dict[str, Any]


class Call(NamedTuple):
    verb: str
    options: ListOptions


def obj(name: str, rv: int | str, **more: Any) -> Object:
    """An object in namespace ``ns``; `more` is put beside its metadata."""
    return {"metadata": {"namespace": "ns", "name": name, "resourceVersion": str(rv)}, **more}


def event(type_: EventType, name: str, rv: int | str, **more: Any) -> WatchEvent[Object]:
    return WatchEvent(type_, obj(name, rv, **more))


def bookmark(rv: int | str, *, initial_events_end: bool = False) -> WatchEvent[Object]:
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if initial_events_end else {}
    return WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": str(rv), **annotations}})


def status_error(code: int, reason: str, message: str = "") -> ApiError:
    return error_from_status(Status(code=code, reason=reason, status="Failure", message=message))


_END = object()


class ScriptedListerWatcher:
    """
    Lists and watches wait until the test says what they bring.

    :ivar calls: what was asked, in order
    :ivar open: how many watches are open
    """

    #: Asks whether plain lists cost the server less than streaming ones, if a test says so.
    lists_at_once: Callable[[], Awaitable[bool]] | None = None

    def __init__(self, *, supports_watch_list: bool = False):
        self.supports_watch_list = supports_watch_list
        self.calls: list[Call] = []
        self.open = 0
        self._lists: deque[ObjectList[Object] | Exception] = deque()
        self._refusals: deque[Exception] = deque()
        self._stream: deque[Any] = deque()
        self._told = anyio.Event()

    # --- what a test says

    def will_list(self, *items: Object, rv: int | str, continue_token: str = "") -> None:
        """The next list, or the one that is waited for, brings these."""
        self._lists.append(ObjectList(list(items), str(rv), continue_token))
        self._tell()

    def will_fail_list(self, error: Exception) -> None:
        self._lists.append(error)
        self._tell()

    def will_refuse_watch(self, error: Exception) -> None:
        """The next watch is not opened."""
        self._refusals.append(error)

    def send(self, *events: WatchEvent[Object]) -> None:
        """One batch down the watch that is open, or is opened next."""
        self._stream.append(list(events))
        self._tell()

    def fail_watch(self, error: Exception) -> None:
        self._stream.append(error)
        self._tell()

    def end_watch(self) -> None:
        self._stream.append(_END)
        self._tell()

    def taken(self) -> list[tuple[str, str]]:
        """The verbs and versions asked for since this was asked last."""
        calls = [(call.verb, call.options.resource_version) for call in self.calls]
        self.calls.clear()
        return calls

    # --- what a reflector asks

    async def list(self, options: ListOptions) -> ObjectList[Object]:
        self.calls.append(Call("list", options))
        while not self._lists:
            await self._told.wait()
        answer = self._lists.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent[Object]]]]:
        self.calls.append(Call("watch", options))
        if self._refusals:
            raise self._refusals.popleft()
        self.open += 1
        batches = self._batches()
        try:
            yield batches
        finally:
            self.open -= 1
            await batches.aclose()

    async def _batches(self) -> Any:
        while True:
            while not self._stream:
                await self._told.wait()
            item = self._stream.popleft()
            if item is _END:
                return
            if isinstance(item, Exception):
                raise item
            yield item

    def _tell(self) -> None:
        self._told.set()
        self._told = anyio.Event()


async def settle(clock: FakeClock) -> None:
    """Let every task do what it can, and let the time pass that any of them sleeps, until none does."""
    await clock.settle()
    while (wait := clock.next_due) is not None:
        clock.turn(wait)
        await clock.settle()
