"""Runs a command so that Ctrl-C and SIGTERM end it in order.

The first signal cancels the command, or calls the function that the command has set. The second signal ends the process
at once with status 1, even if it waits for something, such as a server that does not answer.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio

from kinformer.tasks import sole_error

__all__ = ("Interruption", "run_until_signal")


class Interruption:
    """Lets a command set a function that the first signal calls. The command then ends by itself."""

    def __init__(self) -> None:
        self._stop: Callable[[], Awaitable[object]] | None = None

    @contextmanager
    def stops(self, stop: Callable[[], Awaitable[object]]) -> Iterator[None]:
        """While the block runs, a signal calls this function instead of cancelling the command."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    async def __call__(self) -> bool:
        """Call the function that was set. Return False if there is none, so that the command has to be cancelled."""
        if self._stop is None:
            return False
        await self._stop()
        return True


def run_until_signal(
    command: Callable[[], Awaitable[int]],
    interrupted: int,
    interruption: Interruption | None = None,
    *,
    use_uvloop: bool = False,
) -> int:
    """
    Run a command.

    An exception of the command is raised as it is. If task groups have wrapped it alone, it is unwrapped.

    :param interrupted: the result if a signal has cancelled the command
    :param interruption: what the first signal does instead of cancelling the command
    :param use_uvloop: whether to run it on uvloop's event loop in place of asyncio's own
    :return: the status that the command returned, or `interrupted`
    """
    options = {"use_uvloop": use_uvloop}
    return anyio.run(_until_signal, command, interrupted, interruption or Interruption(), backend_options=options)


async def _until_signal(command: Callable[[], Awaitable[int]], interrupted: int, interruption: Interruption) -> int:
    status = interrupted
    failure: BaseException | None = None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:

            async def end_in_order() -> None:
                if not await interruption():
                    tasks.cancel_scope.cancel()

            async def end_on_signal() -> None:
                # Shielded, so that a second signal is handled even if the cancelled command does not end.
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
                failure = sole_error(error)
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
