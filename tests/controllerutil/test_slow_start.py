from __future__ import annotations

import anyio
import pytest

from kinformer.controllerutil.batches import slow_start


class Calls:
    """Counts calls, and those under way at once; the calls from `fail_from` on fail."""

    def __init__(self, fail_from: int = 10**9) -> None:
        self.made = 0
        self.batches: list[int] = []
        self.items: list[int] = []
        self._fail_from = fail_from
        self._under_way = 0

    async def __call__(self, item: int) -> None:
        self.made += 1
        self.items.append(item)
        number = self.made
        if self._under_way == 0:
            self.batches.append(0)
        self._under_way += 1
        self.batches[-1] += 1
        await anyio.lowlevel.checkpoint()
        self._under_way -= 1
        if number >= self._fail_from:
            raise ValueError(f"call {number}")


@pytest.mark.parametrize(
    ("count", "batches"),
    [(0, []), (1, [1]), (3, [1, 2]), (10, [1, 2, 4, 3]), (500, [1, 2, 4, 8, 16, 32, 64, 128, 245])],
)
async def test_batches_double_until_all_is_done(count: int, batches: list[int]) -> None:
    calls = Calls()

    assert await slow_start(range(count), calls) == (count, None)
    assert calls.batches == batches
    assert calls.items == list(range(count))


async def test_nothing_is_tried_after_a_batch_with_a_failure() -> None:
    calls = Calls(fail_from=5)

    successes, error = await slow_start(range(100), calls)

    assert calls.batches == [1, 2, 4]
    assert successes == 4
    assert str(error) == "call 5"


async def test_a_refusal_costs_one_call() -> None:
    calls = Calls(fail_from=1)

    successes, error = await slow_start(range(500), calls)

    assert (calls.made, successes) == (1, 0)
    assert isinstance(error, ValueError)


async def test_a_first_batch_may_be_larger() -> None:
    calls = Calls()

    await slow_start(range(25), calls, initial=10)

    assert calls.batches == [10, 15]


async def test_batches_grow_no_larger_than_is_allowed() -> None:
    calls = Calls()

    await slow_start(range(40), calls, most=10)

    assert calls.batches == [1, 2, 4, 8, 10, 10, 5]
