"""The token bucket."""

from __future__ import annotations

import anyio
import pytest

from kinformer.client import TokenBucket
from kinformer.clock import FakeClock


def test_a_burst_goes_at_once_and_the_rest_at_the_rate(clock: FakeClock) -> None:
    bucket = TokenBucket(2, 3, clock=clock)

    assert [bucket.try_take() for _ in range(4)] == [True, True, True, False]
    clock.turn(0.5)
    assert [bucket.try_take() for _ in range(2)] == [True, False]


def test_the_bucket_does_not_fill_beyond_the_burst(clock: FakeClock) -> None:
    bucket = TokenBucket(10, 2, clock=clock)

    clock.turn(3600)

    assert [bucket.try_take() for _ in range(3)] == [True, True, False]


async def test_those_who_wait_go_in_turn(clock: FakeClock) -> None:
    bucket = TokenBucket(1, 1, clock=clock)
    went: list[tuple[int, float]] = []

    async def go(who: int) -> None:
        waited = await bucket.accept()
        went.append((who, waited))

    async with anyio.create_task_group() as tasks:
        for who in range(3):
            tasks.start_soon(go, who)
        await clock.advance(1.5)
        assert went == [(0, 0.0), (1, 1.0)]
        await clock.advance(0.5)

    assert went[2] == (2, 2.0)


async def test_one_that_gives_up_gives_its_token_back(clock: FakeClock) -> None:
    bucket = TokenBucket(1, 1, clock=clock)
    await bucket.accept()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bucket.accept)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    clock.turn(1)

    assert bucket.try_take()


def test_a_limiter_that_lets_nothing_through_is_refused() -> None:
    with pytest.raises(ValueError, match="lets nothing through"):
        TokenBucket(0, 1)
