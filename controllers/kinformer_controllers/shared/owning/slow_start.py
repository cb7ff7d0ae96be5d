"""Slow start: many calls of which the first ones tell whether the rest is worth trying.

A controller that wants 500 pods in a namespace whose quota is used up should be refused once, not 500 times. So calls
go out in batches of 1, 2, 4, …: each twice the one before, each only after the one before was all success.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio

__all__ = ("SLOW_START_INITIAL_BATCH_SIZE", "SlowStart", "slow_start_batch")

#: How many calls are made before anything is known.
SLOW_START_INITIAL_BATCH_SIZE = 1


class SlowStart(NamedTuple):
    """
    :param successes: how many calls went well
    :param error: what the first call that failed raised, None when all went well
    """

    successes: int
    error: Exception | None


async def slow_start_batch(
    count: int, call: Callable[[], Awaitable[object]], initial: int = SLOW_START_INITIAL_BATCH_SIZE
) -> SlowStart:
    """
    Await `call` up to `count` times, a batch at a time and the calls of one batch at once.

    After a failure the batch that it is in is waited for, and no other is started. Errors are returned, not raised:
    what succeeded counts all the same.
    """
    successes = 0
    errors: list[Exception] = []

    async def one_call() -> None:
        nonlocal successes
        try:
            await call()
        except Exception as error:  # whatever it is, it is the caller's answer
            errors.append(error)
        else:
            successes += 1

    batch = min(count, initial)
    remaining = count
    while batch > 0 and not errors:
        async with anyio.create_task_group() as tasks:
            for _ in range(batch):
                tasks.start_soon(one_call)
        remaining -= batch
        batch = min(2 * batch, remaining)
    return SlowStart(successes, errors[0] if errors else None)
