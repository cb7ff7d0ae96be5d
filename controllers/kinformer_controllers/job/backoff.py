"""The backoff before a Job replaces a failed pod: ten seconds, doubled with each failure, at most 600 seconds.

Each success resets the count of failures. The count is kept in memory. When Kubernetes' controller restarts, it loses
the count. Here it is computed again from the existing pods, so that no pod is created too early after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kinformer.models import V1Pod
from kinformer_controllers.job.pods import absolute_index_failures, finished_at

__all__ = ("Backoff", "remaining_for_index", "remaining_seconds")

_FIRST: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(minutes=10)


class Backoff(NamedTuple):
    """
    The failures of a Job.

    :param failures: the number of failures since the last success
    :param last_failure: the time of the last one; None if there was none
    """

    failures: int = 0
    last_failure: datetime | None = None

    def after(self, succeeded: Iterable[V1Pod], failed: Sequence[V1Pod]) -> Backoff:
        """Return the record with these ended pods, which are new to it."""
        if not failed and not succeeded:
            return self
        failures = sorted(map(finished_at, failed))
        last_success = max(map(finished_at, succeeded), default=None)
        if last_success is not None:
            since = [moment for moment in failures if moment > last_success]
            return Backoff(len(since), since[-1] if since else None)
        if not failures:
            return self
        return Backoff(self.failures + len(failures), failures[-1])

    def remaining(self, now: datetime) -> float:
        """Return the seconds until a pod may be replaced."""
        return remaining_seconds(self.failures, self.last_failure, now)


def remaining_for_index(last_failed: V1Pod | None, now: datetime) -> float:
    """Return the seconds until an index may get another pod after this one."""
    if last_failed is None:
        return 0.0
    return remaining_seconds(absolute_index_failures(last_failed) + 1, finished_at(last_failed), now)


def remaining_seconds(failures: int, last_failure: datetime | None, now: datetime) -> float:
    """Return the remaining seconds of the wait after this many failures."""
    if failures <= 0 or last_failure is None:
        return 0.0
    # Six doublings exceed the maximum. The limit protects against huge counts that a user has written.
    wait = min(_FIRST * (1 << min(failures - 1, 6)), _LONGEST)
    return max((wait - (now - last_failure)).total_seconds(), 0.0)
