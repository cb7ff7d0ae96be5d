"""Processor: passes each change to every event handler. Each handler has a ring buffer and a task of its own.

The informer calls :meth:`SharedProcessor.distribute` for each change, which appends it to every listener's buffer. Once
a batch, it calls :meth:`SharedProcessor.wake`. A listener's task takes its notifications from the buffer in order and
calls the handler, so no handler waits for another.

A handler that is added late is first called for every object that is there already. This happens some objects at a
time, and all other tasks have their turn in between. So workers begin with the first objects before the handler has
been called for the last ones.

The buffer grows while the handler is slower than the changes come. It is a :class:`collections.deque`, which allocates
and frees memory in blocks of 64 places, so the memory is given back as the handler catches up.

If a handler raises, only that one notification is lost. The error is logged and counted, and the handler is called for
the next change. The same holds if the handler awaits something that other code has cancelled. Only a removal of the
handler, or the cancellation of the informer, ends the listener.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from itertools import islice
from operator import length_hint
from typing import Any, Final, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from kinformer.cache.catching_up import CATCH_UP_TIMEOUT, CacheBehind
from kinformer.cache.handlers import ResourceEventHandler, name_for_handler
from kinformer.cache.metrics import handler_errors_total, track_pending
from kinformer.cache.starting import InformerStateError, SyncGate
from kinformer.cancellation import ends_this_task, is_stray
from kinformer.clock import Clock, move_on_after
from kinformer.cluster import in_cluster
from kinformer.logs import get_logger

__all__ = ("Notification", "ProcessorListener", "SharedProcessor")

T = TypeVar("T")

log = get_logger(__name__)

# A notification is a plain tuple: the kind of change, and one or two values. All listeners share one tuple.
Notification = tuple[int, Any, Any]
ADD, UPDATE, DELETE, SYNCED, LISTED, REACHED = range(6)

#: Seconds for which a listener goes on calling its handler before it lets other tasks run.
_TURN = 0.005

#: Calls between two readings of the clock, if those before them took fewer seconds together than `_QUICK`.
_BETWEEN_LOOKS: Final = 8
_QUICK: Final = 0.0001

#: How many of the objects that were there before it a listener is called for in one turn: about a millisecond's worth.
#: There may be dozens of listeners, and a worker that has its first key waits for one turn of each.
_AT_ONCE: Final = 256


# More than 15 fields: names, resync times and the buffer are read for each notification, so they are flat.
class ProcessorListener(Generic[T]):
    """
    One handler's registration with an informer: its pending notifications, and whether it has had the initial ones.

    :param is_started: whether the informer runs, or has run
    :param requested_resync_period: seconds between resyncs, as asked for
    :param resync_period: seconds between resyncs, as they take place; 0 for never
    :param cache_reaches: returns once the informer's cache shows everything up to a version of a namespace, which may
        be empty for all; the third argument is the number of seconds after which it raises
        :exc:`~kinformer.cache.CacheBehind`
    :param since: the version up to which the handler was called in an earlier run; empty for none
    """

    __slots__ = (
        "__weakref__",
        "_cache_reaches",
        "_clock",
        "_idle",
        "_listed",
        "_removed",
        "_synced",
        "_waiters",
        "_wanted",
        "handler",
        "handler_name",
        "informer_name",
        "name",
        "next_resync",
        "pending",
        "requested_resync_period",
        "resync_period",
        "resyncing",
        "since",
    )

    def __init__(
        self,
        handler: ResourceEventHandler[T],
        *,
        informer_name: str,
        is_started: Callable[[], bool],
        requested_resync_period: float,
        resync_period: float,
        cache_reaches: Callable[[str, str, float], Awaitable[None]],
        clock: Clock,
        since: str = "",
    ):
        self.handler = handler
        self.since = since
        self.handler_name = name_for_handler(handler)
        self.name = f"{informer_name} + event handler {self.handler_name}"
        self.informer_name = informer_name
        self.requested_resync_period = requested_resync_period
        self.resync_period = resync_period
        self.next_resync = clock.monotonic() + resync_period
        #: Whether the current resync includes this listener.
        self.resyncing = True
        #: The ring buffer. To notify the handler, append to it and then call :meth:`wake`.
        self.pending: deque[Notification] = deque()
        self._cache_reaches = cache_reaches
        #: Those that wait until all notifications before them have been handled; also in `pending`.
        self._waiters: set[anyio.Event] = set()
        self._clock = clock
        #: Objects that were there before this listener, and for which there is no notification yet.
        self._listed: Iterator[T] = iter(())
        #: What the task waits for while nothing is pending.
        self._wanted: asyncio.Future[None] | None = None
        #: Set while no task runs this listener.
        self._idle = anyio.Event()
        self._idle.set()
        self._removed = False
        self._synced = SyncGate(self.name, informer_name, is_started, clock)
        track_pending(self)

    @property
    def has_synced(self) -> bool:
        """Whether the handler was called for every object that was there when it, or the informer, began."""
        return self._synced.synced

    async def wait_synced(self) -> None:
        """
        Return once :attr:`has_synced` is true.

        :raises InformerStateError: if the informer stopped before, or the handler was removed
        """
        await self._synced.wait()

    async def wait_for_version(
        self, resource_version: str, *, namespace: str = "", timeout: float | None = None
    ) -> None:
        """
        Return once the handler has been called for everything up to a version, and has returned from these calls.

        The informer's own :meth:`~kinformer.cache.SharedIndexInformer.wait_for_version` waits for the cache only, and
        handlers are called a little later. Not to be awaited by the handler itself: it would wait for its own end.

        :param resource_version: of a write of the informer's resource
        :param namespace: of the object that was written; an informer of several namespaces should know it
        :param timeout: seconds after which to give up; None means 10
        :raises CacheBehind: if the handler has not come so far by then
        :raises InformerStateError: if the informer does not run, or it ends or the handler is removed meanwhile
        """
        seconds = CATCH_UP_TIMEOUT if timeout is None else timeout
        ends = self._clock.monotonic() + seconds
        await self._cache_reaches(resource_version, namespace, seconds)
        self._check_not_removed(resource_version)
        handled = anyio.Event()
        self._waiters.add(handled)
        marker = (REACHED, handled, None)
        self.pending.append(marker)
        self.wake()
        with move_on_after(self._clock, ends - self._clock.monotonic()) as waiting:
            try:
                await handled.wait()
            finally:
                self._waiters.discard(handled)
        if waiting.cancelled_caught:
            with suppress(ValueError):
                self.pending.remove(marker)
            raise CacheBehind(
                f"{self.name} has not been called up to version {resource_version} after {seconds:g} s: "
                f"{self.untold} notifications wait"
            )
        self._check_not_removed(resource_version)

    def _check_not_removed(self, resource_version: str) -> None:
        if self._removed:
            raise InformerStateError(f"{self.name} has ended: it is not called up to version {resource_version}")

    @property
    def untold(self) -> int:
        """Number of notifications that the handler has not been called with yet."""
        return len(self.pending) + length_hint(self._listed)

    def tell_of_all(self, objects: Collection[T]) -> None:
        """Notify the handler of all these objects as adds. Call it once, before any other notification."""
        # Not all notifications are made at once: 20,000 of them take 6 ms, for each listener, before the first call.
        self._listed = iter(objects)
        self._go_on_with_listed()

    def wake(self) -> None:
        """Wake the task, so that it sees what was appended to :attr:`pending`."""
        if self._wanted is not None:
            if not self._wanted.done():  # its task may have been cancelled
                self._wanted.set_result(None)
            self._wanted = None

    def remove(self) -> None:
        """End the task after its present call of the handler. Pending notifications are dropped."""
        self._removed = True
        self.pending.clear()
        self._listed = iter(())
        self._synced.close()
        for waiter in self._waiters:
            waiter.set()
        self.wake()

    async def wait_idle(self) -> None:
        """Return once no task runs this any more: the handler is not being called, and never will be again."""
        await self._idle.wait()

    async def run(self) -> None:
        """Call the handler for what is pending, in order, until removed or cancelled."""
        self._idle = anyio.Event()
        loop = asyncio.get_running_loop()
        try:
            while not self._removed:
                try:
                    if self.pending:
                        await self._tell()
                        if self.pending:
                            await checkpoint()
                    else:
                        # A bare future: most batches have one event, and an anyio.Event costs as much as a handler.
                        self._wanted = loop.create_future()
                        await self._wanted
                except asyncio.CancelledError as error:
                    # The handler may have cancelled its own task, and have ended before that was delivered.
                    if not is_stray(error):
                        raise
        finally:
            self._idle.set()

    async def _tell(self) -> None:
        """Take one turn: until nothing is pending, or the turn's time is over."""
        pending, take = self.pending, self.pending.popleft
        on_add, on_update, on_delete = self.handler.on_add, self.handler.on_update, self.handler.on_delete
        now = self._clock.monotonic
        looked = now()
        turn_ends = looked + _TURN
        until_look = 1
        while pending:
            kind, one, other = take()
            try:
                if kind == UPDATE:
                    result = on_update(one, other)
                elif kind == ADD:
                    result = on_add(one, other)
                elif kind == DELETE:
                    result = on_delete(one)
                elif kind == LISTED:
                    self._go_on_with_listed()
                    return
                elif kind == REACHED:
                    one.set()
                    continue
                else:
                    self._synced.sync()
                    continue
                if result is not None and inspect.isawaitable(result):
                    await result
                    if self._removed:
                        return
            except BaseException as error:
                # Also a cancellation of something that the handler awaited: to let it out would end the informer
                # without a word.
                if ends_this_task(error) and not is_stray(error):
                    raise
                self._failed()
            # One call of a handler may take milliseconds: the clock is then read after each call. A handler that takes
            # a microsecond would pay as much for the clock.
            until_look -= 1
            if not until_look:
                since, looked = looked, now()
                if looked >= turn_ends:
                    return
                until_look = _BETWEEN_LOOKS if looked - since < _QUICK else 1

    def _go_on_with_listed(self) -> None:
        """Put notifications for the next few objects before everything else that is pending."""
        some: list[Notification] = [(ADD, obj, True) for obj in islice(self._listed, _AT_ONCE)]
        if length_hint(self._listed):
            some.append((LISTED, None, None))
        self.pending.extendleft(reversed(some))

    def _failed(self) -> None:
        handler_errors_total.labels(in_cluster(self.informer_name), self.handler_name).inc()
        log.exception("event_handler_failed", informer=self.informer_name, handler=self.handler_name)

    def should_resync(self, now: float) -> bool:
        return self.resync_period > 0 and now >= self.next_resync

    def determine_next_resync(self, now: float) -> None:
        self.next_resync = now + self.resync_period


