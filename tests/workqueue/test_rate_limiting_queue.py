"""RateLimitingQueue: what fails comes back, later each time, until it is forgotten."""

from __future__ import annotations

import pytest

from kinformer.clock import FakeClock
from kinformer.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue


def test_an_item_waits_by_its_failures_until_it_is_forgotten() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(
        limiter=ItemExponentialFailureRateLimiter(0.001, 1.0), clock=clock
    )

    def waits(item: str) -> float:
        """Add, see when it is due, and let it come."""
        queue.add_rate_limited(item)
        due = clock.next_due
        assert due is not None
        clock.turn(due)
        assert queue.get_nowait() == item
        queue.done(item)
        return due

    assert waits("one") == pytest.approx(0.001)
    assert waits("one") == pytest.approx(0.002)
    assert queue.num_requeues("one") == 2

    assert waits("two") == pytest.approx(0.001)
    assert waits("two") == pytest.approx(0.002)

    queue.forget("one")
    assert queue.num_requeues("one") == 0
    assert waits("one") == pytest.approx(0.001)


def test_a_failure_is_counted_for_an_item_that_waits_already() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[str] = RateLimitingQueue(
        limiter=ItemExponentialFailureRateLimiter(0.001, 1.0), clock=clock
    )

    queue.add_rate_limited("one")
    queue.add_rate_limited("one")

    assert queue.num_requeues("one") == 2
    assert clock.next_due == pytest.approx(0.001)


def test_a_queue_without_a_limiter_has_the_controllers_on_its_clock() -> None:
    clock = FakeClock()
    queue: RateLimitingQueue[int] = RateLimitingQueue(clock=clock)

    for item in range(101):
        queue.add_rate_limited(item)

    clock.turn(0.005)
    assert len(queue) == 100  # the burst; the bucket holds the last one back
    clock.turn(0.095)
    assert len(queue) == 101
