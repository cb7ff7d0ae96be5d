"""Waiting for an informer to sync.

A warning says that the informer was never started. An error says that it ended before it had synced. Without these, a
program with one of these mistakes would stand still and show nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio

from kinformer.clock import Clock
from kinformer.logs import get_logger

__all__ = ("InformerStateError", "SyncGate")

log = get_logger(__name__)

#: Seconds of waiting for an informer that is not started, after which a warning is logged.
_NOT_STARTED_AFTER: Final = 5.0


class InformerStateError(RuntimeError):
    """The operation is possible only before the informer starts, or only until it has stopped."""


class SyncGate:
    """
    A gate that opens when an informer or a handler has synced, or when it ends and never will.

    :param what: the name in errors of what is waited for
    :param informer: the informer's name
    :param is_started: whether the informer runs, or has run
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
        """Open the gate: it has synced."""
        self.synced = True
        self._open.set()

    def close(self) -> None:
        """Open the gate: it has ended. If it has not synced by now, it never will."""
        self._open.set()

    async def wait(self) -> None:
        """
        Return once it has synced.

        :raises InformerStateError: if it ended before it had synced
        """
        if not self._is_started() and not self._open.is_set():
            reminder = self._clock.call_later(_NOT_STARTED_AFTER, self._remind)
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
                seconds=_NOT_STARTED_AFTER,
                hint="a task waits for it: run it, or call start() of its factory after the last informer_for()",
            )
