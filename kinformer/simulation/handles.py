"""Callbacks, timers and tasks of the simulated loop: like asyncio's, but without the code for debug mode.

A run makes hundreds of them. asyncio checks for each one, also when it is cancelled, whether the loop is in debug mode.
The simulated loop never is, so these classes leave the check out. A task's repr has its name and no address, so that no
text in a run depends on addresses.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, Final, Protocol

__all__ = ("SimulatedHandle", "SimulatedTask", "SimulatedTimer", "TimersLoop")


class SimulatedHandle(asyncio.Handle):
    """A callback that was scheduled."""

    __slots__ = ()
    # asyncio.Handle has slots with these names. As class attributes they need not be set in each handle.
    _repr = None
    _source_traceback = None

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._callback: Callable[..., object] | None = callback
        self._args = args
        self._loop = loop
        self._context = copy_context() if context is None else context
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        self._callback = self._args = None  # type: ignore[assignment]  # as asyncio's own does


class TimersLoop(Protocol):
    """The part of :class:`~kinformer.simulation.loop.SimulatedLoop` that a timer needs."""

    def note_cancelled_timer(self) -> None:
        """Count a timer that was cancelled and is still in the loop's heap."""


class SimulatedTimer(asyncio.TimerHandle):
    """A callback that is called at a certain time."""

    __slots__ = ()
    _repr = None
    _source_traceback = None

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: TimersLoop,
        context: Context | None,
    ) -> None:
        self._when = when
        self._callback: Callable[..., object] | None = callback
        self._args = args
        self._loop = loop
        self._context = copy_context() if context is None else context
        self._cancelled = False

    def cancel(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._callback = self._args = None  # type: ignore[assignment]  # as asyncio's own does
            self._loop.note_cancelled_timer()


class SimulatedTask(asyncio.Task[Any]):
    """
    A task of the loop.

    It always begins at a later turn and ignores `eager_start`. Python before 3.12 has no eager start, and a run has to
    be the same on all versions.

    :ivar number: the order of tasks where one is needed; addresses differ from run to run
    :ivar owner: the simulated process that made it; None if it was not made by the loop's ``create_task``
    """

    number: int
    owner: object = None

    def __init__(
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        name: str | None = None,
        context: Context | None = None,
        eager_start: bool = False,
    ) -> None:
        loop = loop or asyncio.get_running_loop()
        self.number = number = next(getattr(loop, "task_numbers", _ELSEWHERE))
        super().__init__(coro, loop=loop, name=name or f"Task-{number}", context=context)

    def exception(self) -> BaseException | None:
        try:
            return super().exception()
        except asyncio.CancelledError as error:
            # anyio asks each task, and keeps the error in a frame of its traceback: in a circle, with all frames of the
            # task and what is in them. Nobody reads the traceback of a cancellation, so the loop takes it away.
            getattr(self.get_loop(), "cancellations", []).append(error)
            raise error.with_traceback(None) from None

    def __repr__(self) -> str:
        return f"<task {self.get_name()!r}>"


#: The number of tasks of other loops. They all have the same one, since they need no order.
_ELSEWHERE: Final = itertools.repeat(-1)
