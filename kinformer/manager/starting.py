"""Starting: says which controllers have not started, what they lack, and ends the manager where one of them must.

A controller starts when its caches have their first lists. An informer whose list fails tries again, with backoff, for
ever: a permission may be given, a custom resource be installed, a server come back. So a controller that cannot start
waits and costs the others nothing. Here somebody looks after a second, and after twice as long each time, and tells in
one line what is missing: a permission, or a kind that the server does not have. Any other reason is told when the time
for caches to sync is over (controller-runtime's ``CacheSyncTimeout``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio

from kinformer.cache import SharedIndexInformer
from kinformer.cache.tasks import plain_task_group
from kinformer.client import Forbidden, NotFound
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Controller

__all__ = ("CACHE_SYNC_TIMEOUT", "ControllerNotStarted", "Starting")

log = get_logger(__name__)

#: Seconds, as controller-runtime has it.
CACHE_SYNC_TIMEOUT: Final = 120.0

#: Seconds until the first look, and between two looks at most.
_FIRST, _LONGEST = 1.0, 300.0


class ControllerNotStarted(Exception):
    """
    A controller that had to start did not.

    :param lacks: what it lacks
    """

    def __init__(self, controller: str, lacks: str) -> None:
        self.controller = controller
        super().__init__(f"controller {controller} has not started: {lacks}")


@dataclass(frozen=True, slots=True)
class Starting:
    """
    :param controllers: by name; what has no :class:`Controller` in it is not looked at
    :param required: the names of those that must all start
    :param timeout: seconds that caches have to sync
    :param lacking: is filled: for each controller that has not started and was looked at, what it lacks
    """

    controllers: Mapping[str, object]
    required: Collection[str]
    timeout: float
    clock: Clock
    lacking: dict[str, str]

    async def run(self) -> None:
        """
        Look until all have started.

        :raises ControllerNotStarted: if one that is required lacks something that waiting alone does not bring, or has
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
        """Whether all of them have, after so long at most."""
        with anyio.CancelScope() as scope:
            timer = self.clock.call_later(seconds, scope.cancel)
            try:
                for part in parts:
                    await part.started.wait()
            finally:
                timer.cancel()
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
    """What of the informers' failures no waiting mends."""
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
