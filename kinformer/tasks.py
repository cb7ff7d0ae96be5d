"""Task groups that raise the error of their one failed task, not a group with one error in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

__all__ = ("plain_task_group", "sole_error")


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
