"""The CronJob controller: makes a job for each run of a schedule.

It is kube-controller-manager's: what wakes it, the order of what a sync does and what it writes are the same. Three
things differ. A run whose name somebody else's job has does not end the schedule: the next run is waited for. And jobs
that another kind of the same name controls are not taken for the CronJob's. A sync waits until the cache shows the last
status that was written: an older one would name jobs that this controller has deleted itself, and miss them.
"""

from __future__ import annotations

from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import GroupResource
from kinformer.models import V1CronJob, V1Job
from kinformer.record import EventRecorder
from kinformer_controllers.cronjob.handlers import CronJobHandler, JobHandler
from kinformer_controllers.cronjob.jobs import add_job_index, jobs_of
from kinformer_controllers.cronjob.options import CronJobOptions
from kinformer_controllers.cronjob.syncing import CronJobSync
from kinformer_controllers.shared.owning.identity import owner_id
from kinformer_controllers.shared.waiting.consistency import ConsistencyStore

__all__ = ("COMPONENT", "CronJobController", "make_controller")

#: The component that its Events are from.
COMPONENT = "cronjob-controller"
CRON_JOBS = GroupResource("batch", "cronjobs")


def make_controller(context: ControllerContext) -> Controller:
    """The entry point ``cronjob``; its options are :class:`.CronJobOptions`."""
    options = context.read(CronJobOptions)
    return CronJobController(
        context.client,
        context.informers,
        context.recorder(COMPONENT),
        clock=context.clock,
        workers=options.concurrent_cron_job_syncs,
    ).controller


class CronJobController:
    """
    Syncs CronJobs.

    :param workers: how many are synced at once
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        *,
        clock: Clock | None = None,
        workers: int = 5,
    ) -> None:
        self._clock = clock or RealClock()
        self._recorder = recorder
        cron_jobs, jobs = informers.informer_for(V1CronJob), informers.informer_for(V1Job)
        add_job_index(jobs)
        self._cron_jobs, self._jobs = cron_jobs.indexer, jobs.indexer
        self._cron_job_server, self._job_server = client.resource(V1CronJob), client.resource(V1Job)
        self.controller = Controller("cronjob", self.sync, workers=workers, clock=self._clock)
        self._seen = ConsistencyStore({CRON_JOBS: cron_jobs.indexer}, self._clock)
        queue = self.controller.queue
        self.controller.handle(jobs, JobHandler(queue, cron_jobs.indexer))
        self.controller.handle(cron_jobs, CronJobHandler(queue, recorder, self._clock))

    async def sync(self, key: str) -> float | None:
        """
        Bring one CronJob to where it should be; never called for the same key twice at a time.

        :return: seconds until its next run, None if it has none until it changes
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
