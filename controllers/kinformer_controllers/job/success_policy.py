"""successPolicy: the rules by which an Indexed Job succeeds before all of its indexes are done."""

from __future__ import annotations

from kinformer.models import V1Job
from kinformer_controllers.job.intervals import Indexes

__all__ = ("success_message",)


def success_message(job: V1Job, succeeded: Indexes) -> str | None:
    """Return a message with the rule that is met; None if none is."""
    policy = job.spec.success_policy
    if policy is None or not succeeded:
        return None
    for place, rule in enumerate(policy.rules or ()):
        if _is_met(rule.succeeded_indexes, rule.succeeded_count, job.spec.completions or 0, succeeded):
            return f"Matched rules at index {place}"
    return None


def _is_met(indexes: str | None, count: int | None, completions: int, succeeded: Indexes) -> bool:
    if indexes is None:
        return count is not None and succeeded.count >= count
    wanted = Indexes.parse(indexes, completions)
    if not wanted:
        return False  # it is invalid, or names only indexes that the Job does not have
    done = wanted.overlap(succeeded)
    return done == wanted.count or (count is not None and done >= count)
