"""Groups: several loops as one controller."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from kinformer.clock import FakeClock
from kinformer.manager import Controller, Group, Periodic
from kinformer.manager.checks import parts_of


async def idle(key: str) -> None:
    """A sync that does nothing."""


async def test_a_group_runs_its_parts_and_ends_them_together() -> None:
    first, second = Controller("first", idle), Controller("second", idle)
    group = Group(first, Group(second))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(group.run)
        await first.started.wait()
        await second.started.wait()
        assert group.has_synced
        tasks.cancel_scope.cancel()

    assert not group.has_synced
    assert parts_of(group) == [first, second]


async def test_an_error_of_one_part_ends_the_group() -> None:
    class Broken:
        async def run(self) -> None:
            raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"), anyio.fail_after(60):
        await Group(Controller("first", idle), Broken()).run()


async def test_periodic_work_goes_on_after_an_error() -> None:
    clock, turns = FakeClock(), 0

    async def work() -> None:
        nonlocal turns
        turns += 1
        if turns == 2:
            raise RuntimeError("not this time")

    group = Group(Group(Periodic("health", work, 5.0, clock=clock)))
    (activity,) = group.activities
    states = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(group.run)
        for wanted in (1, 2, 3):
            await clock.advance(5.0 if wanted > 1 else 0.0)
            assert turns == wanted
            states.append((activity.tasks[""].state, activity.tasks[""].error))
        tasks.cancel_scope.cancel()

    assert states == [("waiting", ""), ("failed", "not this time"), ("waiting", "")]
    assert (activity.errors, activity.tasks) == (1, {})


async def test_parts_can_wait_for_the_first_lists_of_informers() -> None:
    listed, begun = anyio.Event(), anyio.Event()
    informer: Any = SimpleNamespace(wait_synced=listed.wait)

    async def work() -> None:
        begun.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Group(Periodic("checks", work, 1.0, clock=FakeClock()), after=[informer]).run)
        await anyio.wait_all_tasks_blocked()
        assert not begun.is_set()
        listed.set()
        await begun.wait()
        tasks.cancel_scope.cancel()
