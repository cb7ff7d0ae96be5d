"""The watches of processes that may be disturbed: events are hidden, late, repeated or out of order.

A :class:`Sight` is what one process has seen of the storage's changes, over all its watches. Each of its open watches
is a :class:`DisturbedWatch`, which asks the :class:`~kinformer.simulation.faults.Injector` at each event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol

import anyio

from kinformer.envtest.handlers.call import Call
from kinformer.envtest.handlers.watching import Terms, Watch, WatchSet
from kinformer.envtest.operations import Operations
from kinformer.envtest.storage import Change
from kinformer.simulation.faults import Injector
from kinformer.simulation.plan import Cut, Delay, Deviation, Hide, Postpone, Repeat, Silent, Stale

__all__ = ("DisturbedWatch", "Sight", "WatchedWorld", "WatchingLife")

#: How often it is tried again to send a postponed event, once a second, while no watch is open.
_TRIES: Final = 30


class WatchingLife(Protocol):
    """The part of one life of a process that its watches need."""

    is_cut_off: bool


class WatchedWorld(Protocol):
    """The part of :class:`~kinformer.simulation.stage.Stage` that watches need."""

    injector: Injector

    @property
    def now(self) -> float:
        """The seconds since the run began."""

    def lasts(self, seconds: float) -> float:
        """How long a fault lasts, for the seconds of its deviation."""

    def later(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call a function after some seconds. The world does not settle before that."""

    def tell_fault(self, actor: str, deviation: Deviation, name: str = "", version: int | str = 0) -> None:
        """Append a record of a fault to the history."""

    def sight_of(self, actor: str) -> Sight:
        """What the actor's watches do not show."""

    def version_behind(self, changes: int) -> int:
        """The version after which there were `changes` changes."""


class Sight:
    """
    What a process has seen of the storage's changes, over all its lives and watches.

    :ivar seen: the numbers of the changes that were counted as events
    :ivar hidden: the numbers of the changes that are not sent to it
    :ivar gaps: for each object of which nothing was sent after a hidden change, the number of the last hidden change
    :ivar owed: for each resource whose watch has to end with 410 and did not yet, the number of the last hidden change
    :ivar silent_until: for each resource, the time until which its watches send nothing
    :ivar stale: for each resource whose next list is to be old, the version of this list
    :ivar lags_for: nothing is sent until the user has done so many writes; zero if it does not lag
    :ivar watches: its open watches
    """

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.hidden: set[int] = set()
        self.gaps: dict[str, int] = {}
        self.owed: dict[str, int] = {}
        self.silent_until: dict[str, float] = {}
        self.stale: dict[str, int] = {}
        self.lags_for = 0
        self._lags = 0
        #: A dict keeps their order, so that a run is the same each time.
        self.watches: dict[DisturbedWatch, None] = {}

    def watches_of(self, resource: str) -> list[DisturbedWatch]:
        """Its open watches of a resource."""
        return [watch for watch in self.watches if watch.name == resource]

    def note_user_write(self) -> None:
        """Note that the user has written something, which may end the lag."""
        if self.lags_for == 1:
            self._end_lag()
        elif self.lags_for:
            self.lags_for -= 1

    def begin_lag(self, writes: int) -> Callable[[], None]:
        """Send nothing until the user has done so many writes. The result is a function that ends this lag before."""
        self.lags_for = writes
        self._lags += 1
        number = self._lags

        def end() -> None:
            if number == self._lags:
                self._end_lag()

        return end

    def _end_lag(self) -> None:
        """Make the process list again, if it lags."""
        if self.lags_for:
            self.lags_for = 0
            for watch in list(self.watches):
                watch.expire()


