"""Stopping: what a manager does between the wish to end and the end.

Controllers hand out no more keys and finish what they are at. Then nothing is recorded any more, and Events that wait
are written. A range is given up once no sync of its keys runs, a Lease once this work has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kinformer.cache.tasks import plain_task_group
from kinformer.logs import get_logger
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Controller
from kinformer.record import EventBroadcaster

__all__ = ("SHUTDOWN_GRACE", "drain", "flush")

log = get_logger(__name__)

#: Seconds that running syncs have to end: what Kubernetes gives a pod as well.
SHUTDOWN_GRACE: Final = 30.0

#: Seconds that Events have to be written in.
_FLUSH: Final = 5.0


async def drain(runnables: Iterable[object], grace: float) -> None:
    """
    Drain all controllers at once.

    What a manager runs and is no :class:`Controller` may have one or several in its attributes. Anything else has
    nothing to drain.

    :param grace: seconds after which syncs that still run are cancelled
    """
    async with plain_task_group() as tasks:
        for runnable in runnables:
            for part in parts_of(runnable):
                tasks.start_soon(_drain, part, grace)


async def _drain(controller: Controller, grace: float) -> None:
    await controller.drain(grace)


async def flush(broadcasters: Iterable[EventBroadcaster]) -> None:
    """Write the Events that wait, each with one try."""
    lost = 0

    async def flush_one(broadcaster: EventBroadcaster) -> None:
        nonlocal lost
        lost += await broadcaster.flush(_FLUSH)

    async with plain_task_group() as tasks:
        for broadcaster in broadcasters:
            tasks.start_soon(flush_one, broadcaster)
    if lost:
        log.warning("events_lost", count=lost, seconds=_FLUSH)
