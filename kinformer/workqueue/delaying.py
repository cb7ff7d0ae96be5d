"""DelayingQueue: a queue that makes items ready after a delay.

Controllers use it to come back to an object after a failure, or at the time when something about it is due. No worker
waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from kinformer.clock import Clock
from kinformer.workqueue.metrics import MetricsProvider
from kinformer.workqueue.queue import Order, Queue
from kinformer.workqueue.waiting import Waiting

__all__ = ("DelayingQueue",)

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