class SharedProcessor(Generic[T]):
    """The listeners of one informer. Everything here is called from the event loop's thread."""

    __slots__ = ("_all", "_clock", "_outdated", "_resyncing", "_tasks", "everyone")

    def __init__(self, clock: Clock):
        self._clock = clock
        # In the order in which they were added. It is a dict, so that one of thousands is removed at once.
        self._all: dict[ProcessorListener[T], None] = {}
        #: The append methods of the listeners' buffers: each further handler costs one such call for each change. This
        #: list object never changes, for code that writes :meth:`distribute` out.
        self.everyone: list[Callable[[Notification], None]] = []
        self._resyncing: list[Any] = []
        #: Whether a listener has been removed since those two lists were made.
        self._outdated = False
        self._tasks: TaskGroup | None = None

    def __iter__(self) -> Iterator[ProcessorListener[T]]:
        return iter(tuple(self._all))

    def start(self, tasks: TaskGroup) -> None:
        """Run every listener in a task group, and also those that will be added."""
        self._tasks = tasks
        for listener in self._all:
            tasks.start_soon(listener.run, name=listener.name)

    def stop(self) -> None:
        """Remove all listeners."""
        self._tasks = None
        for listener in self._all:
            listener.remove()
        self._all.clear()
        self._rebuild()

    def add(self, listener: ProcessorListener[T]) -> None:
        self._all[listener] = None
        self.everyone.append(listener.pending.append)
        if listener.resyncing:
            self._resyncing.append(listener.pending.append)
        if self._tasks is not None:
            self._tasks.start_soon(listener.run, name=listener.name)

    def remove(self, listener: ProcessorListener[T]) -> None:
        """Remove a listener: its handler is not called again. Removing one that is not there has no effect."""
        if listener in self._all:
            del self._all[listener]
            # Until the next batch, notifications may still go to its buffer, which nobody reads. So 4,000 listeners
            # that end together cause one rebuild.
            self._outdated = True
            listener.remove()

    def begin_with(self, objects: Collection[T]) -> None:
        """
        Notify all listeners of these objects as adds. Call it before anything else is distributed.

        Objects that a later list finds unchanged are not distributed, unless a resync is due: the listeners know them.
        """
        for listener in self._all:
            listener.tell_of_all(objects)
            listener.resyncing = False
        self._rebuild()

    def distribute(self, notification: Notification) -> None:
        """Pass a change to all listeners."""
        for append in self.everyone:
            append(notification)

    def distribute_sync(self, notification: Notification) -> None:
        """Pass a resync notification to the listeners whose resync is due."""
        for append in self._resyncing:
            append(notification)

    def wake(self) -> None:
        """Wake the listeners that have pending notifications. The informer calls this once a batch."""
        if self._outdated:
            self._rebuild()
        for listener in self._all:
            if listener.pending:
                listener.wake()

    def should_resync(self) -> bool:
        """Find the listeners whose resync is due, and return whether there are any."""
        now = self._clock.monotonic()
        for listener in self._all:
            listener.resyncing = listener.should_resync(now)
            if listener.resyncing:
                listener.determine_next_resync(now)
        self._rebuild()
        return bool(self._resyncing)

    def _rebuild(self) -> None:
        self._outdated = False
        self.everyone[:] = [listener.pending.append for listener in self._all]
        self._resyncing = [listener.pending.append for listener in self._all if listener.resyncing]
