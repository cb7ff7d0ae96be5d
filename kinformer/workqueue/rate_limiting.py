"""RateLimitingQueue: a queue in which failed items come back, each time after a longer delay.

A worker calls ``forget`` for an item that succeeded and ``add_rate_limited`` for one that failed, and ``done`` in both
cases. An item that is never forgotten is remembered for ever, and its next failure gets a longer delay.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from kinformer.arguments import want_limiter
from kinformer.clock import Clock
from kinformer.workqueue.delaying import DelayingQueue
from kinformer.workqueue.limiters import RateLimiter, default_controller_rate_limiter
from kinformer.workqueue.metrics import MetricsProvider
from kinformer.workqueue.queue import Order

__all__ = ("RateLimitingQueue",)

T = TypeVar("T", bound=Hashable)


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
