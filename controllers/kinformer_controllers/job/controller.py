"""The Job controller: runs pods until so many have succeeded, and counts each of them once.

It is kube-controller-manager's: what wakes it, the order of what a sync does and what it writes are the same. Two
things differ. A sync that finds a cache older than its own last write waits for the event that brings it up to date,
rather than failing and trying again. And a sync looks at the pods that matter only, see :mod:`.index`. Not here, as
they are off by default: the Workload and PodGroup of a Job.
"""

from __future__ import annotations

from functools import partial

import anyio

from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import GroupResource, SelectorError
from kinformer.models import V1Job, V1Pod
from kinformer.record import WARNING, EventRecorder
from kinformer.workqueue import ItemExponentialFailureRateLimiter
from kinformer_controllers.job.backoff import Backoff
from kinformer_controllers.job.handlers import JobHandler, PodHandler, job_named_by
from kinformer_controllers.job.index import add_job_pod_index, done_pods_of_job
from kinformer_controllers.job.management import MAX_PODS_PER_SYNC, PodManager
from kinformer_controllers.job.metrics import STALE_SYNC_SKIPS, SYNC_SECONDS, SYNCS
from kinformer_controllers.job.options import JobOptions
from kinformer_controllers.job.orphans import Orphans
from kinformer_controllers.job.ownership import JobPodClaims
from kinformer_controllers.job.reconciling import Reconciler, own_copy
from kinformer_controllers.job.released import Released
from kinformer_controllers.job.spec import completion_mode, external_manager, is_finished, unknown_completion_mode
from kinformer_controllers.job.tracking import JobTracker
from kinformer_controllers.shared.owning.identity import owner_id
from kinformer_controllers.shared.waiting.consistency import ConsistencyStore
from kinformer_controllers.shared.waiting.expectations import Expectations
from kinformer_controllers.shared.writing.pods import PodControl, PodWriter

__all__ = ("COMPONENT", "JobController", "make_controller")

log = get_logger(__name__)

#: The component that its Events are from.
COMPONENT = "job-controller"
_PODS = GroupResource("", "pods")
_JOBS = GroupResource("batch", "jobs")
#: Seconds that a Job waits after its sync failed: the first time, and at most.
_RETRY = (1.0, 60.0)


def make_controller(context: ControllerContext) -> JobController:
    """The entry point ``job``; its options are :class:`.JobOptions`."""
    options = context.read(JobOptions)
    return JobController(
        context.client,
        context.informers,
        context.recorder(COMPONENT),
        clock=context.clock,
        workers=options.concurrent_job_syncs,
    )


class JobController:
    """
    Syncs Jobs.

    :param pods: writes pods; to the client's server if None
    :param workers: how many Jobs are synced at once, and how many orphans besides
    :param most: pods that one sync makes or removes at most
    """

    def __init__(
        self,
        client: Client,
        informers: SharedInformerFactory,
        recorder: EventRecorder,
        *,
        pods: PodWriter | None = None,
        clock: Clock | None = None,
        workers: int = 5,
        most: int = MAX_PODS_PER_SYNC,
    ) -> None:
        clock = self._clock = clock or RealClock()
        jobs, pod_informer = informers.informer_for(V1Job), informers.informer_for(V1Pod)
        add_job_pod_index(pod_informer)
        self._informers = (jobs, pod_informer)
        self._jobs, self._recorder = jobs.indexer, recorder
        server = client.resource(V1Job)
        seen = self._seen = ConsistencyStore(
            {_PODS: pod_informer.indexer, _JOBS: jobs.indexer}, clock, skips=STALE_SYNC_SKIPS
        )
        control = pods or PodControl(client, recorder, lambda job, version: seen.wrote(job, _PODS, version))
        self.expectations, self.released = Expectations(clock), Released()
        self.backoffs: dict[str, Backoff] = {}
        retry = partial(ItemExponentialFailureRateLimiter, *_RETRY)
        self.controller = Controller("job", self.sync, workers=workers, limiter=retry(), clock=clock)
        queue = self.controller.queue
        self.tracker = JobTracker(
            server,
            control,
            self.released,
            recorder,
            clock,
            wrote=lambda job, version: seen.wrote(job, _JOBS, version),
            remember=self.backoffs.__setitem__,
        )
        self._reconciler = Reconciler(
            control,
            PodManager(control, self.expectations, queue.add_after, clock, most=most),
            self.tracker,
            self.released,
            recorder,
            clock,
            backoffs=self.backoffs,
            done_pods=partial(done_pods_of_job, pod_informer.indexer),
            look_again=queue.add_after,
        )
        self._claims = JobPodClaims(server, jobs.indexer, pod_informer.indexer, control)
        orphans = Orphans(pod_informer.indexer, control, partial(job_named_by, jobs.indexer))
        self.orphans = Controller("job_orphan_pod", orphans.sync, workers=workers, limiter=retry(), clock=clock)
        add_orphan = self.orphans.queue.add
        self._forget = (self.expectations.forget, self.released.forget, seen.forget, self._forget_backoff)
        self.controller.handle(jobs, JobHandler(queue, add_orphan, clock, *self._forget))
        self.controller.handle(
            pod_informer,
            PodHandler(
                jobs.indexer,
                queue.add_after,
                add_orphan,
                self._claims.candidates_for,
                self.expectations,
                self.released,
            ),
        )

    @property
    def has_synced(self) -> bool:
        return self.controller.has_synced

    async def run(self) -> None:
        """Work until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run_orphans)
            await self.controller.run()

    async def _run_orphans(self) -> None:
        for informer in self._informers:
            await informer.wait_synced()  # until then every pod would be one
        await self.orphans.run()

    async def sync(self, key: str) -> float | None:
        """
        Bring one Job to where it should be; never called for the same key twice at a time.

        :return: seconds after which to look again, if the cache is behind
        """
        if (wait := self._seen.wait(key)) is not None:
            return wait
        cached = self._jobs.get_by_key(key)
        if cached is None or is_finished(cached):
            for forget in self._forget:
                forget(key, "")
            return None
        if external_manager(cached) is not None:
            return None
        if (mode := unknown_completion_mode(cached)) is not None:
            message = "Skipped Job sync because completion mode is unknown"
            self._recorder.event(cached, WARNING, "UnknownCompletionMode", message)
            log.error("completion_mode_unknown", key=key, mode=mode)
            return None
        began, action, result = self._clock.monotonic(), "reconciling", "error"
        try:
            # Asked before the pods are looked at: what arrives between is not taken for missing.
            may_act = self.expectations.satisfied(owner_id(cached))
            try:
                pods = await self._claims.pods_of(cached)
            except SelectorError as error:
                log.error("selector_not_understood", kind="Job", key=key, error=str(error))
                return None
            action, error_ = await self._reconciler.reconcile(own_copy(cached), pods, may_act=may_act)
            if error_ is not None:
                raise error_
            result = "success"
        finally:
            labels = (completion_mode(cached), result, action)
            SYNC_SECONDS.labels(*labels).observe(self._clock.monotonic() - began)
            SYNCS.labels(*labels).inc()
        return None

    def _forget_backoff(self, key: str, _: str) -> None:
        self.backoffs.pop(key, None)
