"""parallelize_until: every piece once, no more at a time than workers."""

from __future__ import annotations

import anyio
import pytest

from kinformer.workqueue import parallelize_until


@pytest.mark.parametrize(
    ("pieces", "workers", "chunk_size"), [(1000, 10, 1), (1000, 10, 10), (1000, 10, 100), (999, 10, 13), (3, 10, 0)]
)
async def test_every_piece_is_done_once_by_as_many_workers_as_there_are(
    pieces: int, workers: int, chunk_size: int
) -> None:
    seen = [0] * pieces
    running = most = 0

    async def do(piece: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        seen[piece] += 1
        running -= 1

    await parallelize_until(workers, pieces, do, chunk_size=chunk_size)

    assert seen == [1] * pieces
    assert most == min(workers, -(-pieces // max(chunk_size, 1)))


async def test_no_pieces_are_no_work() -> None:
    async def do(piece: int) -> None:
        raise AssertionError(piece)

    await parallelize_until(10, 0, do)


async def test_no_piece_is_begun_after_it_was_cancelled() -> None:
    begun = []

    with anyio.CancelScope() as scope:

        async def do(piece: int) -> None:
            begun.append(piece)
            if piece == 4:
                scope.cancel()

        await parallelize_until(1, 1000, do, chunk_size=10)

    assert begun == [0, 1, 2, 3, 4]


async def test_a_piece_that_raises_ends_the_others() -> None:
    ended = []

    async def do(piece: int) -> None:
        if piece == 1:
            raise ValueError("broken")
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(piece)

    with pytest.raises(ExceptionGroup) as raised:
        await parallelize_until(2, 10, do)

    assert raised.group_contains(ValueError, match="broken")
    assert ended == [0]
