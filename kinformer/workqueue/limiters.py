"""Rate limiters: how long an item has to wait before it is tried again.

Seconds are floats on the outside. Within, what is computed is whole nanoseconds, as Go's durations are, so that each
answer is the one that client-go gives, to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from kinformer.clock import Clock
from kinformer.workqueue.bucket import TokenBucket

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

#: A doubling more often than this leaves what Go's 64 bits of nanoseconds can hold, whatever was doubled.
_MOST_DOUBLINGS = 63
_LONGEST = 2**63 - 1


class RateLimiter(Protocol[T_contra]):
    """Says how long items have to wait."""

    def when(self, item: T_contra) -> float:
        """The seconds that `item` has to wait now. Asking counts: the next answer may be longer."""

    def forget(self, item: T_contra) -> None:
        """`item` is not retried any more, whether it succeeded or was given up."""

    def num_requeues(self, item: T_contra) -> int:
        """How often `item` had to wait since it was last forgotten."""


class _Failures:
    """How often each item failed."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count: dict[Hashable, int] = {}

    def forget(self, item: Hashable) -> None:
        self._count.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        return self._count.get(item, 0)

    def _next(self, item: Hashable) -> int:
        """Count a failure; how many there were before it."""
        before = self._count.get(item, 0)
        self._count[item] = before + 1
        return before


class ItemExponentialFailureRateLimiter(_Failures):
    """
    Each item waits `base_delay` the first time and twice as long each further time, up to `max_delay`.

    :param base_delay: seconds
    :param max_delay: seconds
    """

    __slots__ = ("_base", "_max")

    def __init__(self, base_delay: float, max_delay: float) -> None:
        super().__init__()
        self._base = _nanoseconds(base_delay)
        self._max = _nanoseconds(max_delay)

    def when(self, item: Hashable) -> float:
        doublings = min(self._next(item), _MOST_DOUBLINGS)
        return min(self._base << doublings, self._max) / _SECOND


class ItemFastSlowRateLimiter(_Failures):
    """
    Each item waits `fast_delay` so many times, and `slow_delay` from then on.

    :param fast_delay: seconds
    :param slow_delay: seconds
    """

    __slots__ = ("_fast", "_max_fast_attempts", "_slow")

    def __init__(self, fast_delay: float, slow_delay: float, max_fast_attempts: int) -> None:
        super().__init__()
        self._fast = _nanoseconds(fast_delay)
        self._slow = _nanoseconds(slow_delay)
        self._max_fast_attempts = max_fast_attempts

    def when(self, item: Hashable) -> float:
        return (self._fast if self._next(item) < self._max_fast_attempts else self._slow) / _SECOND


class BucketRateLimiter:
    """
    All items together come back at no more than a rate: each takes a token from one bucket.

    It knows no items, so there is nothing to forget and nothing to count.

    :param qps: tokens that come back each second
    :param burst: tokens in the full bucket, which is how it starts
    """

    __slots__ = ("_bucket",)

    def __init__(self, qps: float, burst: int, clock: Clock | None = None) -> None:
        self._bucket = TokenBucket(qps, burst, clock)

    def when(self, item: Hashable) -> float:
        return self._bucket.reserve()

    def forget(self, item: Hashable) -> None:
        return

    def num_requeues(self, item: Hashable) -> int:
        return 0


class MaxOfRateLimiter(Generic[T_contra]):
    """
    The longest wait that any of several limiters asks for. All of them count each time.

    With a bucket among them more than its burst may come back at once, when some were held up by another limiter.
    """

    __slots__ = ("_limiters",)

    def __init__(self, *limiters: RateLimiter[T_contra]) -> None:
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
    Another limiter's waits, but none longer than `max_delay`.

    :param max_delay: seconds
    """

    __slots__ = ("_limiter", "_max_delay")

    def __init__(self, limiter: RateLimiter[T_contra], max_delay: float) -> None:
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
    What controllers use: each item from 5 ms doubling up to 1000 s, and all together 10 a second with a burst of 100.

    Retries only go through it; what events add does not wait.
    """
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(0.005, 1000.0), BucketRateLimiter(10.0, 100, clock))


def default_item_based_rate_limiter() -> RateLimiter[Hashable]:
    """Each item from 1 ms doubling up to 1000 s, whatever the others do."""
    return ItemExponentialFailureRateLimiter(0.001, 1000.0)


def _nanoseconds(seconds: float) -> int:
    return min(round(seconds * _SECOND), _LONGEST)
