"""Starting: reports which controllers have not started and why, and ends the manager if a required one cannot start.

A controller starts when its caches have their first lists. If a list fails, the informer repeats it for ever, with
backoff: somebody may grant a permission or install a custom resource, or the server may come back. So a controller that
cannot start waits, and does not disturb the others. This module checks after one second, and then after twice as long
each time. It logs what is missing: a permission, or a kind that the server does not have. Any other reason is logged
only when the caches have not synced in time (controller-runtime's ``CacheSyncTimeout``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kinformer.cache import SharedIndexInformer
from kinformer.client import Forbidden, NotFound
from kinformer.clock import Clock, move_on_after
from kinformer.logs import get_logger
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Controller
from kinformer.tasks import plain_task_group

__all__ = ("CACHE_SYNC_TIMEOUT", "ControllerNotStarted", "Starting")

log = get_logger(__name__)

#: Seconds. controller-runtime has the same default.
CACHE_SYNC_TIMEOUT: Final = 120.0

#: Seconds until the first check, and the most seconds between two checks.
_FIRST, _LONGEST = 1.0, 300.0


class ControllerNotStarted(Exception):
    """
    A required controller has not started.

    :param controller: its name
    :param lacks: what is missing
    """

    def __init__(self, controller: str, lacks: str) -> None:
        self.controller = controller
        super().__init__(f"controller {controller} has not started: {lacks}")


@dataclass(frozen=True, slots=True)
class Starting:
    """
    Watches whether the controllers of a manager start.

    :param controllers: the manager's runnables, by name. A runnable without a :class:`Controller` is not checked
    :param required: the names of those that must start
    :param timeout: seconds that caches may take to sync
    :param clock: for times
    :param lacking: is filled with what is missing, by the names of controllers that have not started
    """

    controllers: Mapping[str, object]
    required: Collection[str]
    timeout: float
    clock: Clock
    lacking: dict[str, str]

    async def run(self) -> None:
        """
        Check until all controllers have started.

        :raises ControllerNotStarted: if a required controller needs a permission or a kind that is missing, or has
            waited for too long
        """
        async with plain_task_group() as tasks:
            for name, runnable in self.controllers.items():
                if parts := parts_of(runnable):
                    tasks.start_soon(self._look_after, name, parts)

    async def _look_after(self, name: str, parts: list[Controller]) -> None:
        wait, waited = _FIRST, 0.0
        while not await self._have_started(parts, wait):
            waited += wait
            if what := _lacked(parts) or self._overdue(parts, waited):
                self.lacking[name] = what
                if name in self.required:
                    raise ControllerNotStarted(name, what)
                log.error("controller_not_started", controller=name, lacks=what)
            wait = min(wait * 2, _LONGEST)
            if waited < self.timeout:
                wait = min(wait, self.timeout - waited)
        self.lacking.pop(name, None)

    async def _have_started(self, parts: list[Controller], seconds: float) -> bool:
        """Wait until all parts have started, for some seconds at most. Return whether they have."""
        with move_on_after(self.clock, seconds):
            for part in parts:
                await part.started.wait()
        return all(part.started.is_set() for part in parts)

    def _overdue(self, parts: list[Controller], waited: float) -> str:
        if waited < self.timeout:
            return ""
        late = "; ".join(_named(informer) for informer in _late(parts))
        awaited = ", ".join(dict.fromkeys(name for part in parts for name in part.awaited))
        if awaited and not late:
            late = f"the controllers that it starts after ({awaited})"
        return f"not synced within {self.timeout:g} s: {late or 'its handlers'}"


def _late(parts: list[Controller]) -> list[SharedIndexInformer[Any]]:
    return list(dict.fromkeys(informer for part in parts for informer in part.late))


def _lacked(parts: list[Controller]) -> str:
    """The failures of informers that waiting alone does not mend."""
    reasons: list[str] = []
    for informer in _late(parts):
        failure = getattr(informer, "failure", None)
        if isinstance(failure, Forbidden):
            reasons.append(f"the permission to list and watch {informer.name} ({failure})")
        elif isinstance(failure, NotFound):
            reasons.append(f"a server that serves {informer.name}")
    return "; ".join(reasons)


def _named(informer: SharedIndexInformer[Any]) -> str:
    failure = getattr(informer, "failure", None)
    return f"{informer.name} ({failure})" if failure is not None else informer.name
