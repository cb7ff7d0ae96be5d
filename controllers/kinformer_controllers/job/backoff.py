"""How long a Job waits before it replaces a failed pod: ten seconds, twice that after each failure, at most 600.

The count begins anew with each success. It is kept in memory. Kubernetes' controller forgets it when it starts; here it
is found out again from the pods that are there, so that a restart makes no pod earlier than it should be.
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
    :param failures: since the last success
    :param last_failure: None if there were none
    """

    failures: int = 0
    last_failure: datetime | None = None

    def after(self, succeeded: Iterable[V1Pod], failed: Sequence[V1Pod]) -> Backoff:
        """The record once these pods, which it does not know of yet, have ended."""
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
        """Seconds until a pod may be replaced."""
        return remaining_seconds(self.failures, self.last_failure, now)


def remaining_for_index(last_failed: V1Pod | None, now: datetime) -> float:
    """Seconds until an index whose last pod that is may have another."""
    if last_failed is None:
        return 0.0
    return remaining_seconds(absolute_index_failures(last_failed) + 1, finished_at(last_failed), now)


def remaining_seconds(failures: int, last_failure: datetime | None, now: datetime) -> float:
    """Seconds that are left to wait after so many failures."""
    if failures <= 0 or last_failure is None:
        return 0.0
    # Six doublings are past the longest; a count that somebody made up must not make a number of a thousand digits.
    wait = min(_FIRST * (1 << min(failures - 1, 6)), _LONGEST)
    return max((wait - (now - last_failure)).total_seconds(), 0.0)
