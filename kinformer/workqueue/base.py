"""WorkQueue: the base class of all work queues. It gives items to workers, each to one at a time, and ends in order.

An item that a worker holds is in the *processing* set until :meth:`WorkQueue.done`. The subclass decides the order of
the other items, and when an item is ready. A queue belongs to one event loop and has no lock, because no other code
runs between two awaits. Another thread adds by ``loop.call_soon_threadsafe(queue.add, item)``.

A worker that waits in ``get()`` has a place in the line of waiters, and never an item. It is woken, and takes the item
itself when it runs. So nothing is lost when ``get()`` is cancelled: if it was woken already, it wakes the next waiter.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

from kinformer.arguments import want_text
from kinformer.clock import Clock, RealClock
from kinformer.workqueue.metrics import MetricsProvider, QueueMetrics, default_provider

__all__ = ("ShutDown", "WorkQueue")

T = TypeVar("T", bound=Hashable)

#: After this many items without a wait, a get() lets other tasks run. Otherwise workers that never wait for anything
#: would keep the event loop until the queue is empty. With 64 this costs less than 1 µs an item.
_TURNS = 64


class ShutDown(Exception):
    """The queue was shut down and has no items left."""


class WorkQueue(ABC, Generic[T]):
    """
    The part that all work queues have in common.

    ::

        async for key in queue:  # until it is shut down
            with queue.processing(key):  # done, whatever happens
                await sync(key)

    :param name: the queue's name in metrics and errors; a queue without a name has no metrics
    :param clock: the clock for its delays and measurements
    :param metrics: the provider of its metrics; :func:`~kinformer.workqueue.metrics.default_provider` if None
    """

    def __init__(self, name: str = "", *, clock: Clock | None = None, metrics: MetricsProvider | None = None) -> None:
        want_text(name, "the name of a queue", "a text, or nothing; limiter= takes a rate limiter")
        self.name = name
        self._clock: Clock = clock if clock is not None else RealClock()
        self._metrics: QueueMetrics | None = (
            (metrics or default_provider()).metrics_of(name, self._clock) if name else None
        )
        #: Number of items that were given to workers so far.
        self.handed_out = 0
        self._processing: set[T] = set()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._shutting_down = False
        self._dropping = False
        self._drained: anyio.Event | None = None
        self._turns = _TURNS

    @abstractmethod
    def add(self, item: T) -> None:
        """Queue `item`. Ignored once the queue is shutting down."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of items that are ready."""

    def __bool__(self) -> bool:
        """Always true: ``queue or other`` must not drop a queue because it is empty."""
        return True

    async def get(self) -> T:
        """
        Wait for an item and take it. The caller must call :meth:`done` with it.

        Nothing is lost when this is cancelled.

        :raises ShutDown: if the queue is shut down and has no items left
        """
        await self._until_ready()
        self.handed_out += 1
        return self._take()

    def get_nowait(self) -> T:
        """
        Take an item, without waiting.

        :raises anyio.WouldBlock: if no item is ready now
        :raises ShutDown: if the queue is shut down and has no items left
        """
        if not self._ready():
            if self._shutting_down:
                raise self._shut_down_error()
            raise anyio.WouldBlock
        self.handed_out += 1
        return self._take()

    def done(self, item: T) -> None:
        """
        End the work on `item`. If it was added meanwhile, it is queued again.

        An item that no worker holds is ignored.
        """
        if item not in self._processing:
            return
        if self._metrics is not None:
            self._metrics.done(item)
        self._processing.discard(item)
        self._release(item)
        if self._dropping:
            self._drop_rest()
        if self._drained is not None and self._is_drained():
            self._drained.set()

    def processing(self, item: T) -> _Processing[T]:
        """A context that calls :meth:`done` at its end, for an item that was taken from the queue."""
        return _Processing(self, item)

    def __aiter__(self) -> WorkQueue[T]:
        """Give every item as :meth:`get` does, until the queue is shut down and empty. Call :meth:`done` for each."""
        return self

    async def __anext__(self) -> T:
        try:
            return await self.get()
        except ShutDown:
            raise StopAsyncIteration from None

    @property
    def shutting_down(self) -> bool:
        """Whether the queue was shut down and accepts no more items."""
        return self._shutting_down

    def shut_down(self) -> None:
        """
        Accept no more items. The remaining ones are still given out; after them, callers get :exc:`ShutDown`.

        A :meth:`shut_down_with_drain` that is waiting returns at once.
        """
        self._stop()
        if self._drained is not None:
            self._drained.set()
            self._drained = None

    def shut_down_now(self) -> None:
        """
        Accept no more items, and drop the remaining ones: callers get :exc:`ShutDown`.

        An item that was added again while a worker holds it is dropped when it is done.
        """
        self._drop_rest()
        self.shut_down()

    async def shut_down_with_drain(self) -> None:
        """
        Accept no more items, and return once all remaining ones were given out and are done.

        This waits for ever if a worker never calls :meth:`done`, or was never started. :meth:`shut_down` ends the wait.
        client-go's queue stops waiting at the first moment at which no worker holds an item, even if others are queued.
        There workers are fast enough for that to be rare. Here, all items that were added are processed.
        """
        self._stop()
        if self._is_drained():
            return
        if self._drained is None:
            self._drained = anyio.Event()
        await self._drained.wait()

    @abstractmethod
    def _ready(self) -> bool:
        """Whether there is an item to take."""

    @abstractmethod
    def _take(self) -> T:
        """Move the next item into processing. Called only if there is one."""

    def _drop_rest(self) -> None:
        # Off meanwhile: `done` of a dropped item would drop the rest inside this loop, one call deeper for each item.
        self._dropping = False
        while self._ready():
            self._drop()
        self._dropping = True

    def _drop(self) -> None:
        """Drop the next item. Called only if there is one."""
        self.done(self._take())

    @abstractmethod
    def _release(self, item: T) -> None:
        """Called when `item` has left processing: queue it again if it was added meanwhile."""

    def _stop(self) -> None:
        self._shutting_down = True
        while self._waiters:
            self._wake()

    def _is_drained(self) -> bool:
        return not self._processing and not self._ready()

    def _wake(self) -> None:
        """Wake the first waiter in line."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _until_ready(self) -> None:
        self._turns -= 1
        if self._turns <= 0:
            self._turns = _TURNS
            await anyio.lowlevel.checkpoint()
        while not self._ready():
            if self._shutting_down:
                raise self._shut_down_error()
            # A future of its own rather than an anyio.Event: one item must wake one worker, not all.
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except BaseException:
                if waiter.cancelled():
                    with suppress(ValueError):  # _wake has already skipped and removed it
                        self._waiters.remove(waiter)
                elif self._ready():
                    self._wake()
                raise

    def _shut_down_error(self) -> ShutDown:
        return ShutDown(f"work queue {self.name} is shut down" if self.name else "the work queue is shut down")


class _Processing(Generic[T]):
    __slots__ = ("_item", "_queue")

    def __init__(self, queue: WorkQueue[T], item: T) -> None:
        self._queue = queue
        self._item = item

    def __enter__(self) -> T:
        return self._item

    def __exit__(self, *_: object) -> None:
        self._queue.done(self._item)
