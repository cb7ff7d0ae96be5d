"""Rate limiters: decide how long an item must wait before it is tried again.

Parameters and results are seconds, as floats. The computation uses whole nanoseconds, like Go's durations. So each
result equals client-go's to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from kinformer.arguments import want_count, want_limiter, want_number, want_seconds
from kinformer.bucket import TokenBucket
from kinformer.clock import Clock

__all__ = (
    "BucketRateLimiter",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "MaxOfRateLimiter",
    "RateLimiter",
    "WithMaxWaitRateLimiter",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
)

T_contra = TypeVar("T_contra", bound=Hashable, contravariant=True)

_SECOND = 1_000_000_000

#: More doublings than this exceed Go's 64 bits of nanoseconds, whatever the base is.
_MOST_DOUBLINGS = 63
_LONGEST = 2**63 - 1


class RateLimiter(Protocol[T_contra]):
    """Decides how long items must wait."""

    def when(self, item: T_contra) -> float:
        """Seconds that `item` must wait now. Each call counts as a failure: the next result may be longer."""

    def forget(self, item: T_contra) -> None:
        """Forget the failures of `item`, because it succeeded or was given up."""

    def num_requeues(self, item: T_contra) -> int:
        """Number of waits of `item` since it was last forgotten."""


class _Failures:
    """Counts the failures of each item."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count: dict[Hashable, int] = {}

    def forget(self, item: Hashable) -> None:
        self._count.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        return self._count.get(item, 0)

    def _next(self, item: Hashable) -> int:
        """Count a failure. Return the number of failures before it."""
        before = self._count.get(item, 0)
        self._count[item] = before + 1
        return before


class ItemExponentialFailureRateLimiter(_Failures):
    """
    Each item waits `base_delay` the first time, and twice as long each further time, up to `max_delay`.

    :param base_delay: seconds
    :param max_delay: seconds
    """

    __slots__ = ("_base", "_max")

    def __init__(self, base_delay: float, max_delay: float) -> None:
        super().__init__()
        self._base = _nanoseconds(base_delay, "base_delay")
        self._max = _nanoseconds(max_delay, "max_delay")

    def when(self, item: Hashable) -> float:
        doublings = min(self._next(item), _MOST_DOUBLINGS)
        return min(self._base << doublings, self._max) / _SECOND


class ItemFastSlowRateLimiter(_Failures):
    """
    Each item waits `fast_delay` for the first `max_fast_attempts` times, and `slow_delay` after that.

    :param fast_delay: seconds
    :param slow_delay: seconds
    """

    __slots__ = ("_fast", "_max_fast_attempts", "_slow")

    def __init__(self, fast_delay: float, slow_delay: float, max_fast_attempts: int) -> None:
        super().__init__()
        self._fast = _nanoseconds(fast_delay, "fast_delay")
        self._slow = _nanoseconds(slow_delay, "slow_delay")
        want_count(max_fast_attempts, "max_fast_attempts")
        self._max_fast_attempts = max_fast_attempts

    def when(self, item: Hashable) -> float:
        return (self._fast if self._next(item) < self._max_fast_attempts else self._slow) / _SECOND


class BucketRateLimiter:
    """
    All items together come back at a limited rate. Each takes a token from one bucket.

    It does not know single items, so nothing is counted or forgotten.

    :param qps: tokens that come back each second
    :param burst: tokens in the full bucket; it starts full
    """

    __slots__ = ("_bucket",)

    def __init__(self, qps: float, burst: int, clock: Clock | None = None) -> None:
        want_number(qps, "qps")
        want_count(burst, "burst")
        self._bucket = TokenBucket(qps, burst, clock)

    def when(self, item: Hashable) -> float:
        return self._bucket.reserve()

    def forget(self, item: Hashable) -> None:
        return

    def num_requeues(self, item: Hashable) -> int:
        return 0


class MaxOfRateLimiter(Generic[T_contra]):
    """
    The longest wait of several limiters. All of them count each call.

    If one of them is a bucket, more items than its burst may come back at once, because another limiter delayed some.
    """

    __slots__ = ("_limiters",)

    def __init__(self, *limiters: RateLimiter[T_contra]) -> None:
        for limiter in limiters:
            want_limiter(limiter, "a limiter of MaxOfRateLimiter")
        self._limiters = limiters

    def when(self, item: T_contra) -> float:
        return max([0.0, *(limiter.when(item) for limiter in self._limiters)])

    def forget(self, item: T_contra) -> None:
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: T_contra) -> int:
        return max([0, *(limiter.num_requeues(item) for limiter in self._limiters)])


class WithMaxWaitRateLimiter(Generic[T_contra]):
    """
    The waits of another limiter, but at most `max_delay`.

    :param max_delay: seconds
    """

    __slots__ = ("_limiter", "_max_delay")

    def __init__(self, limiter: RateLimiter[T_contra], max_delay: float) -> None:
        want_limiter(limiter, "the limiter of WithMaxWaitRateLimiter")
        want_seconds(max_delay, "max_delay")
        self._limiter = limiter
        self._max_delay = max_delay

    def when(self, item: T_contra) -> float:
        return min(self._limiter.when(item), self._max_delay)

    def forget(self, item: T_contra) -> None:
        self._limiter.forget(item)

    def num_requeues(self, item: T_contra) -> int:
        return self._limiter.num_requeues(item)


def default_controller_rate_limiter(clock: Clock | None = None) -> RateLimiter[Hashable]:
    """
    The default of controllers. Each item waits 5 ms, doubling up to 1000 s. All items together are limited to 10 a
    second with a burst of 100.

    It limits only retries. Items that are added by events do not wait.
    """
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(0.005, 1000.0), BucketRateLimiter(10.0, 100, clock))


def default_item_based_rate_limiter() -> RateLimiter[Hashable]:
    """Each item waits 1 ms, doubling up to 1000 s, independently of the others."""
    return ItemExponentialFailureRateLimiter(0.001, 1000.0)


def _nanoseconds(seconds: float, name: str) -> int:
    want_seconds(seconds, name)
    return round(min(seconds * _SECOND, _LONGEST))  # infinity is the longest time
