"""Stopping: how a manager shuts down.

Controllers hand out no more keys and finish their running syncs. A shard range is released when no sync of its keys
runs, and a Lease when no sync runs at all. After that the Events that wait are written: nobody has to wait for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kinformer.logs import get_logger
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Controller
from kinformer.record import EventBroadcaster
from kinformer.tasks import plain_task_group

__all__ = ("FLUSH", "SHUTDOWN_GRACE", "drain", "flush")

log = get_logger(__name__)

#: Seconds that running syncs have to end. This is also the default grace period of a pod.
SHUTDOWN_GRACE: Final = 30.0

#: Seconds to write the Events that wait.
FLUSH: Final = 5.0


async def drain(runnables: Iterable[object], grace: float) -> None:
    """
    Drain all controllers at the same time.

    :param runnables: controllers, or objects that have controllers in their attributes. Others have nothing to drain
    :param grace: seconds after which syncs that still run are cancelled
    """
    async with plain_task_group() as tasks:
        for runnable in runnables:
            for part in parts_of(runnable):
                tasks.start_soon(_drain, part, grace)


async def _drain(controller: Controller, grace: float) -> None:
    await controller.drain(grace)


async def flush(broadcasters: Iterable[EventBroadcaster]) -> None:
    """Try once to write each Event that waits."""
    lost = 0

    async def flush_one(broadcaster: EventBroadcaster) -> None:
        nonlocal lost
        lost += await broadcaster.flush(FLUSH)

    async with plain_task_group() as tasks:
        for broadcaster in broadcasters:
            tasks.start_soon(flush_one, broadcaster)
    if lost:
        log.warning("events_lost", count=lost, seconds=FLUSH)
