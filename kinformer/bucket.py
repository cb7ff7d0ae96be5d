"""TokenBucket: allows a burst at once, and then a rate per second.

The bucket starts full. Each reservation takes a token. If there is none, the caller gets the time until its token has
come back, and the next caller waits longer. The arithmetic is that of golang.org/x/time/rate: in nanoseconds, truncated
rather than rounded. So delays equal client-go's to the nanosecond.
"""

from __future__ import annotations

import math

from kinformer.clock import Clock, RealClock

__all__ = ("NEVER", "TokenBucket")

_SECOND = 1_000_000_000
_LONGEST = 2**63 - 1

#: The wait in seconds for a token that never comes: about 292 years, the longest duration in Go.
NEVER = _LONGEST / _SECOND


class TokenBucket:
    """
    :param qps: tokens that come back each second; :data:`math.inf` for no limit, 0 for none after the burst
    :param burst: tokens in the full bucket
    """

    __slots__ = ("_burst", "_clock", "_last", "_qps", "_tokens")

    def __init__(self, qps: float, burst: int, clock: Clock | None = None) -> None:
        self._qps = qps
        self._burst = burst
        self._clock: Clock = clock if clock is not None else RealClock()
        self._tokens = float(burst)
        self._last = self._now()

    @property
    def tokens(self) -> float:
        """Tokens in the bucket now. Negative if tokens were reserved that have not come back yet."""
        return self._tokens_at(self._now())

    def reserve(self) -> float:
        """
        Take one token, from the bucket or from those that will come back.

        :return: seconds until the token is there: 0.0 if it is there now, :data:`NEVER` if the bucket can hold none
        """
        if self._qps == math.inf:
            return 0.0
        if self._burst < 1:
            return NEVER
        now = self._now()
        self._tokens = tokens = self._tokens_at(now) - 1
        self._last = now
        return self._time_for(-tokens) / _SECOND if tokens < 0 else 0.0

    def try_take(self) -> bool:
        """Take one token if there is one. Otherwise the bucket is not changed."""
        if self._qps == math.inf:
            return True
        now = self._now()
        tokens = self._tokens_at(now) - 1
        # A token that comes within the nanosecond counts as there.
        if self._burst < 1 or (tokens < 0 and self._time_for(-tokens) > 0):
            return False
        self._tokens = tokens
        self._last = now
        return True

    def give_back(self) -> None:
        """Put a token back that was reserved and is not used."""
        self._tokens += 1

    def _now(self) -> int:
        return round(self._clock.monotonic() * _SECOND)

    def _tokens_at(self, now: int) -> float:
        if self._qps <= 0:
            return self._tokens
        seconds, rest = divmod(now - self._last, _SECOND)
        return min(self._tokens + (seconds + rest / _SECOND) * self._qps, float(self._burst))

    def _time_for(self, tokens: float) -> int:
        return int(min(tokens / self._qps * _SECOND, _LONGEST)) if self._qps > 0 else _LONGEST
