"""Cancellation: tells whether a ``CancelledError`` cancels this task, or something else that the task awaited.

A user's function may await a task or a future that other code has cancelled. It then raises the same exception that
ends the task itself. If a worker does not catch it, the worker ends, and the task group takes that for an orderly end.
So code that calls users' functions in a loop must use these functions first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import anyio

__all__ = ("CancelledElsewhere", "cancellations_as_errors", "ends_this_task", "ends_worker", "is_stray")


class CancelledElsewhere(RuntimeError):
    """Something that was awaited was cancelled by other code, which did not mean to cancel the waiting task."""


def ends_this_task(error: BaseException) -> bool:
    """
    Whether a caught exception must be raised again, because it ends the task or the process.

    This holds for the interpreter's own exceptions (Ctrl-C, ``sys.exit()``, a closed coroutine), alone or in a group.
    It also holds for a cancellation if the running task is being cancelled. Any other exception concerns only the
    function that was called.
    """
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return True
    if isinstance(error, Exception):
        return False
    if isinstance(error, BaseExceptionGroup) and any(map(ends_this_task, error.exceptions)):
        return True
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def is_stray(error: BaseException) -> bool:
    """
    Whether a caught exception is a cancellation that no cancel scope around this task has requested.

    This is for tasks of a task group, to which no other code has a reference. They must end if a cancel scope around
    them is cancelled, and not because a function that they called has cancelled its own task. In that case the task's
    cancellation is undone here, so that its next await is not cancelled as well.
    """
    if not isinstance(error, asyncio.CancelledError) or anyio.current_effective_deadline() == -inf:
        return False
    _uncancel()
    return True


def ends_worker(error: BaseException) -> bool:
    """
    Whether an exception of a function that such a task has called must be raised again.

    Only Ctrl-C, a closed coroutine, and cancellations of this task must be. ``sys.exit()`` must not: it may end a
    program, but not one that has other parts.
    """
    if isinstance(error, Exception):
        return False
    if isinstance(error, BaseExceptionGroup):
        return any(map(ends_worker, error.exceptions))
    if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
        return True
    return isinstance(error, asyncio.CancelledError) and not is_stray(error)


def _uncancel() -> None:
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


@contextmanager
def cancellations_as_errors(what: str) -> Iterator[None]:
    """
    Raise an error in place of a cancellation that is not this task's. Otherwise it would look like an orderly end.

    :param what: the name of what is awaited, for the error
    :raises CancelledElsewhere: in place of such a cancellation
    """
    try:
        yield
    except asyncio.CancelledError as error:
        if ends_this_task(error):
            raise
        raise CancelledElsewhere(f"{what} awaited something that other code has cancelled") from error
