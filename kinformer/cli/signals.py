"""Running a command so that Ctrl-C and SIGTERM end it in order: everything is closed behind it.

The first signal cancels the command, or does what the command has asked for instead. The second ends the process at
once, with status 1, whatever it waits for: a stream that does not close, a server that does not answer.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio

__all__ = ("Interruption", "run_until_signal")


class Interruption:
    """What the first signal does to a command that wants to end by itself: stop what it runs."""

    def __init__(self) -> None:
        self._stop: Callable[[], Awaitable[object]] | None = None

    @contextmanager
    def stops(self, stop: Callable[[], Awaitable[object]]) -> Iterator[None]:
        """Have a signal call this while the block runs, and the command go on."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    async def __call__(self) -> bool:
        """Stop what there is to stop; False if there is nothing, and the command is to be cancelled."""
        if self._stop is None:
            return False
        await self._stop()
        return True


def run_until_signal(
    command: Callable[[], Awaitable[int]], interrupted: int, interruption: Interruption | None = None
) -> int:
    """
    Run to the command's own end, and give its status, or until a signal, and give `interrupted`.

    What the command raises is raised as it is, also out of the task groups that it passed through when nothing else
    went wrong in them.

    :param interruption: what the command has asked for
    """
    return anyio.run(_until_signal, command, interrupted, interruption or Interruption())


async def _until_signal(command: Callable[[], Awaitable[int]], interrupted: int, interruption: Interruption) -> int:
    status = interrupted
    failure: BaseException | None = None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:

            async def end_in_order() -> None:
                if not await interruption():
                    tasks.cancel_scope.cancel()

            async def end_on_signal() -> None:
                # Shielded: a second signal is heard also while what the first has cancelled does not end.
                with hearing:
                    first = True
                    async for _ in signals:
                        if not first:
                            _end_now()
                        first = False
                        tasks.start_soon(end_in_order)

            hearing = anyio.CancelScope(shield=True)
            tasks.start_soon(end_on_signal)
            try:
                status = await command()
            except Exception as error:
                failure = _alone(error)
            finally:
                hearing.cancel()
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return status


def _end_now() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def _alone(error: Exception) -> Exception:
    """The error itself, where a task group wrapped just one."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
