from __future__ import annotations

import math

from kinformer.clock import FakeClock
from kinformer.workqueue import TokenBucket


def test_a_token_is_taken_only_when_it_is_there() -> None:
    clock = FakeClock()
    bucket = TokenBucket(1.0, 2, clock)

    assert [bucket.try_take() for _ in range(3)] == [True, True, False]
    clock.turn(0.999)
    assert not bucket.try_take()
    clock.turn(0.001)
    assert [bucket.try_take() for _ in range(2)] == [True, False]


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    clock = FakeClock()
    bucket = TokenBucket(1.0, 2, clock)
    clock.turn(1000)

    assert [bucket.try_take() for _ in range(3)] == [True, True, False]


def test_a_bucket_that_holds_none_gives_none_unless_there_is_no_limit() -> None:
    assert not TokenBucket(1.0, 0, FakeClock()).try_take()
    assert TokenBucket(math.inf, 0, FakeClock()).try_take()
