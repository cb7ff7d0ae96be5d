"""The health checks of a manager: whether it is alive, and whether it is ready.

``/livez`` has the failures that a restart mends: a controller that has ended, a queue that no worker drains, an event
loop that is blocked most of the time, a leader that hangs. ``/readyz`` has these as well, and the failures that only
time or the server mends: a cache that is not complete, an informer that has no watch, or a watch without events. A
restart would not help there: it would drop the caches and list everything again, from a server that has trouble
already.

The checks read the current state when they are asked. Only the check of the queues needs earlier states:
:class:`QueueWatch` reads the queues every few seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kinformer.blocking import blocked_seconds
from kinformer.cache import SharedIndexInformer
from kinformer.clock import Clock
from kinformer.manager.controller import Controller
from kinformer.manager.group import Group
from kinformer.workqueue import RateLimitingQueue

__all__ = ("HealthLimits", "QueueWatch", "event_loop", "has_not_ended", "informer_fresh", "informer_sync", "parts_of")

#: Seconds between two readings of the queues.
_LOOK_EVERY: Final = 5.0


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """
    When a check fails. All limits are in seconds.

    :param informer_silent: how long an open watch may bring no event and no bookmark. Servers send a bookmark each
        minute. Servers without bookmarks end a watch after ten minutes at most
    :param queue_stuck: how long a queue that has keys may hand out none before the manager is not ready
    :param queue_dead: the same, before the manager is not alive. This must be longer than any sync takes
    :param loop_blocked: how many of the last 60 seconds the event loop may be blocked before the manager is not ready
    :param loop_dead: the same, before the manager is not alive
    """

    informer_silent: float = 900.0
    queue_stuck: float = 120.0
    queue_dead: float = 1200.0
    loop_blocked: float = 10.0
    loop_dead: float = 40.0


def parts_of(runnable: object) -> list[Controller]:
    """The :class:`Controller` objects in a runnable: itself, or those of a :class:`Group`."""
    if isinstance(runnable, Controller):
        return [runnable]
    if isinstance(runnable, Group):
        return runnable.controllers
    return []


def informer_sync(informers: Callable[[], Iterable[SharedIndexInformer[Any]]]) -> Callable[[], str]:
    """A check that every informer has its first list and an open watch."""

    def wrong() -> str:
        return "; ".join(f"{informer.name} {_state(informer)}" for informer in informers() if not informer.is_following)

    return wrong


def _state(informer: SharedIndexInformer[Any]) -> str:
    if informer.is_stopped:
        return "has stopped"
    if not informer.has_synced:
        return "has not synced"
    return f"has had no watch for {informer.failing_for:.0f}s"


def informer_fresh(informers: Callable[[], Iterable[SharedIndexInformer[Any]]], limit: float) -> Callable[[], str]:
    """
    A check that every open watch brings events or bookmarks.

    :param limit: seconds that a watch may be silent
    """

    def wrong() -> str:
        # An informer without an open watch is reported by informer_sync.
        return "; ".join(
            f"nothing was heard of {informer.name} for {informer.silent_for:.0f}s"
            for informer in informers()
            if not informer.is_stopped and not informer.failing_for and informer.silent_for > limit
        )

    return wrong


def event_loop(limit: float) -> Callable[[], str]:
    """
    A check that the event loop was not blocked for too long. While it is blocked, probes get no answer and fail anyway.

    :param limit: seconds of the last 60 that it may be blocked
    """

    def wrong() -> str:
        blocked = blocked_seconds(60.0)
        return f"it was blocked for {blocked:.0f} of the last 60s" if blocked > limit else ""

    return wrong


class QueueWatch:
    """
    Notices queues that have keys and hand none out.

    A queue is read only while its workers run. The time counts from the first reading that found keys in the queue. It
    starts again whenever the queue has handed out a key.

    :param controllers: runnables, by the names that messages show
    """

    def __init__(self, controllers: Mapping[str, object], clock: Clock) -> None:
        self._clock = clock
        self._lines = [
            _Line(part, name if part.name == name else f"{name}/{part.name}")
            for name, runnable in controllers.items()
            for part in parts_of(runnable)
        ]

    async def run(self) -> None:
        """Read the queues every few seconds, so that even the first probe gets a right answer."""
        while True:
            self.look()
            await self._clock.sleep(_LOOK_EVERY)

    def look(self) -> None:
        """Read what each queue has handed out since the last reading."""
        now = self._clock.monotonic()
        for line in self._lines:
            line.look(now)

    def check(self, limit: float) -> Callable[[], str]:
        """A check that fails once a queue that has keys has handed out none for more than `limit` seconds."""

        def wrong() -> str:
            self.look()
            now = self._clock.monotonic()
            return "; ".join(
                f"the queue of {line.name} has {len(line.queue)} keys and has handed out none for {waits:.0f}s"
                for line in self._lines
                if (waits := line.waits(now)) > limit
            )

        return wrong


class _Line:
    """One queue, and what the last reading found."""

    __slots__ = ("_controller", "_handed_out", "_since", "name")

    def __init__(self, controller: Controller, name: str) -> None:
        self.name = name
        self._controller = controller
        self._handed_out = 0
        self._since: float | None = None

    @property
    def queue(self) -> RateLimitingQueue[str]:
        return self._controller.queue

    def look(self, now: float) -> None:
        handed_out = self.queue.handed_out
        if not len(self.queue) or not self._controller.has_synced:
            self._since = None
        elif self._since is None or handed_out != self._handed_out:
            self._since = now
        self._handed_out = handed_out

    def waits(self, now: float) -> float:
        return 0.0 if self._since is None else now - self._since


def has_not_ended(name: str, ended: Callable[[], Collection[str]]) -> Callable[[], str]:
    """
    A check that a controller still runs.

    :param ended: returns the names of the controllers that have ended
    """
    return lambda: f"controller {name} has ended" if name in ended() else ""
