"""parallelize_until: runs many pieces of similar work, a few at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel

__all__ = ("parallelize_until",)


async def parallelize_until(
    workers: int, pieces: int, do_work_piece: Callable[[int], Awaitable[object]], *, chunk_size: int = 1
) -> None:
    """
    Await ``do_work_piece(n)`` for each n from 0 to `pieces`, and return when all are done.

    At most `workers` pieces run at a time, each in a task that lives as long as there are pieces. If this is cancelled,
    no further piece is started. If a piece raises, the others are cancelled.

    :param chunk_size: the number of consecutive pieces that one worker takes at once
    :raises ExceptionGroup: with the exceptions that pieces raised
    """
    chunk_size = max(chunk_size, 1)
    chunks = iter(range(0, pieces, chunk_size))

    async def work() -> None:
        for start in chunks:
            for piece in range(start, min(start + chunk_size, pieces)):
                await anyio.lowlevel.checkpoint_if_cancelled()
                await do_work_piece(piece)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(workers, -(-pieces // chunk_size))):
            tasks.start_soon(work)
