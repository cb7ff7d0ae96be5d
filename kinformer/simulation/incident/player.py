"""Player: brings a recorded order of events to controllers, in virtual time, and compares what they do.

The recording is gone through entry by entry. Before each one, virtual time is set to the time of the entry, and all
tasks run until they wait. Events arrive, syncs begin, and requests are answered at their recorded places. A request of
a sync is compared with those of the recorded sync, and gets the answer of the one that it is like. One that the
recording does not have is answered as if it had worked, and no event follows from it.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import anyio

from kinformer.backoff import Backoff
from kinformer.cache import InformerOptions
from kinformer.client import Client
from kinformer.clock import Timer
from kinformer.manager import Controller, ControllerFactory, Manager
from kinformer.manager.checks import parts_of
from kinformer.manager.syncs import seconds_of
from kinformer.recording.entries import Began, Cached, Came, Entry, Opened, Over, Wall
from kinformer.recording.redaction import Redactor
from kinformer.simulation.incident.differences import Difference, Kind, body_differences
from kinformer.simulation.incident.line import Line
from kinformer.simulation.incident.server import ReplayedServer
from kinformer.simulation.incident.tape import Exchange, RecordedSync, Tape, result_of
from kinformer.simulation.loop import SimulatedLoop

__all__ = ("Player", "ReplayClock", "SyncRun")

#: Seconds of virtual time in which everything runs that is ready: no time passes while something is.
_TICK: Final = 1e-6
#: Seconds after which a key that was added is synced although the recording has no sync of it.
_PATIENCE: Final = 10.0
#: The most seconds of virtual time for the caches of the beginning.
_WARM_UP: Final = 600.0
#: Seconds by which a requeue may differ: it may have jitter, or be the rest of a time.
_NEAR: Final = 1.0
#: What adds a key by itself, at a time that may depend on what was before the recording.
_BY_ITSELF: Final = frozenset({"due", "retry", "resynced", "asked", "listed", ""})
_CURRENT: ContextVar[SyncRun | None] = ContextVar("kinformer_replayed_sync", default=None)


class ReplayClock:
    """The clock of the replay: the loop's time, and the recorded wall clock."""

    def __init__(self, loop: SimulatedLoop, wall: float) -> None:
        self._loop = loop
        self._wall = wall
        self._set_at = 0.0

    def monotonic(self) -> float:
        return self._loop.time()

    def set(self, wall: float) -> None:
        """Set the wall clock, to seconds since 1970."""
        self._wall, self._set_at = wall, self._loop.time()

    def timestamp(self) -> float:
        return self._wall + self._loop.time() - self._set_at

    def zone(self) -> timedelta:
        return timedelta()

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.timestamp(), UTC)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return self._loop.call_later(max(seconds, 0.0), callback)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(seconds, 0.0))


@dataclass(eq=False, slots=True)
class SyncRun:
    """
    A sync of the replay.

    :param at: when it began, in seconds from the beginning of the recording
    :param recorded: the recorded one; None if the recording has none
    :param requests: what it has sent, such as ``POST /api/v1/namespaces/default/pods``
    :param error: the type and text of its error; empty if it has succeeded, or not ended
    """

    at: float
    controller: str
    key: str
    recorded: RecordedSync | None
    requests: list[str] = field(default_factory=list)
    error: str = ""
    has_ended: bool = False
    #: The recorded requests that it has made.
    _made: set[Exchange] = field(default_factory=set)

    @property
    def number(self) -> int:
        return self.recorded.began.sync if self.recorded is not None else 0


