"""The CronJob controller: creates a job for each run of a schedule.

It is kube-controller-manager's controller, with the same events, the same order of steps and the same writes, except
for three differences:

- If the name of a run's job is taken by a job that does not belong to the CronJob, the schedule goes on with the next
  run.
- A job whose controller has the CronJob's name but another kind is not counted as the CronJob's.
- A sync waits until the cache shows the last status that was written. An older status could list jobs that this
  controller has deleted, and report them as missing.
"""

from __future__ import annotations

from kinformer.controllerutil.consistency import ConsistencyStore
from kinformer.controllerutil.owning import owner_id
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import GroupResource
from kinformer.models import V1CronJob, V1Job
from kinformer_controllers.cronjob.handlers import CronJobHandler, JobHandler
from kinformer_controllers.cronjob.jobs import add_job_index, jobs_of
from kinformer_controllers.cronjob.spec import CronJobOptions
from kinformer_controllers.cronjob.syncing import CronJobSync

__all__ = ("COMPONENT", "CronJobController", "make_controller")

#: The source component of its Events.
COMPONENT = "cronjob-controller"
CRON_JOBS = GroupResource("batch", "cronjobs")


def make_controller(context: ControllerContext) -> Controller:
    """The entry point ``cronjob``; its options are :class:`.CronJobOptions`."""
    return CronJobController(context).controller


class CronJobController:
    """Syncs CronJobs."""

    def __init__(self, context: ControllerContext) -> None:
        workers = context.read(CronJobOptions).concurrent_cron_job_syncs
        informers = context.informers
        self._clock = context.clock
        self._recorder = recorder = context.recorder(COMPONENT)
        cron_jobs, jobs = informers.informer_for(V1CronJob), informers.informer_for(V1Job)
        add_job_index(jobs)
        self._cron_jobs, self._jobs = cron_jobs.indexer, jobs.indexer
        self._cron_job_server, self._job_server = context.client.resource(V1CronJob), context.client.resource(V1Job)
        self.controller = Controller("cronjob", self.sync, workers=workers, clock=self._clock)
        self._seen = ConsistencyStore({CRON_JOBS: cron_jobs.indexer}, self._clock)
        queue = self.controller.queue
        self.controller.handle(jobs, JobHandler(queue, cron_jobs.indexer))
        self.controller.handle(cron_jobs, CronJobHandler(queue, recorder, self._clock))

    async def sync(self, key: str) -> float | None:
        """
        Sync one CronJob. It is never called twice at the same time for one key.

        :return: seconds until its next run; None if there is none until the CronJob changes
        """
        if (wait := self._seen.wait(key)) is not None:
            return wait
        cron_job = self._cron_jobs.get_by_key(key)
        if cron_job is None:
            self._seen.forget(key)
            return None
        return await CronJobSync(
            cron_job,
            jobs_of(self._jobs, cron_job),
            cron_jobs=self._cron_job_server,
            server=self._job_server,
            recorder=self._recorder,
            clock=self._clock,
            wrote=self._wrote,
        ).run()

    def _wrote(self, cron_job: V1CronJob) -> None:
        self._seen.wrote(owner_id(cron_job), CRON_JOBS, cron_job.metadata.resource_version)
