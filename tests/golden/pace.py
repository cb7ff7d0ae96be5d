"""Paces: how a scenario waits until a state has settled, in real time or on a clock that is turned.

Where server and controllers are another's, nothing but time tells: the state is looked at again and again. Where all of
them share the event loop and a :class:`~kinformer.clock.FakeClock`, the clock is turned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import anyio

from kinformer.clock import FakeClock
from tests.turning import quiet, turn

__all__ = ("NotSettled", "Pace", "RealPace", "TurnedPace", "scenario_clock")

#: Gives something that is another when the state is.
Look = Callable[[], Awaitable[object]]


class NotSettled(Exception):
    """A state has changed and changed."""


class Pace(Protocol):
    def now(self) -> datetime:
        """The time that controllers see."""

    async def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""

    async def settle(self, seconds: float, look: Look, is_busy: Callable[[], bool]) -> None:
        """
        Return once nothing has changed for so long.

        :param is_busy: whether something is known to be still to come, however still it looks
        :raises NotSettled: if that takes too long
        """


@dataclass(frozen=True, slots=True)
class RealPace:
    """
    :param patience: by what to multiply the time that a state has to stand still; less than 1 for a server that is
        known to be quick
    :param between: seconds between two looks
    :param timeout: seconds after which a state that changes is given up
    """

    patience: float = 1.0
    between: float = 0.1
    timeout: float = 60.0

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def settle(self, seconds: float, look: Look, is_busy: Callable[[], bool]) -> None:
        last: object = None
        since = began = anyio.current_time()
        while (now := anyio.current_time()) - since < seconds * self.patience:
            if now - began > self.timeout:
                raise NotSettled(f"the state did not settle within {self.timeout:.0f} s")
            if last != (last := await look()) or is_busy():
                since = anyio.current_time()
            await anyio.sleep(self.between)


@dataclass(frozen=True, slots=True)
class TurnedPace:
    """
    :param clock: the time of everybody in this loop
    :param timeout: seconds of the clock after which a state that changes is given up
    """

    clock: FakeClock
    timeout: float = 600.0

    def now(self) -> datetime:
        return self.clock.now()

    async def sleep(self, seconds: float) -> None:
        await turn(self.clock, seconds)

    async def settle(self, seconds: float, look: Look, is_busy: Callable[[], bool]) -> None:
        began = self.clock.monotonic()
        await quiet()
        last = await look()
        while self.clock.monotonic() - began < self.timeout:
            await turn(self.clock, seconds)
            if last == (last := await look()) and not is_busy():
                return
        raise NotSettled(f"the state did not settle within {self.timeout:.0f} s")


def scenario_clock() -> FakeClock:
    """A clock that is past every time that a scenario mentions: pods of one have been ready since the new year."""
    return FakeClock(datetime(2026, 7, 1, tzinfo=UTC))
