"""A CronJob's jobs: making the job of a run; finding those that belong to it, are active, or are to be deleted."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from kinformer.cache import Indexer, SharedIndexInformer
from kinformer.controllerutil.owning import controller_of
from kinformer.meta import GroupVersionKind, new_controller_ref
from kinformer.models import V1CronJob, V1Job, V1ObjectMeta, V1ObjectReference
from kinformer.schedules.zones import ZoneError, load_zone
from kinformer_controllers.cronjob.missed import minutes_of

__all__ = (
    "KIND",
    "active",
    "add_job_index",
    "finished_condition",
    "is_active_name",
    "is_active_uid",
    "job_for_run",
    "job_name",
    "jobs_of",
    "names_a_zone",
    "past_history",
    "schedule_text",
    "without_active",
)

KIND: Final = GroupVersionKind("batch", "v1", "CronJob")

#: The annotation of a job with the scheduled time of its run, in the CronJob's time zone.
_SCHEDULED_TIMESTAMP: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"

_INDEX: Final = "cronJobJobs"
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def names_a_zone(cron_job: V1CronJob) -> bool:
    """Whether the schedule's text has a time zone. This works, but Kubernetes does not support it officially."""
    return "TZ" in cron_job.spec.schedule


def schedule_text(cron_job: V1CronJob) -> str:
    """Return the text to parse: the schedule with the time zone of the spec. An unknown time zone is left out."""
    schedule: str = cron_job.spec.schedule
    zone = cron_job.spec.time_zone
    if names_a_zone(cron_job) or zone is None:
        return schedule
    try:
        load_zone(zone)
    except ZoneError:
        return schedule
    return f"TZ={zone} {schedule}"


def job_name(cron_job: V1CronJob, run: datetime) -> str:
    """Return the name of a run's job. It is the same each time, so that no run gets two jobs."""
    return f"{cron_job.metadata.name}-{minutes_of(run)}"


def job_for_run(cron_job: V1CronJob, run: datetime) -> V1Job:
    """
    Make the job of a run.

    :raises ZoneError: if the time zone of the spec is not known
    """
    template = cron_job.spec.job_template
    labels = (template.metadata.labels if template.metadata else None) or {}
    annotations = (template.metadata.annotations if template.metadata else None) or {}
    local = run.astimezone(load_zone(cron_job.spec.time_zone or ""))
    return V1Job(
        api_version="batch/v1",
        kind="Job",
        metadata=V1ObjectMeta(
            name=job_name(cron_job, run),
            namespace=cron_job.metadata.namespace,
            labels=dict(labels) or None,
            annotations={**annotations, _SCHEDULED_TIMESTAMP: _rfc3339(local)},
            creation_timestamp=run.astimezone(UTC),
            owner_references=[new_controller_ref(cron_job, KIND)],
        ),
        spec=copy.deepcopy(template.spec),
    )


def _rfc3339(moment: datetime) -> str:
    text = moment.replace(microsecond=0).isoformat()
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


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
