"""The ttl-after-finished controller: deletes finished Jobs after the time in ``spec.ttlSecondsAfterFinished``.

It is kube-controller-manager's controller. Before a Job is deleted, it is read from the server, because a user may have
changed the time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Histogram

from kinformer.cache.division import OwnUid
from kinformer.client import DeleteOptions, Preconditions
from kinformer.client.errors import NotFound
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import meta_namespace_key, split_key
from kinformer.models import V1Job
from kinformer_controllers.ttlafterfinished.spec import TtlAfterFinishedOptions

__all__ = (
    "FinishTimeUnknown",
    "TtlAfterFinishedController",
    "expires_at",
    "finished_at",
    "will_expire",
)

log = get_logger(__name__)

_DELETION_SECONDS: Final = Histogram(
    "ttl_after_finished_controller_job_deletion_duration_seconds",
    "The time it took to delete the job since it became eligible for deletion",
    buckets=[0.1 * 2**power for power in range(14)],
)


class FinishTimeUnknown(SyncError):
    """A finished Job has no finish time."""


def _has_ttl(job: V1Job) -> bool:
    """Whether the Job has finished and has a time to live."""
    return job.spec.ttl_seconds_after_finished is not None and _condition_time(job)[0]


def will_expire(old: V1Job | None, new: V1Job | None) -> bool:
    """A predicate: whether a Job has finished, has a time to live, and is not being deleted."""
    return new is not None and new.metadata.deletion_timestamp is None and _has_ttl(new)


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
    if job.metadata.deletion_timestamp is not None or not _has_ttl(job):
        return None
    return finished_at(job) + timedelta(seconds=job.spec.ttl_seconds_after_finished or 0)


def _condition_time(job: V1Job) -> tuple[bool, datetime | None]:
    """Return whether the Job has finished, and since when."""
    for condition in (job.status.conditions if job.status is not None else None) or ():
        if condition.type in ("Complete", "Failed") and condition.status == "True":
            return True, condition.last_transition_time
    return False, None


class TtlAfterFinishedController:
    """Deletes finished Jobs."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        self._server = context.client.resource(V1Job)
        jobs = context.informers.informer_for(V1Job)
        self._jobs = jobs.indexer
        self.controller = Controller(
            "ttl-after-finished",
            self.sync,
            workers=context.read(TtlAfterFinishedOptions).concurrent_ttl_after_finished_syncs,
            queue_name="ttl_jobs_to_delete",
            shard_by_owner=OwnUid(jobs),
            clock=self._clock,
        )
        self.controller.watch(jobs, will_expire)

    async def sync(self, key: str) -> float | None:
        """
        Delete a Job whose time is over.

        :return: seconds until its time is over; None if it stays or was deleted
        """
        job = self._jobs.get_by_key(key)
        if job is None or (left := self._seconds_left(job)) is None:
            return None
        if left > 0:
            return left
        namespace, name = split_key(key)
        try:
            fresh = await self._server.get(name, namespace)
        except NotFound:
            return None
        if (left := self._seconds_left(fresh)) is None:
            return None
        if left > 0:
            return left
        await self._server.delete(
            name,
            namespace,
            DeleteOptions(propagation_policy="Foreground", preconditions=Preconditions(uid=fresh.metadata.uid)),
        )
        _DELETION_SECONDS.observe(-left)
        return None

    def _seconds_left(self, job: V1Job) -> float | None:
        """Return the seconds until the Job must be deleted, 0 or less if its time is over; None if it stays."""
        expires, now = expires_at(job), self._clock.now()
        if expires is None:
            return None
        if finished_at(job) > now:
            log.warning("job_finished_in_the_future", job=meta_namespace_key(job), finished=str(finished_at(job)))
        return (expires - now).total_seconds()
