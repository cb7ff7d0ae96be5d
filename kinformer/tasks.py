"""Task groups that raise the error of their one failed task, and a check that a call comes from their event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import TaskGroup

__all__ = ("check_loop", "plain_task_group", "sole_error")


@asynccontextmanager
async def plain_task_group() -> AsyncIterator[TaskGroup]:
    """
    anyio's task group, for tasks that are an implementation detail of the code that opens it.

    If there was only one error, the caller gets that very exception. The caller cannot know that there are tasks.
    """
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        error = sole_error(group)
        if error is group:
            raise
        raise error from error.__cause__


def sole_error(error: BaseException) -> BaseException:
    """The single exception inside nested groups; a group of several exceptions is returned as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def check_loop(loop: asyncio.AbstractEventLoop, name: str) -> None:
    """
    Check that a call comes from this event loop. A task group would start its task in the loop of the caller.

    A loop that stands still, between two calls of ``run_until_complete``, belongs to whoever calls.

    :param name: what runs in the loop, for the error
    :raises RuntimeError: if another event loop runs in this thread, or this one in another thread
    """
    running = None
    with suppress(RuntimeError):
        running = asyncio.get_running_loop()
    if running is not loop and (running is not None or loop.is_running()):
        raise RuntimeError(f"{name} runs in another event loop: call this there, as with loop.call_soon_threadsafe()")
