"""Event handlers that queue a CronJob when it or one of its jobs changes.

After a change of the schedule, the CronJob is queued for the time of its next run, as in Kubernetes.
"""

from __future__ import annotations

from kinformer.cache import Deleted, Indexer, deletion_handling_key, last_state
from kinformer.clock import Clock
from kinformer.controllerutil.owning import controller_of
from kinformer.logs import get_logger
from kinformer.meta import meta_namespace_key
from kinformer.models import V1CronJob, V1Job, V1OwnerReference
from kinformer.record import WARNING, EventRecorder
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.cronjob.kind import KIND
from kinformer_controllers.cronjob.missed import seconds_to_next_run
from kinformer_controllers.cronjob.schedule import ScheduleError, parse_schedule
from kinformer_controllers.cronjob.template import schedule_text

__all__ = ("CronJobHandler", "JobHandler")

log = get_logger(__name__)


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


class JobHandler:
    """An event handler for Jobs: queues the CronJob that a job belongs to."""

    def __init__(self, queue: RateLimitingQueue[str], cron_jobs: Indexer[V1CronJob]) -> None:
        self._queue = queue
        self._cron_jobs = cron_jobs

    def on_add(self, job: V1Job, is_in_initial_list: bool, /) -> None:
        self._wake(job.metadata.namespace, controller_of(job))

    def on_update(self, old: V1Job, new: V1Job, /) -> None:
        if old.metadata.resource_version == new.metadata.resource_version:
            return  # a resync
        reference, old_reference = controller_of(new), controller_of(old)
        if reference != old_reference:
            self._wake(old.metadata.namespace, old_reference)
        self._wake(new.metadata.namespace, reference)

    def on_delete(self, obj: Deleted[V1Job], /) -> None:
        job = last_state(obj)
        if job is not None:
            self._wake(job.metadata.namespace, controller_of(job))

    def _wake(self, namespace: str, reference: V1OwnerReference | None) -> None:
        if reference is None or reference.kind != KIND.kind:
            return
        key = f"{namespace}/{reference.name}"
        cron_job = self._cron_jobs.get_by_key(key)
        if cron_job is not None and cron_job.metadata.uid == reference.uid:
            self._queue.add(key)
