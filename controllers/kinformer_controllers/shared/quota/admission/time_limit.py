"""TimeLimit: what is done for a request ends with the request's own time, on a clock that tests can turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from kinformer.clock import Clock

__all__ = ("EvaluationTimedOut", "time_limit")


class EvaluationTimedOut(Exception):
    """A request was not checked in time, and is not let through."""

    def __init__(self) -> None:
        super().__init__("resource quota evaluation timed out")


@contextmanager
def time_limit(seconds: float, clock: Clock) -> Iterator[None]:
    """
    Cancel the block after so many seconds.

    :raises EvaluationTimedOut: if that had to be done
    """
    with anyio.CancelScope() as scope:
        timer = clock.call_later(seconds, scope.cancel)
        try:
            yield
        finally:
            timer.cancel()
    if scope.cancelled_caught:
        raise EvaluationTimedOut
