"""Making the job of a CronJob's run, with its name."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Final

from kinformer.meta import new_controller_ref
from kinformer.models import V1CronJob, V1Job, V1ObjectMeta
from kinformer_controllers.cronjob.kind import KIND
from kinformer_controllers.cronjob.missed import minutes_of
from kinformer_controllers.cronjob.zones import ZoneError, load_zone

__all__ = ("SCHEDULED_TIMESTAMP", "job_for_run", "job_name", "names_a_zone", "schedule_text")

#: The annotation of a job with the scheduled time of its run, in the CronJob's time zone.
SCHEDULED_TIMESTAMP: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"


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
            annotations={**annotations, SCHEDULED_TIMESTAMP: _rfc3339(local)},
            creation_timestamp=run.astimezone(UTC),
            owner_references=[new_controller_ref(cron_job, KIND)],
        ),
        spec=copy.deepcopy(template.spec),
    )


def _rfc3339(moment: datetime) -> str:
    text = moment.replace(microsecond=0).isoformat()
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text
