"""Computing when a finished Job must be deleted."""

from __future__ import annotations

from datetime import datetime, timedelta

from kinformer.manager import SyncError
from kinformer.models import V1Job

__all__ = ("FinishTimeUnknown", "expires_at", "finished_at", "has_ttl")


class FinishTimeUnknown(SyncError):
    """A finished Job has no finish time."""


def has_ttl(job: V1Job) -> bool:
    """Whether the Job has finished and has a time to live."""
    return job.spec.ttl_seconds_after_finished is not None and _condition_time(job)[0]


def finished_at(job: V1Job) -> datetime:
    """
    Return when a finished Job finished.

    :raises FinishTimeUnknown: if it has no finish time
    """
    finished, moment = _condition_time(job)
    name = f"{job.metadata.namespace}/{job.metadata.name}"
    if not finished:
        raise FinishTimeUnknown(f"unable to find the status of the finished Job {name}")
    if moment is None:
        raise FinishTimeUnknown(f"unable to find the time when the Job {name} finished")
    return moment


def expires_at(job: V1Job) -> datetime | None:
    """
    Return when the Job must be deleted; None if it stays, or is already being deleted.

    :raises FinishTimeUnknown: if it has no finish time
    """
    if job.metadata.deletion_timestamp is not None or not has_ttl(job):
        return None
    return finished_at(job) + timedelta(seconds=job.spec.ttl_seconds_after_finished or 0)


def _condition_time(job: V1Job) -> tuple[bool, datetime | None]:
    """Return whether the Job has finished, and since when."""
    for condition in (job.status.conditions if job.status is not None else None) or ():
        if condition.type in ("Complete", "Failed") and condition.status == "True":
            return True, condition.last_transition_time
    return False, None
