"""Conflicts: repeats a read and a write when another client has written in between.

A sync does not need this: it lets the :exc:`~kinformer.client.Conflict` propagate, and its controller syncs the key
again later. This is for code without a controller: a script, a test, a webhook, a migration.
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
    Call `attempt` until it does not raise a conflict, and return its result (client-go's ``RetryOnConflict``).

    Each call must read the object again, change it, and write it::

        async def scale() -> None:
            app = await apps.get("shop", "default")
            app.spec.replicas += 1
            await apps.update(app)

        await retry_on_conflict(scale)

    The defaults are those of client-go's ``DefaultRetry``.

    :param tries: how often `attempt` is called at most
    :param initial: seconds to wait before the second try
    :param factor: each wait is this many times as long as the one before
    :param jitter: the largest share of a wait that is added at random
    :raises Conflict: the last one, if all tries raised a conflict
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
