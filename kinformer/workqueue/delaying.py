"""DelayingQueue: a queue that takes items now and has them ready later.

Controllers come back to an object this way after a failure, or when something about it will be due, without holding
a worker until then.
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

    Items that wait are not counted by ``len()``, and are dropped when the queue shuts down.
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
        Add `item` once so many seconds have passed, at once for none or less.

        An item that waits already waits for the earlier of the two times. Adding it at once meanwhile does not end
        its waiting: it is added then and, once more, when its time comes.
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
