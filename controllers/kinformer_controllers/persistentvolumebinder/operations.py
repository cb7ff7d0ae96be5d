"""Operations: slow work on storage (provisioning, deleting, recycling) that runs beside the syncs that start it.

In: a name and a function. Promised: of one name only one operation runs at a time. After a failure, it can start again
only after a delay, which doubles with each failure. All operations end with the controller.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.manager import SyncError

__all__ = ("Operations",)

log = get_logger(__name__)

#: The first and the longest delay after a failure in seconds, as in Kubernetes.
_FIRST: Final = 0.5
_LAST: Final = 122.0


class Operations:
    """Runs operations by name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: TaskGroup | None = None
        self._running: set[str] = set()
        #: By the name of a failed operation: when it may start again, and its last delay.
        self._postponed: dict[str, tuple[float, float]] = {}

    async def run(self) -> None:
        """Run operations until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:
                self._tasks = None

    def start(self, name: str, operation: Callable[[], Awaitable[None]]) -> bool:
        """
        Start an operation, unless it is already running or its delay after a failure is not over.

        :return: whether it was started
        """
        until, _ = self._postponed.get(name, (0.0, 0.0))
        if self._tasks is None or name in self._running or self._clock.monotonic() < until:
            return False
        self._running.add(name)
        self._tasks.start_soon(self._run, name, operation, name=name)
        return True

    async def _run(self, name: str, operation: Callable[[], Awaitable[None]]) -> None:
        try:
            await operation()
            self._postponed.pop(name, None)
        except Exception as error:  # a plug-in may raise any type; the other operations must continue
            _, waited = self._postponed.get(name, (0.0, 0.0))
            wait = min(waited * 2, _LAST) if waited else _FIRST
            self._postponed[name] = self._clock.monotonic() + wait, wait
            tell = log.warning if isinstance(error, SyncError) else log.error
            tell("volume_operation_failed", operation=name, error=str(error), again_in_seconds=wait)
        finally:
            self._running.discard(name)
