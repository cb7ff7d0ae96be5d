"""Task groups that raise what one of their tasks raised, and not a group of one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

__all__ = ("plain_task_group", "sole_error")


@asynccontextmanager
async def plain_task_group() -> AsyncIterator[TaskGroup]:
    """
    anyio's task group, for tasks that are an inner matter of whoever opens it.

    Where only one thing went wrong, the caller gets that very exception: it cannot know that there are tasks.
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
    """The one exception that went through task groups on its way; a group of several as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
