"""Slow start: many calls of which the first ones tell whether the rest is worth trying.

A controller that wants 500 pods in a namespace whose quota is used up should be refused once, not 500 times. So calls
go out in batches of 1, 2, 4, …: each twice the one before, each only after the one before was all success.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import anyio

__all__ = ("SLOW_START_INITIAL_BATCH_SIZE", "SlowStart", "slow_start")

T = TypeVar("T")

#: How many calls are made before anything is known.
SLOW_START_INITIAL_BATCH_SIZE = 1


class SlowStart(NamedTuple):
    """
    :param successes: how many calls went well
    :param error: what the first call that failed raised, None when all went well
    """

    successes: int
    error: Exception | None


async def slow_start(
    items: Sequence[T],
    call: Callable[[T], Awaitable[object]],
    initial: int = SLOW_START_INITIAL_BATCH_SIZE,
    *,
    most: int | None = None,
) -> SlowStart:
    """
    Await `call` with each item, in their order, a batch at a time and the calls of one batch at once.

    After a failure the batch that it is in is waited for, and no other is started. Errors are returned, not raised:
    what succeeded counts all the same.

    :param most: how many calls are made at once at most; None if that does not matter
    """
    successes = 0
    errors: list[Exception] = []

    async def one_call(item: T) -> None:
        nonlocal successes
        try:
            await call(item)
        except Exception as error:  # whatever it is, it is the caller's answer
            errors.append(error)
        else:
            successes += 1

    start, size = 0, initial
    while start < len(items) and not errors:
        batch = items[start : start + size]
        if len(batch) == 1:
            await one_call(batch[0])
        else:
            async with anyio.create_task_group() as tasks:
                for item in batch:
                    tasks.start_soon(one_call, item)
        start += size
        size = 2 * size if most is None else min(2 * size, most)
    return SlowStart(successes, errors[0] if errors else None)
