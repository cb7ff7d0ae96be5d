from __future__ import annotations

import anyio
import pytest

from kinformer.tasks import plain_task_group


async def fail(error: Exception) -> None:
    raise error


async def test_one_error_comes_out_as_itself_with_its_cause() -> None:
    cause = ValueError("because")
    error = KeyError("no such thing")
    error.__cause__ = cause
    with pytest.raises(KeyError) as raised:
        async with plain_task_group() as tasks:
            tasks.start_soon(fail, error)

    assert raised.value is error
    assert raised.value.__cause__ is cause


async def test_an_error_within_groups_of_one_comes_out_as_itself() -> None:
    with pytest.raises(KeyError):
        async with plain_task_group() as tasks:
            tasks.start_soon(fail, ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError()])]))


async def test_several_errors_come_out_as_a_group() -> None:
    async def fail_twice() -> None:
        async with plain_task_group() as tasks:
            tasks.start_soon(fail, KeyError())
            tasks.start_soon(fail, ValueError())

    with pytest.raises(ExceptionGroup) as raised:
        await fail_twice()

    assert {type(error) for error in raised.value.exceptions} == {KeyError, ValueError}


async def test_being_cancelled_is_no_error() -> None:
    with anyio.CancelScope() as scope:
        async with plain_task_group():
            scope.cancel()
            await anyio.sleep_forever()

    assert scope.cancelled_caught
