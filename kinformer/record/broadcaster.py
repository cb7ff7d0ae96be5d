"""EventBroadcaster: passes events from recorders to listeners, each at its own pace.

Recorders never wait. Each listener has its own queue of limited size. If a listener is too slow, like a sink without a
server, it loses the events that come while its queue is full. Other listeners are not affected.

::

    broadcaster = EventBroadcaster()
    broadcaster.start_recording_to_sink(ClientSink(client))
    recorder = broadcaster.new_recorder("my-controller")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(broadcaster.run)
        ...
        recorder.event(configmap, NORMAL, "Seen", "It is a fine one")
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from kinformer.cancellation import ends_this_task
from kinformer.clock import Clock, RealClock, move_on_after
from kinformer.logs import get_logger
from kinformer.record.correlator import CorrelatorOptions, EventCorrelator
from kinformer.record.recorder import Recorder
from kinformer.record.sink import EventSink, EventWriter

if TYPE_CHECKING:
    from kinformer.models import CoreV1Event

__all__ = ("EventBroadcaster",)

log = get_logger(__name__)

#: The most events that wait for one listener. Further events are dropped.
MAX_QUEUED_EVENTS = 1000

#: The most events that are written to one sink at the same time when the process is about to end.
FLUSHED_AT_ONCE = 16


class EventBroadcaster:
    """
    The events of one process, or of one controller in it.

    Listeners may be started before and during :meth:`run`. Recorders may record before it, too.

    :param options: how events are aggregated, counted and filtered before a sink gets them
    :param max_queued: the most events that wait for one listener
    """

    def __init__(
        self,
        *,
        options: CorrelatorOptions | None = None,
        clock: Clock | None = None,
        max_queued: int = MAX_QUEUED_EVENTS,
    ) -> None:
        self._options = options
        self._clock = clock or RealClock()
        self._max_queued = max_queued
        self._listeners: list[_Listener] = []
        self._writers: list[EventWriter] = []
        self._new_listener = anyio.Event()

    def new_recorder(self, component: str, host: str = "") -> Recorder:
        """Make a recorder for the events of `component`."""
        return Recorder(self._send, component, host, self._clock)

    def start_recording_to_sink(self, sink: EventSink) -> None:
        """Write every event to `sink`, after correlation and with retries."""
        writer = EventWriter(sink, EventCorrelator(self._options, self._clock), self._clock)
        self._writers.append(writer)
        self._listen(_Listener(writer.write, self._max_queued, _about))

    def start_structured_logging(self) -> None:
        """Log every event as it is recorded, without correlation."""
        self.start_event_watcher(_log_event)

    def start_event_watcher(self, handler: Callable[[CoreV1Event], Awaitable[object]]) -> None:
        """Call `handler` for every event from now on, one after the other. It must not change the events."""
        self._listen(_Listener(handler, self._max_queued))

    def _listen(self, listener: _Listener) -> None:
        self._listeners.append(listener)
        self._new_listener.set()

    @property
    def dropped(self) -> int:
        """Number of events that listeners have lost because their queue was full."""
        return sum(listener.dropped for listener in self._listeners)

    async def run(self) -> None:
        """Pass events on until cancelled. Events that wait then are lost, unless :meth:`flush` was called before."""
        running = 0
        async with anyio.create_task_group() as tasks:
            while True:
                self._new_listener = anyio.Event()
                for listener in self._listeners[running:]:
                    tasks.start_soon(listener.run)
                running = len(self._listeners)
                await self._new_listener.wait()

    async def flush(self, seconds: float) -> int:
        """
        Wait until all recorded events have been passed on, while :meth:`run` runs. From now on nothing is retried.

        Sinks get the events of different objects at the same time, and those of one object one after the other.

        :param seconds: the most seconds to wait
        :return: the number of events that were not passed on, and are lost if the process ends
        """
        for writer in self._writers:
            writer.hurry()
        with move_on_after(self._clock, seconds):
            async with anyio.create_task_group() as tasks:
                for listener in self._listeners:
                    tasks.start_soon(listener.flush)
        return sum(listener.left for listener in self._listeners)

    def _send(self, event: CoreV1Event) -> None:
        for listener in self._listeners:
            listener.put(event)


class _Listener:
    """A handler and its queue."""

    def __init__(
        self,
        handler: Callable[[CoreV1Event], Awaitable[object]],
        max_queued: int,
        lane: Callable[[CoreV1Event], object] | None = None,
    ) -> None:
        self._handler = handler
        self._lane = lane
        self._lane_at_work: object = None
        self._at_once = 0
        self._max_queued = max_queued
        self._queue: deque[CoreV1Event] = deque()
        self._arrived = anyio.Event()
        self._missed = 0
        self._at_work = False
        self._idle = anyio.Event()
        self.dropped = 0

    @property
    def left(self) -> int:
        """Number of events that were not passed on yet."""
        return len(self._queue) + self._at_work + self._at_once

    async def wait_idle(self) -> None:
        """Return once all events have been passed on."""
        while self.left:
            if self._idle.is_set():
                self._idle = anyio.Event()
            await self._idle.wait()

    async def flush(self) -> None:
        """Pass on all events that wait: with a lane, those of different lanes at the same time."""
        if self._lane is not None:
            self._idle = anyio.Event()
            lanes: dict[object, deque[CoreV1Event]] = {}
            while self._queue:
                event = self._queue.popleft()
                lanes.setdefault(self._lane(event), deque()).append(event)
            self._at_once = sum(map(len, lanes.values()))
            limiter = anyio.CapacityLimiter(FLUSHED_AT_ONCE)
            async with anyio.create_task_group() as tasks:
                for lane, events in lanes.items():
                    tasks.start_soon(self._pass_on, lane, events, limiter)
        await self.wait_idle()

    async def _pass_on(self, lane: object, events: deque[CoreV1Event], limiter: anyio.CapacityLimiter) -> None:
        if self._at_work and lane == self._lane_at_work:
            await self._idle.wait()
        async with limiter:
            for event in events:
                await self._call(event)
                self._at_once -= 1

    def put(self, event: CoreV1Event) -> None:
        if len(self._queue) >= self._max_queued:
            # One log line for a flood of events, not one for each dropped event.
            if not self._missed:
                log.warning("event_queue_full", max_queued=self._max_queued)
            self._missed += 1
            self.dropped += 1
            return
        self._queue.append(event)
        self._arrived.set()

    async def run(self) -> None:
        while True:
            while self._queue:
                self._at_work = True
                event = self._queue.popleft()
                self._lane_at_work = self._lane(event) if self._lane is not None else None
                await self._call(event)
                self._at_work = False
            self._idle.set()
            if self._missed:
                log.warning("events_dropped", count=self._missed)
                self._missed = 0
            self._arrived = anyio.Event()
            await self._arrived.wait()

    async def _call(self, event: CoreV1Event) -> None:
        try:
            await self._handler(event)
        except BaseException as error:  # an error of a listener must not end the process
            if ends_this_task(error):
                raise
            log.exception("event_listener_failed")


def _about(event: CoreV1Event) -> tuple[object, ...]:
    involved = event.involved_object
    return involved.kind, involved.namespace, involved.name, involved.uid


async def _log_event(event: CoreV1Event) -> None:
    involved = event.involved_object
    log.info(
        "event_occurred",
        object=f"{involved.namespace or ''}/{involved.name}",
        kind=involved.kind,
        type=event.type,
        reason=event.reason,
        message=event.message,
    )
