"""Running a command so that Ctrl-C and SIGTERM end it as a cancelled task ends: everything is closed behind it."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import anyio

__all__ = ("run_until_signal",)


def run_until_signal(command: Callable[[], Awaitable[int]], interrupted: int) -> int:
    """
    Run to the command's own end, and give its status, or until a signal, and give `interrupted`.

    What the command raises is raised as it is, also out of the task groups that it passed through when nothing else
    went wrong in them.
    """
    return anyio.run(_until_signal, command, interrupted)


async def _until_signal(command: Callable[[], Awaitable[int]], interrupted: int) -> int:
    status = interrupted
    failure: BaseException | None = None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:

            async def end_on_signal() -> None:
                async for _ in signals:
                    tasks.cancel_scope.cancel()

            tasks.start_soon(end_on_signal)
            try:
                status = await command()
            except Exception as error:
                failure = _alone(error)
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return status


def _alone(error: Exception) -> Exception:
    """The error itself, where a task group wrapped just one."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
