"""What every work queue here is: items handed to workers one at a time each, and an orderly end.

An item that a worker holds is in the *processing* set until :meth:`WorkQueue.done`; how items are kept in order until
then, and when one is ready, is the subclass's. Queues belong to one event loop and have no lock: between two awaits
nothing else runs. Another thread adds through ``loop.call_soon_threadsafe(queue.add, item)``.

A worker that waits in ``get()`` holds a place in line and never an item: it is told to look, and takes the item itself
once it runs. So a cancelled ``get()`` has nothing to lose; if it was told to look, it tells the next one in line.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

from kinformer.clock import Clock, RealClock
from kinformer.workqueue.metrics import MetricsProvider, QueueMetrics, default_provider

__all__ = ("ShutDown", "WorkQueue")

T = TypeVar("T", bound=Hashable)

#: After so many items that were there at once, a get() lets the other tasks run: workers that never wait for anything
#: would otherwise keep the loop to themselves until the queue is empty. At 64 it costs less than 1 µs an item.
_TURNS = 64


class ShutDown(Exception):
    """The queue was shut down and has nothing left to hand out."""


class WorkQueue(ABC, Generic[T]):
    """
    The part of a work queue that is the same for all of them.

    ::

        async for key in queue:  # until it is shut down
            with queue.processing(key):  # done, whatever happens
                await sync(key)

    :param name: what its metrics, and errors, call it; a queue without a name has no metrics
    :param clock: where its delays and measurements take the time from
    :param metrics: who keeps its metrics, :func:`~kinformer.workqueue.metrics.default_provider` if None
    """

    def __init__(self, name: str = "", *, clock: Clock | None = None, metrics: MetricsProvider | None = None) -> None:
        self.name = name
        self._clock: Clock = clock if clock is not None else RealClock()
        self._metrics: QueueMetrics | None = (
            (metrics or default_provider()).metrics_of(name, self._clock) if name else None
        )
        #: How many items were handed out so far.
        self.handed_out = 0
        self._processing: set[T] = set()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._shutting_down = False
        self._dropping = False
        self._drained: anyio.Event | None = None
        self._turns = _TURNS

    @abstractmethod
    def add(self, item: T) -> None:
        """Mark `item` as in need of work. Ignored once the queue is shutting down."""

    @abstractmethod
    def __len__(self) -> int:
        """How many items are ready for work."""

    def __bool__(self) -> bool:
        """A queue is one, even if it is empty: ``queue or other`` must not throw it away."""
        return True

    async def get(self) -> T:
        """
        Wait for an item and take it. Whoever took it must call :meth:`done` with it.

        Nothing is lost when this is cancelled.

        :raises ShutDown: if the queue is shut down and has nothing left to hand out
        """
        await self._until_ready()
        self.handed_out += 1
        return self._take()

    def get_nowait(self) -> T:
        """
        Take an item that is there.

        :raises anyio.WouldBlock: if there is none now
        :raises ShutDown: if there will be none any more
        """
        if not self._ready():
            if self._shutting_down:
                raise self._shut_down_error()
            raise anyio.WouldBlock
        self.handed_out += 1
        return self._take()

    def done(self, item: T) -> None:
        """
        Say that the work on `item` is finished; if it was added meanwhile, it comes up again.

        An item that nobody holds is ignored.
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
        """A context that ends with :meth:`done`, for an item that :meth:`get` or the loop over the queue gave."""
        return _Processing(self, item)

    def __aiter__(self) -> WorkQueue[T]:
        """Every item as by :meth:`get`, until the queue is shut down and empty. Each still has to be :meth:`done`."""
        return self

    async def __anext__(self) -> T:
        try:
            return await self.get()
        except ShutDown:
            raise StopAsyncIteration from None

    @property
    def shutting_down(self) -> bool:
        """Whether the queue was told to end and takes no items any more."""
        return self._shutting_down

    def shut_down(self) -> None:
        """
        Take no further items; hand out those that are left, then raise :exc:`ShutDown` to whoever asks.

        A :meth:`shut_down_with_drain` that is waiting returns at once.
        """
        self._stop()
        if self._drained is not None:
            self._drained.set()
            self._drained = None

    def shut_down_now(self) -> None:
        """
        Take no further items, and drop those that are left: whoever asks gets :exc:`ShutDown`.

        An item that a worker holds, and that was added meanwhile, is dropped once it is done.
        """
        self._dropping = True
        self._drop_rest()
        self.shut_down()

    async def shut_down_with_drain(self) -> None:
        """
        Take no further items, and return once all those that are left were handed out and are done.

        It waits for ever for a worker that never calls :meth:`done`, and for one that was never started;
        :meth:`shut_down` ends that wait. (client-go's stops waiting the first time that no worker holds an item, even
        while others are queued; there a worker is fast enough for that to be rare. Here all that was added is done.)
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
        """Move the next item into processing. Only called when there is one."""

    def _drop_rest(self) -> None:
        while self._ready():
            self._drop()

    def _drop(self) -> None:
        """Forget the next item. Only called when there is one."""
        self.done(self._take())

    @abstractmethod
    def _release(self, item: T) -> None:
        """`item` is no longer in processing: put it back in line if it was added meanwhile."""

    def _stop(self) -> None:
        self._shutting_down = True
        while self._waiters:
            self._wake()

    def _is_drained(self) -> bool:
        return not self._processing and not self._ready()

    def _wake(self) -> None:
        """Tell the first waiter in line to look."""
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
                    with suppress(ValueError):  # it was passed over already
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._queue.done(self._item)
