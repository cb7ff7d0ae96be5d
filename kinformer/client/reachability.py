"""Reachability: whether a client's server can be reached. All users of the client wait for it together.

Each informer of a client notices by itself that its server is gone. With a backoff of its own, each would wait longer
and longer. So they wait here together. While the server is gone, one of the waiting tasks probes it every few seconds.
When the first request of any user is answered, all waits end, spread over a second, so that a thousand informers do not
list at once. The log has one line when the server is gone, and one when it is back.

A server that comes and goes is probed less often each time, because it may be our own lists that overload it.
"""

from __future__ import annotations

import random as _random
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

import anyio

from kinformer.clock import Clock, move_on_after
from kinformer.logs import get_logger

__all__ = ("OutageOptions", "Reachability")

log = get_logger(__name__)

#: Seconds: a server that is gone again sooner than this counts as unsteady.
_UNSTEADY: float = 30.0
#: The longest interval in seconds between two probes of an unsteady server.
_SELDOM: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageOptions:
    """
    What to do while a server cannot be reached.

    :param probe_interval: seconds between two probes of the server. With 0 there are no probes: a wait ends at its
        time, or when any request is answered.
    :param return_spread: seconds over which the ends of the waits are spread once the server is back
    """

    probe_interval: float = 3.0
    return_spread: float = 1.0


class Reachability:
    """
    Whether one server can be reached.

    :param server: the server's URL, for the log
    :param probe: sends a request to the server; it may raise any exception if the server is not there
    """

    def __init__(
        self,
        server: str,
        probe: Callable[[], Awaitable[object]],
        clock: Clock,
        options: OutageOptions | None = None,
        random: Callable[[], float] = _random.random,
    ):
        self._server = server
        self._probe = probe
        self.clock = clock
        self._options = options or OutageOptions()
        self._random = random
        self._interval = self._options.probe_interval
        self._error: Exception | None = None
        self._since = 0.0
        self._returned: float | None = None
        self._told = False
        self._probing = False
        self._next_probe = 0.0
        self._changed = anyio.Event()
        self._when_back: dict[Hashable, Callable[[], object]] = {}

    def __repr__(self) -> str:
        return f"<Reachability of {self._server}: {'up' if self.is_up else 'down'}>"

    @property
    def is_up(self) -> bool:
        """Whether the last request reached the server. True before the first one."""
        return self._error is None

    def lost(self, error: Exception) -> None:
        """Note that a connection to the server failed."""
        if self._error is not None:
            return
        now = self.clock.monotonic()
        unsteady = self._returned is not None and now - self._returned < _UNSTEADY
        base = self._options.probe_interval
        self._interval = min(self._interval * 2, max(_SELDOM, base)) if unsteady else base
        self._error = error
        self._since = now
        self._told = False
        self._plan_probe()

    def found(self) -> None:
        """Note that the server has answered a request, with success or not."""
        if self._error is None:
            return
        now = self.clock.monotonic()
        self._error = None
        self._returned = now
        if self._told:
            log.info("server_reachable_again", server=self._server, after_seconds=round(now - self._since, 1))
        waiting, self._changed = self._changed, anyio.Event()
        waiting.set()
        callbacks, self._when_back = self._when_back, {}
        for callback in callbacks.values():
            self.clock.call_later(self._random() * self._options.return_spread, callback)

    def call_when_back(self, name: Hashable, callback: Callable[[], object]) -> None:
        """
        Call `callback` once the server is back, spread over time like the waits. Do nothing if the server is there.

        :param name: identifies the call: a second one of the same name replaces the first
        """
        if not self.is_up:
            self._when_back[name] = callback

    async def wait(self, seconds: float) -> bool:
        """
        Wait before the next try. If the server is gone, the wait ends early when it is back.

        :return: whether the wait ended because the server is back
        """
        if self._error is None:
            await self.clock.sleep(seconds)
            return False
        if not self._told:
            self._told = True
            log.warning(
                "server_unreachable",
                server=self._server,
                error=str(self._error),
                next_try_in_seconds=round(self._first_try_in(seconds), 1),
            )
        end = self.clock.monotonic() + seconds
        while self._error is not None:
            left = end - self.clock.monotonic()
            if left <= 0:
                return False
            if await self._slept(min(left, self._until_probe()), self._changed):
                await self._ask()
        await self.clock.sleep(self._random() * self._options.return_spread)
        return True

    async def _slept(self, seconds: float, changed: anyio.Event) -> bool:
        """Sleep until the time is over or the server is back. Return whether the whole time was slept."""
        with move_on_after(self.clock, seconds):
            await changed.wait()
            return False
        return True

    async def _ask(self) -> None:
        """Probe the server, if it is time and no other task does."""
        if self._probing or not self._options.probe_interval or self.clock.monotonic() < self._next_probe:
            return
        self._probing = True
        try:
            with move_on_after(self.clock, self._interval):
                # A machine that is gone does not refuse a connection; the attempt just takes long.
                await self._probe()  # the response itself calls found()
        except Exception as error:
            log.debug("server_probed", server=self._server, error=str(error))
        finally:
            self._probing = False
            self._plan_probe()

    def _plan_probe(self) -> None:
        # The time has a random part, because a thousand processes may have lost the server at the same time.
        self._next_probe = self.clock.monotonic() + self._interval * (0.5 + self._random() / 2)

    def _until_probe(self) -> float:
        if not self._options.probe_interval:
            return float("inf")
        if self._probing:
            return self._interval
        return max(self._next_probe - self.clock.monotonic(), 0.0)

    def _first_try_in(self, seconds: float) -> float:
        return min(seconds, self._until_probe())
