"""TokenBucket: so many at once, then so many a second.

The bucket starts full. Each reservation takes a token; one that finds none is told how long until its token will have
come back, and the next one waits behind it. The arithmetic, in nanoseconds and cut off rather than rounded, is that of
golang.org/x/time/rate, so delays are client-go's to the nanosecond.
"""

from __future__ import annotations

import math

from kinformer.clock import Clock, RealClock

__all__ = ("NEVER", "TokenBucket")

_SECOND = 1_000_000_000
_LONGEST = 2**63 - 1

#: The wait for a token that never comes, in seconds: some 292 years, the longest that Go can say.
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
        """Those in the bucket now; less than none when some are promised that have not come back yet."""
        return self._tokens_at(self._now())

    def reserve(self) -> float:
        """
        Take one token, now or from those to come.

        :return: the seconds until the token is there: 0.0 if it is, :data:`NEVER` if the bucket cannot hold one
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
        """Take one token if it is there; if it is not, leave the bucket as it is."""
        if self._qps == math.inf:
            return True
        now = self._now()
        tokens = self._tokens_at(now) - 1
        # One that is due within the nanosecond is there.
        if self._burst < 1 or (tokens < 0 and self._time_for(-tokens) > 0):
            return False
        self._tokens = tokens
        self._last = now
        return True

    def _now(self) -> int:
        return round(self._clock.monotonic() * _SECOND)

    def _tokens_at(self, now: int) -> float:
        if self._qps <= 0:
            return self._tokens
        seconds, rest = divmod(now - self._last, _SECOND)
        return min(self._tokens + (seconds + rest / _SECOND) * self._qps, float(self._burst))

    def _time_for(self, tokens: float) -> int:
        return int(min(tokens / self._qps * _SECOND, _LONGEST)) if self._qps > 0 else _LONGEST