class Player:
    """
    Plays one recording.

    :param controllers: the controllers, by name
    :param options: options in place of recorded ones
    :ivar runs: the syncs of the replay
    :ivar differences: what was found
    """

    def __init__(
        self,
        tape: Tape,
        controllers: Mapping[str, ControllerFactory],
        options: Mapping[str, Any],
        loop: SimulatedLoop,
        clock: ReplayClock,
    ) -> None:
        self._tape = tape
        self._loop = loop
        self.runs: list[SyncRun] = []
        self.differences: list[Difference] = []
        self._clock = clock
        self._server = ReplayedServer(tape, clock, _CURRENT.get, self._answer)
        self._redactor = Redactor(tape.begin.redact)
        self._lines: dict[str, Line] = {}
        self._controllers: dict[str, Controller] = {}
        #: The recorded syncs that were handed out and have not begun.
        self._granted: dict[tuple[str, str], deque[RecordedSync]] = defaultdict(deque)
        #: The recorded syncs that are still to come.
        self._ahead: dict[tuple[str, str], deque[RecordedSync]] = defaultdict(deque)
        #: The times at which delays of keys are over that were synced before that, as in the recording.
        self._early: dict[tuple[str, str], float] = {}
        self._warming_up = not tape.begins_with_process
        self._began = 0.0
        self._manager = Manager(
            Client(self._server.transport),
            known=controllers,
            options=options,
            flags=tape.begin.options,
            namespaces=tape.begin.namespaces,
            # An informer asks again at once, and waits for what the recorded one got. Recorded waits have jitter: a
            # longer one would bring a list after the syncs that it has led to.
            informer_options=InformerOptions(backoff=Backoff(initial=0.0, clock=clock)),
            clock=clock,
            beside_kube_controller_manager=True,
        )
        for runnable in self._manager.controllers.values():
            for controller in parts_of(runnable):
                self._take_over(controller)
        for sync in tape.syncs.values():
            self._ahead[sync.began.controller, sync.began.key].append(sync)

    @property
    def controllers(self) -> Mapping[str, Controller]:
        return self._controllers

    def _take_over(self, controller: Controller) -> None:
        name = controller.name
        self._controllers[name] = controller
        line = self._lines[name] = Line(self._now, partial(self._added, name))
        controller.queue.hand_out_by(line)
        controller.wrap_sync(partial(self._replayed, name))

    def _now(self) -> float:
        """Seconds from the beginning of the recording."""
        return self._loop.now - self._began

    # -- the run ------------------------------------------------------------------------------------------------------

    async def play(self) -> None:
        """Play the recording."""
        for entry in self._tape.beginning:
            self._take(entry)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._manager.run)
            if self._warming_up:
                with anyio.move_on_after(_WARM_UP):
                    for controller in self._controllers.values():
                        await controller.caught_up.wait()
                self._warming_up = False
            for line in self._lines.values():
                line.is_free = False
            self._began = self._loop.now
            self._clock.set(self._tape.begin.wall)
            start = self._tape.begin.at
            for entry in self._tape.entries:
                await anyio.sleep(max(entry.at - start - self._now(), _TICK))
                self._take(entry)
            await anyio.sleep(_TICK)
            self._finish()
            tasks.cancel_scope.cancel()

    def _take(self, entry: Entry) -> None:
        if isinstance(entry, Began):
            self._begin(self._tape.syncs[entry.sync])
        elif isinstance(entry, Wall):
            self._clock.set(entry.wall)
        elif isinstance(entry, Cached | Opened | Came | Over):
            self._server.take(entry)

    def _finish(self) -> None:
        for run in self.runs:
            recorded = run.recorded
            if recorded is not None and not run.has_ended and recorded.is_whole:
                self._differs(run, "result", f"ended with {recorded.result}, and has not ended")

    # -- the order of syncs -------------------------------------------------------------------------------------------

    def _begin(self, sync: RecordedSync) -> None:
        """Let the recorded sync begin."""
        began = sync.began
        name, key = began.controller, began.key
        controller = self._controllers.get(name)
        if controller is None:
            return  # it is not replayed
        self._ahead[name, key].popleft()
        line = self._lines[name]
        asked_at = began.at - self._tape.begin.at - began.waited
        if (
            not line.is_asked_for(key, asked_at)
            and began.event not in _BY_ITSELF
            and controller.history.running(key) is None
        ):
            text = f"was synced because {began.object} was {began.event}, and is not asked to be"
            self.differences.append(Difference(self._now(), name, key, began.sync, "order", text))
        if (due := controller.queue.due_in(key)) is not None:
            self._early[name, key] = self._now() + due + _TICK
        self._granted[name, key].append(sync)
        line.grant(key)
        if key not in line.waiting:
            controller.queue.add(key)
        controller.queue.look_again()

    def _added(self, name: str, key: str) -> None:
        """A key was added. If the recording has no sync of it, let it be synced all the same."""
        if self._granted[name, key]:  # its sync was put off, until a cache shows what was written
            self._grant(name, key)
            return
        history = self._controllers[name].history
        trigger = history.queued(key)
        now = self._now()
        ahead = self._ahead[name, key]
        next_at = ahead[0].began.at - self._tape.begin.at - ahead[0].began.waited if ahead else math.inf
        if trigger is not None and (
            trigger.event == "listed" or trigger.at - self._began <= self._early.get((name, key), -1.0)
        ):
            return
        if next_at > now + _PATIENCE and now + _PATIENCE < self._tape.seconds:
            self._loop.call_later(_PATIENCE, self._sync_anyway, name, key, now)

    def _sync_anyway(self, name: str, key: str, since: float) -> None:
        if self._lines[name].waiting.get(key) == since:
            self._grant(name, key)

    def _grant(self, name: str, key: str) -> None:
        self._lines[name].grant(key)
        self._controllers[name].queue.look_again()

    # -- a sync -------------------------------------------------------------------------------------------------------

    def _replayed(self, name: str, sync: Callable[[str], Awaitable[Any]]) -> Callable[[str], Awaitable[Any]]:
        async def replayed(key: str) -> Any:
            if self._warming_up:
                return None
            granted = self._granted[name, key]
            run = SyncRun(self._now(), name, key, granted.popleft() if granted else None)
            self.runs.append(run)
            if run.recorded is None:
                self._differs(run, "order", "is synced, and was not")
            token = _CURRENT.set(run)
            try:
                after = await sync(key)
            except Exception as error:
                run.error = f"{type(error).__name__}: {error}"
                self._compare(run, type(error).__name__, str(error), 0.0)
                raise
            finally:
                _CURRENT.reset(token)
            self._compare(run, "", "", _wanted(name, after))
            return after

        return replayed

    def _compare(self, run: SyncRun, error: str, text: str, after: float) -> None:
        """Compare a sync that has ended with the recorded one."""
        run.has_ended = True
        recorded = run.recorded
        if recorded is None or recorded.ended is None or not recorded.is_whole:
            return
        for exchange in recorded.requests:
            if exchange not in run._made:
                outcome = f" ({exchange.outcome})" if exchange.outcome else ""
                self._differs(run, "request", f"sent {exchange.text}{outcome}, and does not send it")
        ended, now = recorded.ended, result_of(error, text, after)
        same = ended.error == error and ended.text == text if error or ended.error else False
        if not (same or (not error and not ended.error and _are_near(ended.after, after))):
            self._differs(run, "result", f"ended with {recorded.result}, and ends with {now}")

    def _differs(self, run: SyncRun, kind: Kind, text: str) -> None:
        at = run.at if kind != "result" else self._now()
        self.differences.append(Difference(at, run.controller, run.key, run.number, kind, text))

    def _answer(self, run: SyncRun, method: str, path: str, params: Mapping[str, str], body: bytes) -> Exchange | None:
        """The recorded request that a request of a sync is like; None if there is none."""
        run.requests.append(f"{method} {path}")
        recorded = run.recorded
        body = self._redactor.cleaned(body, method, path)
        left = [it for it in recorded.requests if it not in run._made] if recorded is not None else []
        alike = [it for it in left if (it.asked.method, it.asked.path) == (method, path)]
        if not alike:
            # A sync without an end may have sent it after that.
            if recorded is not None and recorded.is_whole and method != "GET":
                self._differs(run, "request", f"sends {method} {path}, and did not send it")
            return None
        by_body = [(body_differences(it.asked.body, body), it.asked.params != params, it) for it in alike]
        others, _, found = min(by_body, key=lambda one: (len(one[0]), one[1]))
        for text in others:
            self._differs(run, "body", f"{method} {path}: {text}")
        run._made.add(found)
        before = next((it for it in left if it.over and it.over.at < found.asked.at and it is not found), None)
        if before is not None and not others:
            self._differs(run, "order", f"sends {method} {path} before {before.text}, which was sent first")
        return found


def _wanted(name: str, after: Any) -> float:
    try:
        found = getattr(after, "seconds", after) if not isinstance(after, timedelta) else after
        return seconds_of(name, found) or 0.0
    except TypeError:
        return 0.0


def _are_near(recorded: float, now: float) -> bool:
    return abs(recorded - now) <= max(_NEAR, 0.05 * recorded) if recorded and now else recorded == now
