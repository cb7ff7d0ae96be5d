"""Faults: failures between a client and its server, on demand.

They are for tests of code that must survive them: requests that are refused or late, watches that end, fall silent or
are cut in the middle of a line, history that is compacted, and reads of old versions. Each is a method of
:class:`Faults`, for tests that decide what happens when. :meth:`Faults.run` makes them happen by a random schedule with
a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kinformer.clock import Clock
from kinformer.envtest import status

if TYPE_CHECKING:
    from kinformer.envtest.handlers.call import Call
    from kinformer.envtest.handlers.watching import WatchSet
    from kinformer.envtest.storage import Storage

__all__ = ("EVERY_FAULT", "Faults")

#: Returns whether a fault affects a request.
Matching = Callable[["Call"], bool]

#: The faults that a schedule can use.
EVERY_FAULT = (
    *("refuse_429", "refuse_500", "refuse_503", "delay", "close_watches", "cut_watches", "cut_lines"),
    *("stall_watches", "compact", "forget_bookmarks", "lag"),
)


@dataclass(eq=False, slots=True)
class _Rule:
    """A fault that happens to a number of following requests."""

    act: Callable[[], status.StatusError | float]
    left: int
    matching: Matching


@dataclass(eq=False)
class Faults:
    """
    The faults of one server.

    :param behind: the version with which reads that accept any version are answered; None for the present one
    """

    storage: Storage
    watches: WatchSet
    clock: Clock
    behind: int | None = None
    _rules: list[_Rule] = field(default_factory=list)

    # -- requests -----------------------------------------------------------------------------------------------------

    def refuse(self, code: int, *, retry_after: int = 0, times: int = 1, matching: Matching = lambda _: True) -> None:
        """Answer the following requests with an error: 429, 500, 503, or any other code."""
        self._rules.append(_Rule(lambda: _refusal(code, retry_after), times, matching))

    def delay(self, seconds: float, *, times: int = 1, matching: Matching = lambda _: True) -> None:
        """Wait this many seconds before each of the following requests is processed."""
        self._rules.append(_Rule(lambda: seconds, times, matching))

    async def before(self, call: Call) -> None:
        """
        Apply the faults to a request, before it is processed.

        :raises StatusError: if a fault refuses it
        """
        for rule in self._rules:
            if rule.matching(call):
                rule.left -= 1
                if rule.left <= 0:
                    self._rules.remove(rule)
                outcome = rule.act()
                if isinstance(outcome, status.StatusError):
                    raise outcome
                await self.clock.sleep(outcome)
                return

    @property
    def is_quiet(self) -> bool:
        """Whether no fault affects requests. It is read once a request."""
        return not self._rules

    # -- watches ------------------------------------------------------------------------------------------------------

    def close_watches(self) -> None:
        """End every open watch in order, as a server does at a watch's timeout."""
        self.watches.end_all()

    def cut_watches(self, *, in_a_line: bool = False) -> None:
        """
        Close the connections of every open watch.

        :param in_a_line: whether to cut in the middle of an event
        """
        for watch in list(self.watches.open):
            watch.cut(in_a_line)

    def cut_streams(self) -> None:
        """Cut the connections of all followed logs, running commands, and forwarded ports."""
        self.watches.streams.cut_all()

    def stall_watches(self, *, later: bool = True) -> None:
        """
        Keep every watch open and send nothing on it, as if the other end of the connection were gone.

        :param later: whether watches that are opened later are silent too. If not, a client that notices the silence
            can open a new watch, which works
        """
        self.watches.stalled = later
        for watch in self.watches.open:
            watch.stalled = True

    def resume_watches(self) -> None:
        self.watches.stalled = False
        for watch in self.watches.open:
            watch.stalled = False
            watch.nudge()

    def forget_bookmarks(self, forget: bool = True) -> None:
        """Send no bookmarks any more, except those that end a streaming list."""
        self.watches.bookmarks = not forget

    # -- versions -----------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Drop the history up to now. Older continue tokens and watches are then refused."""
        self.storage.compact()

    def lag(self) -> None:
        """
        Answer lists and gets that accept any version (``resourceVersion=0``) with the present state from now on.

        Later changes do not appear in them, as with a replica that does not keep up.
        """
        self.behind = self.storage.version

    def catch_up(self) -> None:
        self.behind = None

    # -- at random ----------------------------------------------------------------------------------------------------

    async def run(self, seed: int, *, every: float = 5.0, kinds: Sequence[str] = EVERY_FAULT) -> None:
        """
        Cause one fault after the other until cancelled. Each one is over before the next.

        :param seed: the same seed gives the same faults at the same times
        :param every: seconds between two faults, on average
        :param kinds: which of :data:`EVERY_FAULT`
        """
        rng = random.Random(seed)
        try:
            while True:
                await self.clock.sleep(rng.uniform(0.5, 1.5) * every)
                self.end_all()
                self._happen(rng.choice(kinds), rng)
        finally:
            self.end_all()

    def end_all(self) -> None:
        """End all faults."""
        self._rules.clear()
        self.resume_watches()
        self.forget_bookmarks(False)
        self.catch_up()

    def _happen(self, kind: str, rng: random.Random) -> None:
        times = rng.randint(1, 5)
        match kind.rpartition("_"):
            case ("refuse", _, code):
                self.refuse(int(code), retry_after=1 if code == "429" else 0, times=times)
            case _ if kind == "delay":
                self.delay(rng.uniform(0.01, 1.0), times=times)
            case _ if kind == "cut_lines":
                self.cut_watches(in_a_line=True)
            case _ if kind in EVERY_FAULT:
                getattr(self, kind)()
            case _:
                raise ValueError(f"no such fault: {kind!r} (there are {', '.join(EVERY_FAULT)})")


def _refusal(code: int, retry_after: int) -> status.StatusError:
    if code == 429:
        return status.too_many_requests("too many requests, please try again later", max(retry_after, 1))
    reason = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout", 403: "Forbidden"}.get(code, "")
    details = {"retryAfterSeconds": retry_after} if retry_after else {}
    return status.StatusError(code, reason, f"injected fault: {code}", details)
