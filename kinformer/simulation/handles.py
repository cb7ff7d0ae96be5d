"""Callbacks, timers and tasks of the simulated loop: asyncio's own, without what is for debugging alone.

A run makes hundreds of them, and asyncio asks at each one, and again when it is cancelled, whether the loop debugs.
This one never does. Where a task is named for a person it is by its name, so that no text depends on a place in memory.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kinformer.simulation.loop import SimulatedLoop

__all__ = ("SimulatedHandle", "SimulatedTask", "SimulatedTimer")


class SimulatedHandle(asyncio.Handle):
    """A callback that was scheduled."""

    __slots__ = ()
    # asyncio.Handle has slots of these names. They would be None in each handle.
    _repr = None
    _source_traceback = None

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], loop: SimulatedLoop, context: Context | None
    ) -> None:
        self._callback: Callable[..., object] | None = callback
        self._args = args
        self._loop = loop
        self._context = copy_context() if context is None else context
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        self._callback = self._args = None  # type: ignore[assignment]


class SimulatedTimer(asyncio.TimerHandle):
    """A callback that is called at a time."""

    __slots__ = ()
    _repr = None
    _source_traceback = None

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: SimulatedLoop,
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
            self._callback = self._args = None  # type: ignore[assignment]
            self._loop.note_cancelled_timer()


class SimulatedTask(asyncio.Task[Any]):
    """
    A task of the loop.

    It begins at a later turn, also where whoever makes it has it begin at once: Pythons before 3.12 know no such thing,
    and a run is the same one on all of them.

    :ivar number: by which it is known wherever an order is needed: its address differs from run to run
    """

    number: int

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

    def __repr__(self) -> str:
        return f"<task {self.get_name()!r}>"


#: The numbers of tasks that are no simulated loop's: all the same, since there is no order among them.
_ELSEWHERE: Final = itertools.repeat(-1)
