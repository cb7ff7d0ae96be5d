from __future__ import annotations

import anyio
import pytest

from kinformer.client import Conflict, NotFound
from kinformer.client.status import Status
from kinformer.clock import FakeClock
from kinformer.operator import retry_on_conflict
from tests.turning import turn


class Attempt:
    """Fails with each of some errors in turn, and then ends well."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def conflict(message: str = "changed") -> Conflict:
    return Conflict(Status(code=409, reason="Conflict", message=message), "")


async def retried(attempt: Attempt, clock: FakeClock, tries: int = 5) -> str | Exception:
    results: list[str | Exception] = []

    async def run() -> None:
        try:
            results.append(await retry_on_conflict(attempt, tries=tries, clock=clock))
        except Exception as error:
            results.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await turn(clock, 1.0)
    return results[0]


async def test_it_is_tried_again_after_a_conflict_until_it_ends_well() -> None:
    attempt = Attempt(conflict(), conflict())

    assert await retried(attempt, FakeClock()) == "done"
    assert attempt.calls == 3


async def test_the_last_conflict_comes_out_when_all_tries_have_met_one() -> None:
    attempt = Attempt(conflict("first"), conflict("second"), conflict("third"))

    error = await retried(attempt, FakeClock(), tries=2)

    assert isinstance(error, Conflict)
    assert error.status.message == "second"
    assert attempt.calls == 2


async def test_other_errors_come_out_at_once() -> None:
    attempt = Attempt(NotFound(Status(code=404, reason="NotFound", message="gone"), ""))

    assert isinstance(await retried(attempt, FakeClock()), NotFound)
    assert attempt.calls == 1


async def test_tries_that_are_none_are_an_error() -> None:
    with pytest.raises(ValueError, match="tries is 0: want at least 1"):
        await retry_on_conflict(Attempt(), tries=0)
