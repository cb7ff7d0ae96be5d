"""Slow start: making many calls in batches that grow while the calls succeed.

If a controller wants 500 pods in a namespace whose quota is used up, it should be refused once, not 500 times. So the
calls are made in batches of 1, 2, 4, … Each batch starts only if all calls of the one before have succeeded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import anyio

__all__ = ("SLOW_START_INITIAL_BATCH_SIZE", "SlowStart", "slow_start")

T = TypeVar("T")

#: The size of the first batch.
SLOW_START_INITIAL_BATCH_SIZE = 1


class SlowStart(NamedTuple):
    """
    The result of :func:`slow_start`.

    :param successes: the number of calls that succeeded
    :param error: the error of the first call that failed; None if all succeeded
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
    Await `call` with each item, in their order. The calls of one batch run at the same time.

    After a failure, the other calls of its batch are awaited, and no further batch is started. The error is returned,
    not raised, because the caller needs the number of successes, too.

    :param most: the largest batch; None for no limit
    """
    successes = 0
    errors: list[Exception] = []

    async def one_call(item: T) -> None:
        nonlocal successes
        try:
            await call(item)
        except Exception as error:  # of any type: it is returned to the caller
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
