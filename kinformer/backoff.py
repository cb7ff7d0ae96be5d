"""Backoff: computes how long to wait before the next try of something that has failed.

Reflectors, broken watches and clients that must come back later ask for the next wait after each failure. The waits are
seconds, and grow by a factor up to a maximum. Each has a random part on top, so that a thousand clients that lost one
server do not return to it at the same time. A backoff does not sleep; its caller does, on the same clock.

A backoff that was not used for a while starts again. It need not be told of a success. So it also fits calls that end
only when they fail, like a watch.
"""

from __future__ import annotations

import random as _random
from collections.abc import Callable
from dataclasses import dataclass, field

from kinformer.clock import Clock, RealClock

__all__ = ("Backoff", "jittered")


def jittered(seconds: float, jitter: float, random: Callable[[], float] = _random.random) -> float:
    """
    Draw a time evenly between `seconds` and `seconds * (1 + jitter)`.

    :param jitter: the largest share to add: 1.0 for up to twice the time; 0 or less adds nothing
    :param random: draws from [0, 1)
    """
    return seconds + random() * jitter * seconds if jitter > 0 else seconds


@dataclass(eq=False, slots=True)
class Backoff:
    """
    Exponential backoff with jitter, which starts again by itself. The defaults are those of client-go's Reflector.

    Only the wait without jitter grows, and only that wait is limited by `maximum`. So a wait with jitter may be as long
    as ``maximum * (1 + jitter)``. The first wait is `initial`, even if that is more than `maximum`.

    :param initial: seconds of the first wait
    :param maximum: seconds up to which the wait grows
    :param factor: a wait is multiplied by this to get the next one; 0 leaves it as it is
    :param jitter: the largest random share that is added to a wait
    :param reset_after: start again if more than this many seconds passed since the last wait was asked for (client-go's
        ExponentialBackoffManager); None: never for this reason
    :param reset_every: start again if more than this many seconds passed since the last start, however often a wait was
        asked for (client-go's DelayWithReset, which the Reflector of 1.36 uses); None: never for this reason
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
        """The seconds to wait now. The next wait will be longer."""
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
        """Start again: the next wait is the initial one."""
        self._current = self.initial
        self._started = self.clock.monotonic()
