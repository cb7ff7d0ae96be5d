"""Faults: what goes wrong between a client and its server, on demand.

For tests of anything that must live through it: requests that are refused or late, watches that end, fall silent or are
cut in the middle of a line, history that is compacted, reads that are behind. Each is a method of :class:`Faults`, for
a test that says exactly what happens when; :meth:`Faults.run` makes them happen by a seeded schedule.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from kinformer.clock import Clock
from kinformer.envtest import status

if TYPE_CHECKING:
    from kinformer.envtest.handlers.call import Call
    from kinformer.envtest.handlers.watching import WatchSet
    from kinformer.envtest.storage import Storage

__all__ = ("EVERY_FAULT", "Faults")

#: Which requests a fault is for.
Matching = Callable[["Call"], bool]

#: What a schedule can bring about.
EVERY_FAULT = (
    *("refuse_429", "refuse_500", "refuse_503", "delay", "close_watches", "cut_watches", "cut_lines"),
    *("stall_watches", "compact", "forget_bookmarks", "lag"),
)


def everything(call: Call) -> bool:
    return True


@dataclass(eq=False, slots=True)
class _Rule:
    """Something that happens to the next so many requests of a kind."""

    act: Callable[[], status.StatusError | float]
    left: int
    matching: Matching


@dataclass(eq=False)
class Faults:
    """
    The faults of one server.

    :param behind: reads that take any version are answered as of this one; None for the present
    """

    storage: Storage
    watches: WatchSet
    clock: Clock
    behind: int | None = None
    _rules: list[_Rule] = field(default_factory=list)
    _held: anyio.Event | None = None

    # -- requests -----------------------------------------------------------------------------------------------------

    def refuse(self, code: int, *, retry_after: int = 0, times: int = 1, matching: Matching = everything) -> None:
        """Answer the next requests with an error: 429, 500, 503, or any other code."""
        self._rules.append(_Rule(lambda: _refusal(code, retry_after), times, matching))

    def delay(self, seconds: float, *, times: int = 1, matching: Matching = everything) -> None:
        """Take so long for the next requests before anything is done for them."""
        self._rules.append(_Rule(lambda: seconds, times, matching))

    def hold_requests(self) -> None:
        """Take requests in and answer none, until :meth:`release_requests`."""
        self._held = self._held or anyio.Event()

    def release_requests(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.set()

    async def before(self, call: Call) -> None:
        """
        What a request has to go through first.

        :raises StatusError: if it is to be refused
        """
        if self._held is not None:
            await self._held.wait()
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
        """Whether requests come through unhindered: looked at once a request."""
        return not self._rules and self._held is None

    # -- watches ------------------------------------------------------------------------------------------------------

    def close_watches(self) -> None:
        """End every open watch in good order, as a server does whose time-out is over."""
        self.watches.end_all()

    def cut_watches(self, *, in_a_line: bool = False) -> None:
        """
        Close the connections of every open watch.

        :param in_a_line: after the beginning of an event
        """
        for watch in list(self.watches.open):
            watch.cut(in_a_line)

    def cut_streams(self) -> None:
        """Cut the connections of all logs that are followed, commands that run, and ports that are forwarded."""
        self.watches.streams.cut_all()

    def stall_watches(self) -> None:
        """Keep every watch open and send nothing on it: a connection whose other end is gone looks like this."""
        self.watches.stalled = True

    def resume_watches(self) -> None:
        self.watches.stalled = False
        for watch in self.watches.open:
            watch.nudge()

    def forget_bookmarks(self, forget: bool = True) -> None:
        """Send no more bookmarks but those that end a streaming list."""
        self.watches.bookmarks = not forget

    # -- versions -----------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Drop the history up to now: continue tokens and watches from before are gone."""
        self.storage.compact()

    def lag(self) -> None:
        """
        Answer lists and gets that take any version (``resourceVersion=0``) as of now, whatever happens from now on:
        they come from a replica that does not keep up.
        """
        self.behind = self.storage.version

    def catch_up(self) -> None:
        self.behind = None

    # -- at random ----------------------------------------------------------------------------------------------------

    async def run(self, seed: int, *, every: float = 5.0, kinds: Sequence[str] = EVERY_FAULT) -> None:
        """
        Bring about one fault after the other until cancelled; what lasts is over before the next one.

        :param seed: the same seed gives the same faults at the same times
        :param every: seconds between two of them, on average
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
        """Be a healthy server again."""
        self._rules.clear()
        self.release_requests()
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
