"""Telling whose cancellation a ``CancelledError`` is: this task's, or that of something else that it awaited.

A function of a user may await a task or a future that somebody else has cancelled. What comes out of it is the same
exception that ends the task itself; let out of a worker it ends that worker, and the task group takes it for an
orderly end. So whatever calls functions of users in a loop asks here first.
"""

from __future__ import annotations

import asyncio

__all__ = ("ends_this_task",)


def ends_this_task(error: BaseException) -> bool:
    """
    Whether an exception that was caught has to be let out, as it ends the task or the process.

    That is so for the interpreter's own (Ctrl-C, ``sys.exit()``, a coroutine that is closed), alone or in a group, and
    for a cancellation when the running task is being cancelled. Any other concerns only what was called.
    """
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return True
    if isinstance(error, Exception):
        return False
    if isinstance(error, BaseExceptionGroup) and any(map(ends_this_task, error.exceptions)):
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
