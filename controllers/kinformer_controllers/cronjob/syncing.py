"""One sync of a CronJob: deletes old jobs, updates the list of active jobs, starts the due run, writes the status."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final

from prometheus_client import Histogram

from kinformer.client import DeleteOptions, Resource
from kinformer.client.errors import AlreadyExists, ClientError, NotFound
from kinformer.clock import Clock
from kinformer.controllerutil.pod_control import is_namespace_terminating
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta import is_controlled_by, meta_namespace_key
from kinformer.models import V1CronJob, V1CronJobStatus, V1Job
from kinformer.record import NORMAL, WARNING, EventRecorder, reference_to
from kinformer.schedules.schedule import Schedule, ScheduleError, parse_schedule
from kinformer.schedules.zones import ZoneError, load_zone
from kinformer_controllers.cronjob.jobs import (
    active,
    finished_condition,
    is_active_name,
    is_active_uid,
    job_for_run,
    job_name,
    names_a_zone,
    past_history,
    schedule_text,
    without_active,
)
from kinformer_controllers.cronjob.missed import Missed, most_recent_run, seconds_to_next_run

__all__ = ("CronJobSync",)

log = get_logger(__name__)

_CREATION_SKEW: Final = Histogram(
    "cronjob_controller_job_creation_skew_duration_seconds",
    "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
    buckets=[2.0**power for power in range(10)],
)

_BACKGROUND = DeleteOptions(propagation_policy="Background")
_UNSUPPORTED_ZONE = (
    "CRON_TZ or TZ used in schedule {} is not officially supported, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class CronJobSync:
    """
    A CronJob in one sync.

    :param cron_job: the CronJob from the cache; it is not changed
    :param jobs: its jobs from the cache
    """

    def __init__(
        self,
        cron_job: V1CronJob,
        jobs: Sequence[V1Job],
        *,
        cron_jobs: Resource[V1CronJob],
        server: Resource[V1Job],
        recorder: EventRecorder,
        clock: Clock,
    ) -> None:
        self._cron_job = _own_copy(cron_job)
        self._jobs = jobs
        self._cron_jobs = cron_jobs
        self._server = server
        self._recorder = recorder
        self._now = clock.now()
        self._changed = False

    async def run(self) -> float | None:
        """
        Do the sync.

        :return: seconds until the next run; None if there is none until the CronJob changes
        :raises ClientError: if a write was refused. The status is written first, with the changes before the error
        """
        for job in past_history(self._cron_job, self._jobs):
            await self._delete(job)
        try:
            after = await self._sync()
        except Exception:
            await self._write()
            raise
        await self._write()
        return after

    async def _write(self) -> None:
        if self._changed:
            await self._cron_jobs.update_status(self._cron_job)

    async def _sync(self) -> float | None:
        await self._look_after_jobs()
        await self._drop_missing()
        schedule = self._schedule()
        if schedule is None:
            return None
        spec, meta = self._cron_job.spec, self._cron_job.metadata
        runs = most_recent_run(self._cron_job, self._now, schedule, heed_deadline=True)
        if runs.problem is not None:
            self._tell(WARNING, "InvalidSchedule", f"invalid schedule: {spec.schedule} : {runs.problem}")
            log.error("schedule_without_runs", cron_job=meta_namespace_key(self._cron_job), schedule=spec.schedule)
            return None
        if runs.missed is Missed.MANY and runs.most_recent is not None:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._tell(WARNING, "TooManyMissedTimes", message)
            log.info("too_many_missed_runs", namespace=meta.namespace, cron_job=meta.name)
        if runs.most_recent is not None and self._may_start(runs.most_recent):
            await self._start(runs.most_recent)
        after = seconds_to_next_run(self._cron_job, self._now, schedule)
        return after if after > 0 else None

    async def _look_after_jobs(self) -> None:
        """Remove ended jobs from the active ones, and record an Event for each running job that is not among them."""
        for job in self._jobs:
            name, uid, outcome = job.metadata.name, job.metadata.uid, finished_condition(job)
            if outcome is None:
                if not is_active_uid(self._cron_job, uid) and not await self._is_active_by_now(uid):
                    self._tell(
                        WARNING, "UnexpectedJob", f"Saw a job that the controller did not create or forgot: {name}"
                    )
                continue
            if is_active_uid(self._cron_job, uid):
                self._drop(uid)
                self._tell(NORMAL, "SawCompletedJob", f"Saw completed job: {name}, condition: {outcome}")
            if outcome == "Complete":
                self._note_success(job.status.completion_time)

    async def _is_active_by_now(self, uid: str) -> bool:
        """Whether the CronJob on the server lists the job as active. If so, the sync continues with that version."""
        meta = self._cron_job.metadata
        fresh = await self._cron_jobs.get(meta.name, meta.namespace)
        if not is_active_uid(fresh, uid):
            return False
        self._cron_job = _own_copy(fresh)
        return True

    def _note_success(self, ended: datetime | None) -> None:
        status = self._cron_job.status
        if ended is not None and (status.last_successful_time is None or ended > status.last_successful_time):
            status.last_successful_time = ended
            self._changed = True

    async def _drop_missing(self) -> None:
        """Remove jobs that do not exist from the active ones. Otherwise no job would ever run again with Forbid."""
        there = {job.metadata.uid for job in self._jobs}
        for reference in active(self._cron_job):
            if reference.uid in there:
                continue
            try:
                # The cache may be old, so the server is asked.
                await self._server.get(reference.name or "", reference.namespace or "")
            except NotFound:
                self._tell(NORMAL, "MissingJob", f"Active job went missing: {reference.name}")
                self._drop(reference.uid or "")

    def _schedule(self) -> Schedule | None:
        """Return the schedule; None if no run may start. An Event tells what is wrong with it."""
        cron_job, spec = self._cron_job, self._cron_job.spec
        if cron_job.metadata.deletion_timestamp is not None:
            return None
        key = meta_namespace_key(cron_job)
        if spec.time_zone is not None:
            try:
                load_zone(spec.time_zone)
            except ZoneError as error:
                self._tell(WARNING, "UnknownTimeZone", f"invalid timeZone: {_quoted(spec.time_zone)}: {error}")
                log.error("time_zone_unknown", cron_job=key, time_zone=spec.time_zone)
                return None
        if spec.suspend:
            return None
        if names_a_zone(cron_job):
            self._tell(WARNING, "UnsupportedSchedule", _UNSUPPORTED_ZONE.format(_quoted(spec.schedule)))
        try:
            return parse_schedule(schedule_text(cron_job))
        except ScheduleError as error:
            self._tell(WARNING, "UnparseableSchedule", f"unparseable schedule: {_quoted(spec.schedule)} : {error}")
            log.error("schedule_not_understood", cron_job=key, schedule=spec.schedule, error=str(error))
            return None

    def _may_start(self, run: datetime) -> bool:
        """Whether the run is not too late, has not started yet, and is not forbidden by a job that is still active."""
        cron_job, spec = self._cron_job, self._cron_job.spec
        deadline = spec.starting_deadline_seconds
        if deadline is not None and (self._now - run).total_seconds() > deadline:
            missed = format_datetime(run.astimezone(UTC))
            self._tell(WARNING, "MissSchedule", f"Missed scheduled time to start a job: {missed}")
            return False
        if is_active_name(cron_job, job_name(cron_job, run)) or cron_job.status.last_schedule_time == run:
            return False
        if spec.concurrency_policy == "Forbid" and active(cron_job):
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._tell(NORMAL, "JobAlreadyActive", message)
            return False
        return True

    async def _start(self, run: datetime) -> None:
        cron_job = self._cron_job
        if cron_job.spec.concurrency_policy == "Replace":
            await self._replace()
        try:
            job = await self._server.create(job_for_run(cron_job, run))
        except AlreadyExists:
            job = await self._server.get(job_name(cron_job, run), cron_job.metadata.namespace)
            if not is_controlled_by(job, cron_job.metadata.uid) or is_active_uid(cron_job, job.metadata.uid):
                return  # the job belongs to another owner, or is already listed as active
            log.info("job_exists_already", cron_job=meta_namespace_key(cron_job), job=job.metadata.name)
        except Exception as error:
            if not is_namespace_terminating(error):
                self._tell(WARNING, "FailedCreate", f"Error creating job: {error}")
            raise
        else:
            created = job.metadata.creation_timestamp
            _CREATION_SKEW.observe(((created or self._now) - run).total_seconds())
            self._tell(NORMAL, "SuccessfulCreate", f"Created job {job.metadata.name}")
        # If the process crashes before the status is written, the next sync finds the job by its name, which is made
        # from the run's time.
        cron_job.status.active = [*active(cron_job), reference_to(job)]
        cron_job.status.last_schedule_time = run
        self._changed = True

    async def _replace(self) -> None:
        for reference in active(self._cron_job):
            try:
                job = await self._server.get(reference.name or "", reference.namespace or "")
            except Exception as error:
                self._tell(WARNING, "FailedGet", f"Get job: {error}")
                raise
            if not await self._delete(job):
                raise SyncError(f"could not replace job {meta_namespace_key(job)}")

    async def _delete(self, job: V1Job) -> bool:
        """Delete a job and remove it from the active ones. Returns whether the server accepted the deletion."""
        try:
            await self._server.delete(job.metadata.name, job.metadata.namespace, _BACKGROUND)
        except ClientError as error:
            self._tell(WARNING, "FailedDelete", f"Deleted job: {error}")
            log.error("job_not_deleted", job=meta_namespace_key(job), error=str(error))
            return False
        self._drop(job.metadata.uid)
        self._tell(NORMAL, "SuccessfulDelete", f"Deleted job {job.metadata.name}")
        return True

    def _drop(self, uid: str) -> None:
        status: Any = self._cron_job.status
        status.active = without_active(self._cron_job, uid)
        self._changed = True

    def _tell(self, type_: str, reason: str, message: str) -> None:
        self._recorder.event(self._cron_job, type_, reason, message)


def _own_copy(cron_job: V1CronJob) -> V1CronJob:
    cron_job = copy.copy(cron_job)
    cron_job.status = copy.deepcopy(cron_job.status) if cron_job.status is not None else V1CronJobStatus()
    return cron_job


def _quoted(text: str) -> str:
    """Put a text into double quotes, with the necessary escapes."""
    return json.dumps(text, ensure_ascii=False)
