from __future__ import annotations

import asyncio

import anyio
import pytest

from kinformer.cancellation import CancelledElsewhere, cancellations_as_errors, ends_this_task
from kinformer.clock import FakeClock
from kinformer.workqueue import until


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
async def test_what_ends_the_process_is_let_out_alone_or_in_a_group(error: BaseException) -> None:
    assert ends_this_task(error)
    assert ends_this_task(BaseExceptionGroup("with others", [ValueError(), BaseExceptionGroup("inner", [error])]))


async def test_another_ones_cancellation_ends_nothing() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    with pytest.raises(asyncio.CancelledError) as raised:
        await future

    assert not ends_this_task(raised.value)
    assert not ends_this_task(BaseExceptionGroup("with others", [ValueError(), raised.value]))


async def test_the_tasks_own_cancellation_ends_it() -> None:
    answers: list[bool] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError as error:
            group = BaseExceptionGroup("with others", [ValueError(), error])
            answers = [ends_this_task(each) for each in (error, group, ValueError("of the clean-up"))]
            raise

    assert scope.cancelled_caught
    assert answers == [True, True, False]


async def test_a_foreign_cancellation_becomes_an_error_and_ones_own_does_not() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    why = "the recount awaited something that other code has cancelled"
    with pytest.raises(CancelledElsewhere, match=why), cancellations_as_errors("the recount"):
        await future

    with anyio.CancelScope() as scope, cancellations_as_errors("the recount"):
        scope.cancel()
        await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_a_loop_that_awaits_what_others_cancelled_raises_rather_than_ends() -> None:
    async def recount() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    for sliding in (True, False):
        with pytest.raises(CancelledElsewhere, match="recount awaited something"):
            await until(recount, 1.0, sliding=sliding, clock=FakeClock())
