"""Conflicts: trying a read and a write again when somebody else has written in between.

A sync needs none of this: it lets the :exc:`~kinformer.client.Conflict` out, and its controller calls it again once the
cache has caught up. It is for what has no controller around it: a script, a test, a webhook, a migration.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kinformer.backoff import Backoff
from kinformer.client import Conflict
from kinformer.clock import Clock, RealClock

__all__ = ("retry_on_conflict",)

T = TypeVar("T")


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]],
    *,
    tries: int = 5,
    initial: float = 0.01,
    factor: float = 1.0,
    jitter: float = 0.1,
    clock: Clock | None = None,
) -> T:
    """
    Call `attempt` until it ends without a conflict, and return what it returned (client-go's ``RetryOnConflict``).

    It has to read the object anew each time, change it, and write it::

        async def scale() -> None:
            app = await apps.get("shop", "default")
            app.spec.replicas += 1
            await apps.update(app)

        await retry_on_conflict(scale)

    :param tries: how often it is called at most; the defaults are client-go's ``DefaultRetry``
    :param initial: seconds to wait before the second try
    :param factor: what a wait is multiplied with for the next one
    :param jitter: the largest share that chance adds to a wait
    :raises Conflict: the last one, when all tries have met one
    :raises ValueError: if `tries` is less than 1
    """
    if tries < 1:
        raise ValueError(f"tries is {tries}: want at least 1")
    clock = clock or RealClock()
    backoff = Backoff(initial, float("inf"), factor, jitter, reset_after=None, clock=clock)
    for _ in range(tries - 1):
        try:
            return await attempt()
        except Conflict:
            await clock.sleep(backoff.next())
    return await attempt()
