"""A CronJob's jobs: those that belong to it, those that its status lists as active, and those to delete."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.controllerutil.owning import controller_of
from kinformer.models import V1CronJob, V1Job, V1ObjectReference
from kinformer_controllers.cronjob.kind import KIND

__all__ = (
    "active",
    "add_job_index",
    "finished_condition",
    "is_active_name",
    "is_active_uid",
    "jobs_of",
    "past_history",
    "without_active",
)

_INDEX: Final = "cronJobJobs"
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def add_job_index(informer: SharedIndexInformer[V1Job]) -> None:
    """Add the index of jobs by the name of their CronJob. If the informer already has it, nothing happens."""
    if _INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({_INDEX: _cron_job_name})


def jobs_of(indexer: Indexer[V1Job], cron_job: V1CronJob) -> list[V1Job]:
    """Return the jobs whose controller has the CronJob's name, including those of an earlier CronJob with that name."""
    return indexer.by_index(_INDEX, f"{cron_job.metadata.namespace}/{cron_job.metadata.name}")


def _cron_job_name(job: V1Job) -> tuple[str, ...]:
    reference = controller_of(job)
    if reference is None or reference.kind != KIND.kind:
        return ()
    return (f"{job.metadata.namespace}/{reference.name}",)


def finished_condition(job: V1Job) -> str | None:
    """Return how a job has ended, ``Complete`` or ``Failed``; None if it has not ended."""
    for condition in (job.status.conditions if job.status is not None else None) or ():
        if condition.type in ("Complete", "Failed") and condition.status == "True":
            return str(condition.type)
    return None


def active(cron_job: V1CronJob) -> list[V1ObjectReference]:
    """Return the jobs that the CronJob's status lists as active."""
    return list((cron_job.status.active if cron_job.status is not None else None) or ())


def is_active_uid(cron_job: V1CronJob, uid: str) -> bool:
    return any(reference.uid == uid for reference in active(cron_job))


def is_active_name(cron_job: V1CronJob, name: str) -> bool:
    namespace = cron_job.metadata.namespace
    return any(reference.name == name and reference.namespace == namespace for reference in active(cron_job))


def without_active(cron_job: V1CronJob, uid: str) -> list[V1ObjectReference] | None:
    """Return the active jobs without this one. If none is left, the result is None, as in the API."""
    return [reference for reference in active(cron_job) if reference.uid != uid] or None


def past_history(cron_job: V1CronJob, jobs: Iterable[V1Job]) -> list[V1Job]:
    """Return the finished jobs beyond the CronJob's history limits: first the successful ones, each oldest first."""
    ended: dict[str, list[V1Job]] = {"Complete": [], "Failed": []}
    for job in jobs:
        if (outcome := finished_condition(job)) is not None:
            ended[outcome].append(job)
    spec = cron_job.spec
    surplus: list[V1Job] = []
    for outcome, limit in (
        ("Complete", spec.successful_jobs_history_limit),
        ("Failed", spec.failed_jobs_history_limit),
    ):
        if limit is not None and (count := len(ended[outcome]) - limit) > 0:
            surplus += sorted(ended[outcome], key=_age)[:count]
    return surplus


def _age(job: V1Job) -> tuple[datetime, str]:
    """Return the sort key: the start time, then the name. A job that has not started comes last."""
    start = job.status.start_time if job.status is not None else None
    return start or _LATEST, job.metadata.name
