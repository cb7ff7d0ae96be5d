"""The CronJob controller: creates a job for each run of a schedule.

It is kube-controller-manager's controller, with the same events, the same order of steps and the same writes, except
for three differences:

- If the name of a run's job is taken by a job that does not belong to the CronJob, the schedule goes on with the next
  run.
- A job whose controller has the CronJob's name but another kind is not counted as the CronJob's.
- A sync waits until the cache shows the last status that was written. An older status could list jobs that this
  controller has deleted, and report them as missing.

After a change of the schedule, the CronJob is queued for the time of its next run, as in Kubernetes.
"""

from __future__ import annotations

from kinformer.cache import Deleted, deletion_handling_key
from kinformer.clock import Clock
from kinformer.controllerutil.owning import controller_of, named_owner
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.manager.predicates import resource_version_changed
from kinformer.meta import meta_namespace_key
from kinformer.models import V1CronJob, V1Job
from kinformer.record import WARNING, EventRecorder
from kinformer.schedules.schedule import ScheduleError, parse_schedule
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.cronjob.jobs import KIND, add_job_index, jobs_of, schedule_text
from kinformer_controllers.cronjob.missed import seconds_to_next_run
from kinformer_controllers.cronjob.spec import CronJobOptions
from kinformer_controllers.cronjob.syncing import CronJobSync

__all__ = (
    "CronJobController",
    "CronJobHandler",
)

log = get_logger(__name__)

#: The source component of its Events.
_COMPONENT = "cronjob-controller"


class CronJobController:
    """Syncs CronJobs."""

    def __init__(self, context: ControllerContext) -> None:
        workers = context.read(CronJobOptions).concurrent_cron_job_syncs
        informers = context.informers
        self._clock = context.clock
        self._recorder = recorder = context.recorder(_COMPONENT)
        cron_jobs, jobs = informers.informer_for(V1CronJob), informers.informer_for(V1Job)
        add_job_index(jobs)
        self._cron_jobs, self._jobs = cron_jobs.indexer, jobs.indexer
        self._cron_job_server, self._job_server = context.client.resource(V1CronJob), context.client.resource(V1Job)
        self.controller = Controller("cronjob", self.sync, workers=workers, consistent=True, clock=self._clock)
        self.controller.watch_mapped(jobs, self.owners_of, resource_version_changed)
        self.controller.handle(cron_jobs, CronJobHandler(self.controller.queue, recorder, self._clock))

    def owners_of(self, job: V1Job) -> list[str]:
        """Return the key of the CronJob that a job belongs to, if it exists."""
        cron_job = named_owner(self._cron_jobs, KIND.kind, job.metadata.namespace, controller_of(job))
        return [meta_namespace_key(cron_job)] if cron_job is not None else []

    async def sync(self, key: str) -> float | None:
        """
        Sync one CronJob. It is never called twice at the same time for one key.

        :return: seconds until its next run; None if there is none until the CronJob changes
        """
        cron_job = self._cron_jobs.get_by_key(key)
        if cron_job is None:
            return None
        return await CronJobSync(
            cron_job,
            jobs_of(self._jobs, cron_job),
            cron_jobs=self._cron_job_server,
            server=self._job_server,
            recorder=self._recorder,
            clock=self._clock,
        ).run()


class CronJobHandler:
    """An event handler for CronJobs."""

    def __init__(self, queue: RateLimitingQueue[str], recorder: EventRecorder, clock: Clock) -> None:
        self._queue = queue
        self._recorder = recorder
        self._clock = clock

    def on_add(self, cron_job: V1CronJob, is_in_initial_list: bool, /) -> None:
        self._queue.add(meta_namespace_key(cron_job))

    def on_update(self, old: V1CronJob, new: V1CronJob, /) -> None:
        key = meta_namespace_key(new)
        if (old.spec.schedule, old.spec.time_zone) == (new.spec.schedule, new.spec.time_zone):
            self._queue.add(key)
            return
        try:
            schedule = parse_schedule(schedule_text(new))
        except ScheduleError as error:
            log.error("schedule_not_understood", cron_job=key, schedule=new.spec.schedule, error=str(error))
            message = f"unparseable schedule for cronjob: {new.spec.schedule}"
            self._recorder.event(new, WARNING, "UnParseableCronJobSchedule", message)
            return
        self._queue.add_after(key, seconds_to_next_run(new, self._clock.now(), schedule))

    def on_delete(self, obj: Deleted[V1CronJob], /) -> None:
        self._queue.add(deletion_handling_key(obj))
