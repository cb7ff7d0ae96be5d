"""Backoff: how long to wait before the next try of what just failed.

Reflectors, watches that break and clients that are told to come back ask for the next wait after each failure:
seconds come out, growing by a factor up to a maximum, each with a random share on top so that a thousand clients
that lost one server do not return to it together. Nothing here sleeps; who asked does, on the same clock.

A backoff that nobody asked for a while starts over. Nobody has to tell it of a success, so it works around calls that
only end when they fail, as a watch does.
"""

from __future__ import annotations

import random as _random
from collections.abc import Callable
from dataclasses import dataclass, field

from kinformer.clock import Clock, RealClock

__all__ = ("Backoff", "jittered")


def jittered(seconds: float, jitter: float, random: Callable[[], float] = _random.random) -> float:
    """
    A time drawn evenly from `seconds` to `seconds` and the share `jitter` of it more.

    :param jitter: the largest share to add: 1.0 for up to twice the time; none or less adds nothing
    :param random: draws from [0, 1)
    """
    return seconds + random() * jitter * seconds if jitter > 0 else seconds


@dataclass(eq=False, slots=True)
class Backoff:
    """
    Exponential backoff with jitter that starts over by itself, by default as client-go's Reflector has it.

    The jitter is not compounded: what grows is the wait without it, and `maximum` bounds that one too, so that a wait
    may be as long as ``maximum * (1 + jitter)``. The first wait is `initial` even if that is more than `maximum`.

    :param initial: seconds of the first wait
    :param maximum: seconds up to which it grows
    :param factor: what a wait is multiplied with for the next one; 0 leaves it as it is
    :param jitter: the largest share that chance adds to a wait
    :param reset_after: start over when more than so many seconds passed since the wait before was asked for (as
        client-go's ExponentialBackoffManager); None: never for this reason
    :param reset_every: start over when more than so many seconds passed since it last did, however often it was asked
        in between (client-go's DelayWithReset, which the Reflector of 1.36 uses); None: never for this reason
    :param random: draws from [0, 1)
    """

    initial: float = 0.8
    maximum: float = 30.0
    factor: float = 2.0
    jitter: float = 1.0
    reset_after: float | None = 120.0
    clock: Clock = field(default_factory=RealClock)
    random: Callable[[], float] = _random.random
    reset_every: float | None = field(default=None, kw_only=True)
    _current: float = field(init=False)
    _asked: float = field(init=False)
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._current = self.initial
        self._asked = self._started = self.clock.monotonic()

    def next(self) -> float:
        """The seconds to wait now; the wait after it will be longer."""
        now = self.clock.monotonic()
        if (self.reset_after is not None and now - self._asked > self.reset_after) or (
            self.reset_every is not None and now - self._started > self.reset_every
        ):
            self._current = self.initial
            self._started = now
        self._asked = now

        current = self._current
        if self.factor:
            self._current = min(current * self.factor, self.maximum)
        return jittered(current, self.jitter, self.random)

    def reset(self) -> None:
        """Start over: the next wait is the initial one again."""
        self._current = self.initial
        self._started = self.clock.monotonic()
