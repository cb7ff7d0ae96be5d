"""Telling whose cancellation a ``CancelledError`` is: this task's, or that of something else that it awaited.

A function of a user may await a task or a future that somebody else has cancelled. What comes out of it is the same
exception that ends the task itself; let out of a worker it ends that worker, and the task group takes it for an
orderly end. So whatever calls functions of users in a loop asks here first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import anyio

__all__ = ("CancelledElsewhere", "cancellations_as_errors", "ends_this_task", "ends_worker", "is_stray")


class CancelledElsewhere(RuntimeError):
    """Something that was awaited has been cancelled, by somebody who did not mean the one who awaited it."""


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


def is_stray(error: BaseException) -> bool:
    """
    Whether an exception that was caught is a cancellation which nobody wanted who may want it.

    For tasks of a task group, of which nobody else has the handle: they are to end when a cancel scope around them is
    cancelled, and not because a function that they called has cancelled its own task. A task that was so is made whole
    again: its next await is not cancelled, too.
    """
    if not isinstance(error, asyncio.CancelledError) or anyio.current_effective_deadline() == -inf:
        return False
    _uncancel()
    return True


def ends_worker(error: BaseException) -> bool:
    """
    Whether an exception of a function that such a task has called has to be let out.

    Only Ctrl-C, a coroutine that is closed, and cancellations that are meant have to be. Not ``sys.exit()``, which may
    end a program and not one that others are part of.
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
    Have a cancellation that is not this task's come out as an exception, which nobody takes for an orderly end.

    :param what: what is awaited here, as the error should call it
    :raises CancelledElsewhere: in place of such a cancellation
    """
    try:
        yield
    except asyncio.CancelledError as error:
        if ends_this_task(error):
            raise
        raise CancelledElsewhere(f"{what} awaited something that somebody else has cancelled") from error
