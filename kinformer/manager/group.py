"""Group: one controller that has several loops.

A controller often needs more than one queue, or work that no event causes: a check of all objects every few seconds, or
informers of its own. In: controllers and other runnables. Out: one runnable, which a factory returns. The group
promises that all parts run, that all end when it is cancelled, and that an error of one part ends the group::

    def make_controller(context: ControllerContext) -> Group:
        nodes = Controller("node-lifecycle", ...)
        pods = Controller("node-lifecycle-pods", ...)
        checks = Periodic("node-health", monitor.check, period=5.0, clock=context.clock)
        return Group(nodes, pods, Group(checks, after=[nodes_informer]))

The manager shows, checks and stops each controller of a group by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from kinformer.cache import SharedIndexInformer
from kinformer.cancellation import cancellations_as_errors
from kinformer.clock import Clock
from kinformer.logs import error_text, get_logger
from kinformer.manager.activity import Activity
from kinformer.manager.context import Runnable
from kinformer.manager.controller import Controller
from kinformer.tasks import plain_task_group

__all__ = ("Group", "Periodic")

log = get_logger(__name__)


class Group:
    """
    Several runnables as one.

    :param parts: controllers, groups, or other objects with ``async def run()``
    :param after: the parts start when these informers have their first lists. A controller waits for its own informers
        by itself
    """

    def __init__(self, *parts: Runnable, after: Iterable[SharedIndexInformer[Any]] = ()) -> None:
        self.parts = parts
        self._after = tuple(after)

    @property
    def controllers(self) -> list[Controller]:
        """The controllers among the parts, also those of inner groups."""
        found: list[Controller] = []
        for part in self.parts:
            if isinstance(part, Controller):
                found.append(part)
            elif isinstance(part, Group):
                found += part.controllers
        return found

    @property
    def activities(self) -> list[Activity]:
        """What the parts do beside syncs, also those of inner groups."""
        return [activity for part in self.parts for activity in getattr(part, "activities", ())]

    @property
    def has_synced(self) -> bool:
        """Whether the caches of all parts are complete and their workers run."""
        return all(getattr(part, "has_synced", True) for part in self.parts)

    @property
    def can_be_sharded(self) -> bool:
        """Whether several processes can share the keys: only if each part is a controller whose keys can be shared."""
        return all(getattr(part, "can_be_sharded", False) for part in self.parts)

    @property
    def owner_types(self) -> frozenset[type[Any]] | None:
        """The types of objects that own others, of all parts; None if a part cannot divide a namespace by owner."""
        found: list[frozenset[type[Any]] | None] = [getattr(part, "owner_types", None) for part in self.parts]
        return None if None in found else frozenset().union(*filter(None, found))

    async def run(self) -> None:
        """Run all parts until cancelled, or until all of them have ended."""
        for informer in self._after:
            await informer.wait_synced()
        async with plain_task_group() as tasks:
            for part in self.parts:
                tasks.start_soon(part.run)


class Periodic:
    """
    Work that is repeated, whatever happens in the cluster. An error is logged, and the next turn may succeed.

    :param name: the name in logs, in metrics and on the page
    :param work: called without arguments
    :param period: seconds between the end of one turn and the start of the next
    """

    def __init__(self, name: str, work: Callable[[], Awaitable[object]], period: float, *, clock: Clock) -> None:
        self.name = name
        self._work = work
        self._period = period
        self._clock = clock
        self._activity = Activity(name, "periodic", clock)
        #: What the metrics and the page show of it.
        self.activities = [self._activity]

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                await self._take_turn()
                await self._clock.sleep(self._period)
        finally:
            self._activity.ended()

    async def _take_turn(self) -> None:
        self._activity.shows("running")
        try:
            with cancellations_as_errors(self.name):
                await self._work()
        except Exception as error:  # of any type: the next turn may succeed
            log.exception("periodic_work_failed", work=self.name)
            self._activity.failed(error_text(error), again_in=self._period)
        else:
            self._activity.shows("waiting", again_in=self._period)
