"""Checks: what a manager looks at to tell whether it is alive, and whether it is ready.

``/livez`` has what a restart mends: a controller that has ended, a queue that no worker drains, an event loop that is
blocked most of the time, a leader that hangs. ``/readyz`` has the same and what only time or the server mends: caches
that are not complete, that do not follow, or of which nothing is heard. A restart would throw the cache away and list
everything again, from a server that has trouble already.

All of them read what is there when they are asked, but for the queues: :class:`QueueWatch` looks every few seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kinformer.blocking import blocked_seconds
from kinformer.cache import SharedIndexInformer
from kinformer.clock import Clock
from kinformer.manager.controller import Controller
from kinformer.workqueue import RateLimitingQueue

__all__ = ("HealthLimits", "QueueWatch", "event_loop", "has_not_ended", "informer_fresh", "informer_sync", "parts_of")

#: Seconds between two looks at the queues.
_LOOK_EVERY: Final = 5.0


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """
    From when on something counts as wrong. All in seconds.

    :param informer_silent: without any event, bookmark or list of a resource whose watch is open. Servers send a
        bookmark each minute; those that do not end a watch after ten minutes at most
    :param queue_stuck: without a key handed out from a queue that has some, until the manager is not ready
    :param queue_dead: the same, until it is not alive; longer than any sync may take
    :param loop_blocked: of the last 60 that the event loop was blocked, until the manager is not ready
    :param loop_dead: the same, until it is not alive
    """

    informer_silent: float = 900.0
    queue_stuck: float = 120.0
    queue_dead: float = 1200.0
    loop_blocked: float = 10.0
    loop_dead: float = 40.0


def parts_of(runnable: object) -> list[Controller]:
    """The :class:`Controller`s that something with a ``run`` is, or keeps in its attributes."""
    if isinstance(runnable, Controller):
        return [runnable]
    return [value for value in getattr(runnable, "__dict__", {}).values() if isinstance(value, Controller)]


def informer_sync(informers: Callable[[], Iterable[SharedIndexInformer[Any]]]) -> Callable[[], str]:
    """Whether every informer has its first list, and follows the server since."""

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
    """Whether something was heard of every resource whose watch is open."""

    def wrong() -> str:
        # Where no watch can be opened the server does not answer, and another check says so.
        return "; ".join(
            f"nothing was heard of {informer.name} for {informer.silent_for:.0f}s"
            for informer in informers()
            if not informer.is_stopped and not informer.failing_for and informer.silent_for > limit
        )

    return wrong


def event_loop(limit: float) -> Callable[[], str]:
    """Whether the event loop has had its turns. While it is blocked no probe is answered, which is an answer too."""

    def wrong() -> str:
        blocked = blocked_seconds(60.0)
        return f"it was blocked for {blocked:.0f} of the last 60s" if blocked > limit else ""

    return wrong


class QueueWatch:
    """
    Notices queues that have keys and hand none out.

    A queue is looked at while its workers run. The time counts from the first look at which it had keys, and begins
    again with each key that is handed out.

    :param controllers: by the names that messages have for them
    """

    def __init__(self, controllers: Mapping[str, object], clock: Clock) -> None:
        self._clock = clock
        self._lines = [
            _Line(part, name if part.name == name else f"{name}/{part.name}")
            for name, runnable in controllers.items()
            for part in parts_of(runnable)
        ]

    async def run(self) -> None:
        """Look every few seconds, so that a single question is answered as well as a probe's thousandth."""
        while True:
            self.look()
            await self._clock.sleep(_LOOK_EVERY)

    def look(self) -> None:
        """See what was handed out since the last look."""
        now = self._clock.monotonic()
        for line in self._lines:
            line.look(now)

    def check(self, limit: float) -> Callable[[], str]:
        """The check that fails once a queue has handed out nothing for so many seconds."""

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
    """One queue, and what the last look found."""

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
    """Whether a controller still runs."""
    return lambda: f"controller {name} has ended" if name in ended() else ""
