"""Rate limiters: client-go's waits, to the nanosecond."""

from __future__ import annotations

import math
from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.clock import FakeClock
from kinformer.workqueue import (
    NEVER,
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    TokenBucket,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)


class Step:
    """Short waits for the first so many, whoever asks; long ones then."""

    def __init__(self, short: float, long: float, threshold: int) -> None:
        self.short, self.long, self.left = short, long, threshold
        self.forgotten: list[Hashable] = []

    def when(self, item: Hashable) -> float:
        self.left -= 1
        return self.short if self.left >= 0 else self.long

    def forget(self, item: Hashable) -> None:
        self.forgotten.append(item)

    def num_requeues(self, item: Hashable) -> int:
        return 7


def times(limiter: RateLimiter[Hashable], item: Hashable, count: int) -> list[float]:
    return [limiter.when(item) for _ in range(count)]


def test_each_items_waits_double_until_it_is_forgotten() -> None:
    limiter = ItemExponentialFailureRateLimiter(0.001, 1.0)

    assert times(limiter, "one", 5) == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert limiter.num_requeues("one") == 5
    assert times(limiter, "two", 2) == [0.001, 0.002]
    assert limiter.num_requeues("two") == 2

    limiter.forget("one")
    limiter.forget("never seen")

    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == 0.001


def test_doubling_stops_at_the_longest_wait_however_often_an_item_fails() -> None:
    limiter = ItemExponentialFailureRateLimiter(0.001, 1000.0)
    assert times(limiter, "one", 6)[-1] == 0.032
    assert times(limiter, "overflow", 1001)[-1] == 1000.0

    limiter = ItemExponentialFailureRateLimiter(60.0, 3_600_000.0)
    assert times(limiter, "two", 3)[-1] == 240.0
    assert times(limiter, "overflow", 1001)[-1] == 3_600_000.0


def test_a_wait_may_be_capped_at_the_first_failure() -> None:
    assert times(ItemExponentialFailureRateLimiter(2.0, 1.0), "one", 2) == [1.0, 1.0]


def test_the_longest_wait_of_all_is_gos_longest_duration() -> None:
    limiter = ItemExponentialFailureRateLimiter(1.0, 1e30)

    assert [limiter.when("a") for _ in range(100)][-1] == (2**63 - 1) / 10**9


def test_no_base_delay_is_no_delay_however_often_an_item_fails() -> None:
    assert set(times(ItemExponentialFailureRateLimiter(0.0, 1.0), "one", 2000)) == {0.0}


@given(st.integers(0, 10**12), st.integers(0, 2**50), st.integers(1, 80))
def test_waits_are_whole_nanoseconds_computed_without_loss(base: int, longest: int, count: int) -> None:
    limiter = ItemExponentialFailureRateLimiter(base / 1e9, longest / 1e9)

    got = [round(seconds * 1e9) for seconds in times(limiter, "one", count)]

    assert got == [min(base * 2**i, longest) for i in range(count)]


@pytest.mark.parametrize(
    ("limiter", "slow"),
    [
        (ItemFastSlowRateLimiter(0.005, 10.0, 3), 10.0),
        (MaxOfRateLimiter(ItemFastSlowRateLimiter(0.005, 3.0, 3), ItemExponentialFailureRateLimiter(0.001, 1.0)), 3.0),
    ],
    ids=["one", "the longest of several waits, where all limiters count each time"],
)
def test_an_item_is_fast_so_many_times_and_slow_from_then_on(limiter: RateLimiter[str], slow: float) -> None:
    assert times(limiter, "one", 5) == [0.005, 0.005, 0.005, slow, slow]
    assert limiter.num_requeues("one") == 5
    assert times(limiter, "two", 2) == [0.005, 0.005]
    assert limiter.num_requeues("two") == 2

    limiter.forget("one")

    assert limiter.num_requeues("one") == 0
    assert limiter.when("one") == 0.005


def test_the_longest_of_no_waits_is_none() -> None:
    limiter: MaxOfRateLimiter[str] = MaxOfRateLimiter()

    assert limiter.when("one") == 0.0
    assert limiter.num_requeues("one") == 0


def test_another_limiters_waits_are_cut_at_the_longest_allowed() -> None:
    step = Step(0.005, 1000.0, 100)
    limiter = WithMaxWaitRateLimiter(step, 500.0)

    assert [limiter.when(item) for item in range(200)] == [0.005] * 100 + [500.0] * 100

    limiter.forget("one")
    assert step.forgotten == ["one"]
    assert limiter.num_requeues("one") == 7


def test_a_bucket_passes_its_burst_and_then_spaces_the_rest() -> None:
    clock = FakeClock()
    limiter = BucketRateLimiter(10.0, 3, clock)

    assert [limiter.when(item) for item in "abc"] == [0.0, 0.0, 0.0]
    assert limiter.when("d") == pytest.approx(0.1)
    assert limiter.when("e") == pytest.approx(0.2)

    clock.turn(0.35)
    assert limiter.when("f") == 0.0
    assert limiter.when("g") == pytest.approx(0.05)

    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_a_bucket_fills_up_to_its_burst_and_no_further() -> None:
    clock = FakeClock()
    bucket = TokenBucket(10.0, 3, clock)
    bucket.reserve()
    assert bucket.tokens == 2.0

    clock.turn(3600.0)

    assert bucket.tokens == 3.0
    assert [bucket.reserve() for _ in range(4)] == pytest.approx([0.0, 0.0, 0.0, 0.1])
    assert bucket.tokens == -1.0


def test_delays_of_a_bucket_are_cut_to_whole_nanoseconds() -> None:
    bucket = TokenBucket(3.0, 1, FakeClock())

    assert [round(bucket.reserve() * 1e9) for _ in range(3)] == [0, 333_333_333, 666_666_666]


def test_a_bucket_without_a_limit_holds_nobody_back() -> None:
    assert TokenBucket(math.inf, 0, FakeClock()).reserve() == 0.0


def test_a_bucket_that_cannot_hold_a_token_gives_none() -> None:
    assert TokenBucket(10.0, 0, FakeClock()).reserve() == NEVER


def test_a_bucket_that_is_never_filled_gives_its_burst_only() -> None:
    clock = FakeClock()
    bucket = TokenBucket(0.0, 1, clock)
    assert bucket.reserve() == 0.0

    clock.turn(3600.0)

    assert bucket.reserve() == NEVER


def test_a_wait_beyond_gos_duration_is_its_longest() -> None:
    bucket = TokenBucket(1e-300, 1, FakeClock())
    bucket.reserve()

    assert bucket.reserve() == NEVER


def test_controllers_have_an_exponential_limiter_for_items_and_a_bucket_for_all() -> None:
    limiter = default_controller_rate_limiter(FakeClock())

    assert times(limiter, "one", 4) == [0.005, 0.01, 0.02, 0.04]
    assert [limiter.when(item) for item in range(97)][-2:] == pytest.approx([0.005, 0.1])
    assert times(default_controller_rate_limiter(), "two", 90)[-1] == 1000.0


def test_the_limiter_for_items_alone_starts_at_a_millisecond() -> None:
    limiter = default_item_based_rate_limiter()

    assert times(limiter, "one", 2) == [0.001, 0.002]
    assert times(limiter, "two", 50)[-1] == 1000.0


def test_a_longest_wait_of_infinity_is_no_limit() -> None:
    limiter = ItemExponentialFailureRateLimiter(1.0, math.inf)

    assert [limiter.when("foo") for _ in range(70)][-1] == NEVER
