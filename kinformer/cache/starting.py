"""Waiting for an informer, with a warning where nobody has started it, and an error where it ends and has not synced.

Both are mistakes that otherwise show as nothing at all: a program that stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio

from kinformer.clock import Clock
from kinformer.logs import get_logger

__all__ = ("NOT_STARTED_AFTER", "InformerStateError", "SyncGate")

log = get_logger(__name__)

#: Seconds of waiting for an informer that nobody has started, after which the log says so.
NOT_STARTED_AFTER: Final = 5.0


class InformerStateError(RuntimeError):
    """What was asked of an informer can be done only before it runs, or only until it has stopped."""


class SyncGate:
    """
    Opens when something of an informer has synced, or never will.

    :param what: what is waited for, as an error should call it
    :param informer: the informer's name
    :param is_started: whether it runs, or has run
    """

    __slots__ = ("_clock", "_informer", "_is_started", "_open", "_what", "synced")

    def __init__(self, what: str, informer: str, is_started: Callable[[], bool], clock: Clock) -> None:
        self._what = what
        self._informer = informer
        self._is_started = is_started
        self._clock = clock
        self._open = anyio.Event()
        #: Whether it has synced.
        self.synced = False

    def sync(self) -> None:
        """It has synced."""
        self.synced = True
        self._open.set()

    def close(self) -> None:
        """It has ended: if it has not synced by now, it never will."""
        self._open.set()

    async def wait(self) -> None:
        """
        Return once it has synced.

        :raises InformerStateError: if it ended before it had
        """
        if not self._is_started() and not self._open.is_set():
            reminder = self._clock.call_later(NOT_STARTED_AFTER, self._remind)
            try:
                await self._open.wait()
            finally:
                reminder.cancel()
        else:
            await self._open.wait()
        if not self.synced:
            raise InformerStateError(f"{self._what} has stopped before it had synced")

    def _remind(self) -> None:
        if not self._is_started():
            log.warning(
                "informer_not_started",
                informer=self._informer,
                seconds=NOT_STARTED_AFTER,
                hint="somebody waits for it: run it, or call start() of its factory after the last informer_for()",
            )