class DisturbedWatch(Watch):
    """
    A watch with faults: an event may be hidden or late, or the connection may break at it.

    :param world: has the injector and the history
    :param life: the life of the process that watches
    :param actor: the name of this process
    :param cut: how its connection is going to break; None if it does not
    """

    def __init__(
        self,
        operations: Operations,
        call: Call,
        terms: Terms,
        watches: WatchSet,
        world: WatchedWorld,
        life: WatchingLife,
        *,
        actor: str,
        cut: Cut | None,
    ) -> None:
        super().__init__(operations, call, terms, watches)
        self._world = world
        self._life = life
        self._actor = actor
        self._sight = world.sight_of(self._actor)
        self.name = str(call.target.resource.storage)
        self._cut = cut
        self._sent = 0
        self._late_until = 0.0
        self._is_gone = False
        self._begins = terms.initial

    async def chunks(self) -> AsyncIterator[bytes]:
        self._sight.watches[self] = None
        if (owed := self._sight.owed.get(self.name)) is not None:
            # The watch before was replaced before it sent 410. This one sends the hidden change itself, or 410.
            if self._begins or self._start < owed:
                del self._sight.owed[self.name]
            else:
                self.expire()
        try:
            async for chunk in super().chunks():
                await self._wait()
                if self._begins and self._cut is not None and not self._cut.event:
                    # The objects at the beginning of a streaming list are not counted as events.
                    self.is_cut, self.last_words = True, chunk[: len(chunk) // 2]
                    return
                self._begins = False
                yield chunk
        finally:
            del self._sight.watches[self]
        if self._is_gone:
            self._sight.owed.pop(self.name, None)
            yield self._too_old(self._newest)

    async def _wait(self) -> None:
        now = self._world.now
        until = max(self._late_until, self._sight.silent_until.get(self.name, 0.0))
        if until > now:
            await anyio.sleep(until - now)
            await self._wait()

    def _lines(self, changes: list[Change]) -> bytes:
        return super()._lines([change for change in changes if not self._ended and self._is_shown(change)])

    def _is_shown(self, change: Change) -> bool:
        if self._life.is_cut_off or not self._is_of_interest(change):
            return False
        name, sight = f"{self.name}/{change.now.key}", self._sight
        if change.number not in sight.seen:
            sight.seen.add(change.number)
            for deviation in self._world.injector.event(self._actor, name):
                self._world.tell_fault(self._actor, deviation, name, change.number)
                self._disturb(deviation, name, change)
        if change.number in sight.hidden or sight.lags_for or self._ended:
            return False
        sight.gaps.pop(name, None)
        if self._cut is not None and self._sent >= self._cut.event:
            line = super()._lines([change])
            self.is_cut, self.last_words = True, line[: len(line) // 2]
            self.end()
            return False
        self._sent += 1
        return True

    def _is_of_interest(self, change: Change) -> bool:
        return change.number > self._start and self._is_selected(change)

    def _is_selected(self, change: Change) -> bool:
        if self._prefix and not change.now.key.startswith(self._prefix):
            return False
        return self._selection.is_everything or bool(self._selected(change))

    def _disturb(self, deviation: Deviation, name: str, change: Change) -> None:
        world, sight = self._world, self._sight
        match deviation:
            case Hide(seconds=seconds):
                sight.hidden.add(change.number)
                sight.gaps[name] = change.number
                world.later(seconds, lambda: self._close_gap(name, change.number))
            case Delay(seconds=seconds):
                self._late_until = max(self._late_until, world.now + world.lasts(seconds))
                world.later(seconds, lambda: None)
            case Silent(seconds=seconds):
                until = max(sight.silent_until.get(self.name, 0.0), world.now + world.lasts(seconds))
                sight.silent_until[self.name] = until
                world.later(seconds, lambda: None)
            case Repeat(seconds=seconds):
                world.later(seconds, lambda: self._send_out_of_turn(change, is_postponed=False))
            case Postpone(seconds=seconds):
                sight.hidden.add(change.number)
                world.later(seconds, lambda: self._send_out_of_turn(change, is_postponed=True))
            case Stale(version=version):
                sight.stale[self.name] = world.version_behind(-version)
                for watch in sight.watches_of(self.name):
                    watch.expire()

    def _close_gap(self, name: str, number: int) -> None:
        """Make the process list again, if no event of an object was sent after the hidden one."""
        if self._sight.gaps.get(name) == number:
            del self._sight.gaps[name]
            self._sight.hidden.discard(number)
            self._sight.owed[self.name] = number
            for watch in self._sight.watches_of(self.name):
                watch.expire()

    def _send_out_of_turn(self, change: Change, *, is_postponed: bool, tries: int = _TRIES) -> None:
        """
        Send an event once more, or at last, on the watches of the process.

        :param is_postponed: whether it was not sent in its turn. Then a bookmark comes first, and it is tried again
            later if no watch is open
        """
        watches = [watch for watch in self._sight.watches_of(self.name) if watch._is_selected(change)]
        for watch in watches:
            watch._insert(change, after_bookmark=is_postponed)
        if is_postponed and (watches or not tries):
            self._sight.hidden.discard(change.number)
        elif is_postponed:
            self._world.later(1.0, lambda: self._send_out_of_turn(change, is_postponed=True, tries=tries - 1))

    def _insert(self, change: Change, *, after_bookmark: bool) -> None:
        bookmark = self._bookmark(self._newest) if after_bookmark and self._terms.bookmarks else b""
        self.insert(bookmark + super()._lines([change]))

    def expire(self) -> None:
        """End the watch with 410, so that the process has to list again."""
        self._is_gone = True
        self.end()
