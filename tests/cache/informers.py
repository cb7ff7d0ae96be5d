"""What tests of informers share: handlers that remember, and running things for as long as a test is within."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.clock import FakeClock
from kinformer.tasks import plain_task_group

__all__ = ("Told", "passing", "running", "short")


def short(obj: Any) -> str:
    """An object as ``name@version``; a tombstone as ``?name@version``."""
    if isinstance(obj, DeletedFinalStateUnknown):
        return "?" + (short(obj.obj) if obj.obj is not None else obj.key)
    return f"{obj['metadata']['name']}@{obj['metadata'].get('resourceVersion', '')}"


class Told:
    """A handler that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self.told.append(f"{'initial ' if is_in_initial_list else ''}add {short(obj)}")

    def on_update(self, old: Any, new: Any, /) -> None:
        self.told.append(f"update {short(old)} {short(new)}")

    def on_delete(self, obj: Any, /) -> None:
        self.told.append(f"delete {short(obj)}")

    def taken(self) -> list[str]:
        """What it was told since this was asked last."""
        told, self.told = self.told, []
        return told


@asynccontextmanager
async def running(*runs: Callable[[], Awaitable[Any]]) -> AsyncIterator[anyio.CancelScope]:
    """Run these; leaving cancels them."""
    async with plain_task_group() as tasks:
        for run in runs:
            tasks.start_soon(run)
        yield tasks.cancel_scope
        tasks.cancel_scope.cancel()


async def passing(clock: FakeClock, run: Callable[[], Awaitable[Any]]) -> Any:
    """Await something while the clock runs as it is asked to."""
    result: Any = None

    async def get() -> None:
        nonlocal result
        try:
            result = await run()
        except Exception as error:
            result = error

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(get)
        for _ in range(10_000):
            await clock.settle()
            if (wait := clock.next_due) is None:
                break
            clock.turn(wait)
        await clock.settle()
    return result
