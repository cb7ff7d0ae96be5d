"""RateLimitingQueue: a queue in which what fails comes back, each time a little later.

The worker's side of it: ``forget`` what succeeded, ``add_rate_limited`` what failed, then ``done`` either way. Who does
not forget is remembered for ever, and will find its next failure punished for the last one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

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

    :param limiter: says how long an item has to wait; :func:`default_controller_rate_limiter` if None
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
        super().__init__(name, clock=clock, metrics=metrics, order=order)
        self._limiter: RateLimiter[T] = limiter if limiter is not None else default_controller_rate_limiter(self._clock)

    def add_rate_limited(self, item: T) -> None:
        """Add `item` when the limiter says that it may come back."""
        self.add_after(item, self._limiter.when(item))

    def forget(self, item: T) -> None:
        """`item` needs no retries any more, for good or for bad: its next failure is its first."""
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """How often `item` has come back since it was last forgotten."""
        return self._limiter.num_requeues(item)
