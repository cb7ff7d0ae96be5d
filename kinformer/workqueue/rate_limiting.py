"""DelayingQueue and RateLimitingQueue: items become ready after a delay, failed ones after a longer one each time.

Controllers use them to come back to an object at the time when something about it is due, or after a failure. No worker
waits meanwhile. A worker calls ``forget`` for an item that succeeded and ``add_rate_limited`` for one that failed, and
``done`` in both cases. An item that is never forgotten is remembered for ever, and its next failure gets a longer
delay.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from kinformer.arguments import want_limiter
from kinformer.clock import Clock
from kinformer.workqueue.limiters import RateLimiter, default_controller_rate_limiter
from kinformer.workqueue.metrics import MetricsProvider
from kinformer.workqueue.queue import Order, Queue
from kinformer.workqueue.waiting import Waiting

__all__ = ("DelayingQueue", "RateLimitingQueue")

T = TypeVar("T", bound=Hashable)


class DelayingQueue(Queue[T]):
    """
    A :class:`Queue` with :meth:`add_after`.

    Items that wait for their delay are not counted by ``len()``. They are dropped when the queue shuts down.
    """

    def __init__(
        self,
        name: str = "",
        *,
        clock: Clock | None = None,
        metrics: MetricsProvider | None = None,
        order: Order[T] | None = None,
    ) -> None:
        super().__init__(name, clock=clock, metrics=metrics, order=order)
        self._waiting: Waiting[T] = Waiting(self._clock, self.add)

    def add_after(self, item: T, seconds: float) -> None:
        """
        Add `item` after `seconds`, or at once if that is 0 or less.

        If the item waits already, the earlier of the two times counts. Adding it at once meanwhile does not end its
        wait: it is added now, and again when its time comes.
        """
        if self._shutting_down:
            return
        if self._metrics is not None:
            self._metrics.retry()
        if seconds <= 0:
            self.add(item)
        else:
            self._waiting.add(item, seconds)

    def _stop(self) -> None:
        super()._stop()
        self._waiting.clear()


class RateLimitingQueue(DelayingQueue[T]):
    """
    A :class:`DelayingQueue` that asks a limiter for the delay.

    ::

        async for key in queue:
            with queue.processing(key):
                try:
                    await sync(key)
                except ApiError:
                    queue.add_rate_limited(key)
                else:
                    queue.forget(key)

    :param limiter: decides how long an item must wait; :func:`default_controller_rate_limiter` if None
    """

    def __init__(
        self,
        name: str = "",
        *,
        limiter: RateLimiter[T] | None = None,
        clock: Clock | None = None,
        metrics: MetricsProvider | None = None,
        order: Order[T] | None = None,
    ) -> None:
        if limiter is not None:
            want_limiter(limiter, f"the limiter of queue {name}")
        super().__init__(name, clock=clock, metrics=metrics, order=order)
        self._limiter: RateLimiter[T] = limiter if limiter is not None else default_controller_rate_limiter(self._clock)

    def add_rate_limited(self, item: T) -> None:
        """Add `item` when the limiter allows it."""
        self.add_after(item, self._limiter.when(item))

    def forget(self, item: T) -> None:
        """Reset the retries of `item`, because it succeeded or was given up. Its next failure counts as the first."""
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """Number of retries of `item` since it was last forgotten."""
        return self._limiter.num_requeues(item)
