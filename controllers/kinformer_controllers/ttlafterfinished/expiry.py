"""When a finished Job is to go."""

from __future__ import annotations

from datetime import datetime, timedelta

from kinformer.manager import SyncError
from kinformer.models import V1Job

__all__ = ("FinishTimeUnknown", "expires_at", "finished_at", "has_ttl")


class FinishTimeUnknown(SyncError):
    """A Job does not say when it finished."""


def has_ttl(job: V1Job) -> bool:
    """Whether the Job has finished, and is to go some time after."""
    return job.spec.ttl_seconds_after_finished is not None and _condition_time(job)[0]


def finished_at(job: V1Job) -> datetime:
    """
    When a finished Job finished.

    :raises FinishTimeUnknown: if it does not say
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
    When the Job is to go; None if it is not, or is on its way.

    :raises FinishTimeUnknown: if it does not say when it finished
    """
    if job.metadata.deletion_timestamp is not None or not has_ttl(job):
        return None
    return finished_at(job) + timedelta(seconds=job.spec.ttl_seconds_after_finished or 0)


def _condition_time(job: V1Job) -> tuple[bool, datetime | None]:
    """Whether it has finished, and since when."""
    for condition in (job.status.conditions if job.status is not None else None) or ():
        if condition.type in ("Complete", "Failed") and condition.status == "True":
            return True, condition.last_transition_time
    return False, None
