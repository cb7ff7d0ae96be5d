"""Handing each change to every handler: a ring buffer and a task for each, so that none waits for another.

The informer calls :meth:`SharedProcessor.distribute` for each change, which appends it to every listener's buffer, and
:meth:`SharedProcessor.wake` once a batch. A listener's task takes its notifications from the buffer in order and calls
the handler. Who is added late is told of all that is there already, some objects at a time and each time after all
others had their turn: workers begin with the first ones while the last ones are not told yet.
The buffer grows as long as the handler is slower than the changes come, and gives the memory back as it is
worked off (a :class:`collections.deque`, which allocates 64 places at a time and lets go of them behind itself).

A handler that raises has lost that one notification: it is logged and counted, and the next one goes out. So has one
that awaits what somebody else cancelled; only who ends the listener ends it.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from operator import length_hint
from typing import Any, Final, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from kinformer.cache.handlers import ResourceEventHandler, name_for_handler
from kinformer.cache.metrics import handler_errors_total, track_pending
from kinformer.cache.starting import SyncGate
from kinformer.cancellation import ends_this_task
from kinformer.clock import Clock
from kinformer.logs import get_logger

__all__ = ("Notification", "ProcessorListener", "SharedProcessor")

T = TypeVar("T")

log = get_logger(__name__)

# A notification is a plain tuple: what happened, and one or two things about it. It is made once and shared by all.
Notification = tuple[int, Any, Any]
ADD, UPDATE, DELETE, SYNCED, LISTED = range(5)

#: Seconds for which a listener goes on calling its handler before it lets others run.
_TURN = 0.005

#: How many objects a listener is told of in one turn that were there before it: about a millisecond's worth. There may
#: be dozens of listeners, and a worker that has its first key waits for a turn of each.
_AT_ONCE: Final = 256


class ProcessorListener(Generic[T]):
    """
    One handler's registration with an informer: what is still to be told to it, and whether it knows all there was.

    :param is_started: whether the informer runs, or has run
    :param requested_resync_period: seconds, as asked for
    :param resync_period: seconds between resyncs as they are; 0 for never
    """

    __slots__ = (
        "__weakref__",
        "_clock",
        "_idle",
        "_listed",
        "_removed",
        "_synced",
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
    )

    def __init__(
        self,
        handler: ResourceEventHandler[T],
        *,
        informer_name: str,
        is_started: Callable[[], bool],
        requested_resync_period: float,
        resync_period: float,
        clock: Clock,
    ):
        self.handler = handler
        self.handler_name = name_for_handler(handler)
        self.name = f"{informer_name} + event handler {self.handler_name}"
        self.informer_name = informer_name
        self.requested_resync_period = requested_resync_period
        self.resync_period = resync_period
        self.next_resync = clock.monotonic() + resync_period
        #: Whether a resync that is under way is meant for this listener.
        self.resyncing = True
        #: The ring buffer. Appending to it and then :meth:`wake` is how something is told to the handler.
        self.pending: deque[Notification] = deque()
        self._clock = clock
        #: Objects that were there before it, and for which there is no notification yet.
        self._listed: Iterator[T] = iter(())
        self._wanted: anyio.Event | None = None
        #: Set while no task runs it.
        self._idle = anyio.Event()
        self._idle.set()
        self._removed = False
        self._synced = SyncGate(self.name, informer_name, is_started, clock)
        track_pending(self)

    @property
    def has_synced(self) -> bool:
        """Whether the handler has been told of everything that was there when it, or the informer, began."""
        return self._synced.synced

    async def wait_synced(self) -> None:
        """
        Return once :attr:`has_synced` is true.

        :raises InformerStateError: if the informer stopped before, or the handler was removed
        """
        await self._synced.wait()

    @property
    def untold(self) -> int:
        """How many notifications the handler has not been given yet."""
        return len(self.pending) + length_hint(self._listed)

    def tell_of_all(self, objects: Collection[T]) -> None:
        """Tell of all of these as adds; to be called once, before anything else is told."""
        # Not by a notification for each at once: 20,000 of them take 6 ms, for each listener, before the first is told.
        self._listed = iter(objects)
        self._go_on_with_listed()

    def wake(self) -> None:
        """Let the task see what was appended to :attr:`pending`."""
        if self._wanted is not None:
            self._wanted.set()
            self._wanted = None

    def remove(self) -> None:
        """End the task after the call that it is in; what is pending is dropped."""
        self._removed = True
        self.pending.clear()
        self._listed = iter(())
        self._synced.close()
        self.wake()

    async def wait_idle(self) -> None:
        """Return once no task runs this any more: the handler is in no call, and never will be."""
        await self._idle.wait()

    async def run(self) -> None:
        """Tell the handler what is pending, in order, until removed or cancelled."""
        self._idle = anyio.Event()
        try:
            while not self._removed:
                if self.pending:
                    await self._tell()
                    await checkpoint()
                else:
                    self._wanted = anyio.Event()
                    await self._wanted.wait()
        finally:
            self._idle.set()

    async def _tell(self) -> None:
        """One turn: until nothing is pending, or it has taken long enough."""
        pending, take = self.pending, self.pending.popleft
        on_add, on_update, on_delete = self.handler.on_add, self.handler.on_update, self.handler.on_delete
        now = self._clock.monotonic
        turn_ends = now() + _TURN
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
                if ends_this_task(error):
                    raise
                self._failed()
            # Looked at each time: a handler may take milliseconds a call.
            if now() >= turn_ends:
                return

    def _go_on_with_listed(self) -> None:
        """Put the next of them before everything else that is pending."""
        some: list[Notification] = [(ADD, obj, True) for obj in islice(self._listed, _AT_ONCE)]
        if length_hint(self._listed):
            some.append((LISTED, None, None))
        self.pending.extendleft(reversed(some))

    def _failed(self) -> None:
        handler_errors_total.labels(self.informer_name, self.handler_name).inc()
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
        # In the order in which they were added; a dict, so that one of thousands is removed at once.
        self._all: dict[ProcessorListener[T], None] = {}
        #: The listeners' own append methods: the cost of a further handler is one such call a change. Always the same
        #: list, for who writes out :meth:`distribute`.
        self.everyone: list[Callable[[Notification], None]] = []
        self._resyncing: list[Any] = []
        #: Whether a listener has been removed since those two were made.
        self._outdated = False
        self._tasks: TaskGroup | None = None

    def __iter__(self) -> Iterator[ProcessorListener[T]]:
        return iter(tuple(self._all))

    def start(self, tasks: TaskGroup) -> None:
        """Run every listener, and those that will be added, in a task group."""
        self._tasks = tasks
        for listener in self._all:
            tasks.start_soon(listener.run, name=listener.name)

    def stop(self) -> None:
        """No listener is run any more, and none is left."""
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
        """Nothing more is told to it. Removing one that is not there does nothing."""
        if listener in self._all:
            del self._all[listener]
            # Until the next batch it may be given what nobody takes; 4,000 that end together are one rebuilding.
            self._outdated = True
            listener.remove()

    def distribute(self, notification: Notification) -> None:
        """Something has changed: everybody is to know."""
        for append in self.everyone:
            append(notification)

    def distribute_sync(self, notification: Notification) -> None:
        """Nothing has changed, but whoever asked for the resync that is under way is to hear of it."""
        for append in self._resyncing:
            append(notification)

    def wake(self) -> None:
        """Once a batch: let the listeners see what they were given."""
        if self._outdated:
            self._rebuild()
        for listener in self._all:
            if listener.pending:
                listener.wake()

    def should_resync(self) -> bool:
        """Find out whose resync is due; whether anybody's is."""
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
