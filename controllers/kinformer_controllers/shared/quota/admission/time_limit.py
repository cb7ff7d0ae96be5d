"""A time limit for the work on a request, on a clock that tests can turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from kinformer.clock import Clock

__all__ = ("EvaluationTimedOut", "time_limit")


class EvaluationTimedOut(Exception):
    """A request was not checked in time. It is refused."""

    def __init__(self) -> None:
        super().__init__("resource quota evaluation timed out")


@contextmanager
def time_limit(seconds: float, clock: Clock) -> Iterator[None]:
    """
    Cancel the block after that many seconds.

    :raises EvaluationTimedOut: if the block was cancelled
    """
    with anyio.CancelScope() as scope:
        timer = clock.call_later(seconds, scope.cancel)
        try:
            yield
        finally:
            timer.cancel()
    if scope.cancelled_caught:
        raise EvaluationTimedOut
