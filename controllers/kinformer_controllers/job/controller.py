"""The Job controller: runs pods until enough have succeeded, and counts each of them once.

It is kube-controller-manager's controller, with the same events, the same order of steps and the same writes, except
for two differences. If a sync finds that a cache is older than its own last write, it waits until the cache has that
write; Kubernetes' sync fails and is retried. And a sync reads only the pods that matter, see :mod:`.pods`. Not
supported, because they are off by default: the Workload and PodGroup of a Job. A Job that cannot be synced is reported
once, and skipped until it changes.
"""

from __future__ import annotations

from functools import partial

from kinformer.cache.division import OwnUid
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import named_owner, owner_id
from kinformer.controllerutil.pod_control import PodControl
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, Group
from kinformer.meta import SelectorError, label_selector_as_selector, meta_namespace_key
from kinformer.models import V1Job, V1Pod
from kinformer.record import WARNING, EventRecorder
from kinformer.workqueue import ItemExponentialFailureRateLimiter
from kinformer_controllers.job.handlers import JobHandler, PodHandler
from kinformer_controllers.job.jobs import KIND, external_manager, is_finished, unknown_completion_mode
from kinformer_controllers.job.management import MAX_PODS_PER_SYNC
from kinformer_controllers.job.metrics import STALE_SYNC_SKIPS, timed_sync
from kinformer_controllers.job.owning import JobPodClaims, OrphanKey, Orphans
from kinformer_controllers.job.pods import add_job_pod_index, done_pods_of_job
from kinformer_controllers.job.reconciling import Reconciler, own_copy
from kinformer_controllers.job.spec import JobOptions

__all__ = ("JobController",)

log = get_logger(__name__)

#: The source component of its Events.
_COMPONENT = "job-controller"
#: The first and the longest delay after a failed sync, in seconds.
_RETRY = (1.0, 60.0)


class JobController(Group):
    """
    Syncs Jobs.

    :param pods: writes pods; None for a writer to the client's server
    :param most: the largest number of pods that one sync creates or deletes
    """

    def __init__(
        self, context: ControllerContext, *, pods: PodControl | None = None, most: int = MAX_PODS_PER_SYNC
    ) -> None:
        workers = context.read(JobOptions).concurrent_job_syncs
        informers = context.informers
        self._clock = clock = context.clock
        self._recorder = recorder = context.recorder(_COMPONENT)
        jobs, pod_informer = informers.informer_for(V1Job), informers.informer_for(V1Pod)
        self._jobs, server = jobs.indexer, context.client.resource(V1Job)
        add_job_pod_index(pod_informer)
        control = pods or PodControl(context.client, recorder)
        self.expectations = Expectations(clock)
        #: By uid, the pods without the finalizer that the cache still shows with it. They must not be counted again.
        self.released = Expectations(clock)
        limiter = partial(ItemExponentialFailureRateLimiter, *_RETRY)
        self.controller = Controller(
            "job",
            self.sync,
            workers=workers,
            limiter=limiter(),
            consistent=True,
            shard_by_owner=OwnUid(jobs),
            on_stale=lambda it: STALE_SYNC_SKIPS.labels(it.group, it.resource).inc(),
            clock=clock,
        )
        self.claims = JobPodClaims(server, jobs.indexer, pod_informer.indexer, control)
        orphans = Orphans(pod_informer.indexer, control, partial(named_owner, jobs.indexer, KIND.kind))
        self.orphan_sync = orphans.sync
        self.orphans = Controller(
            "job_orphan_pod",
            self.orphan_sync,
            workers=workers,
            limiter=limiter(),
            shard_by=lambda key: OrphanKey.parse(key).namespace,
            shard_by_owner=orphans.shard_of,
            clock=clock,
        )
        queue, orphan = self.controller.queue, self.orphans.queue.add
        self.reconciler = Reconciler(
            server,
            control,
            self.expectations,
            self.released,
            recorder,
            clock,
            done_pods=partial(done_pods_of_job, pod_informer.indexer),
            look_again=queue.add_after,
            most=most,
        )
        self.backoffs = self.reconciler.backoffs
        self.forget = (self.expectations.forget, self.released.forget, self.reconciler.forget)
        candidates = self.claims.candidates_for
        pod_handler = PodHandler(jobs.indexer, queue.add_after, orphan, candidates, self.expectations, self.released)
        self.controller.handle(jobs, JobHandler(queue, orphan, clock, *self.forget))
        self.controller.handle(pod_informer, pod_handler)
        # Before the caches are complete, every pod would look like an orphan.
        self.orphans.wait_for(jobs).wait_for(pod_informer)
        super().__init__(self.controller, self.orphans)

    async def sync(self, key: str) -> None:
        """Sync one Job. It is never called twice at the same time for one key."""
        job = self._jobs.get_by_key(key)
        if job is None or is_finished(job):
            for forget in self.forget:
                forget(key, "")
        elif external_manager(job) is None and _is_understood(job, self._recorder):
            with timed_sync(job, self._clock) as timed:
                # This is checked before the pods are read, so that pods which arrive in between do not seem missing.
                may_act = self.expectations.satisfied(owner_id(job))
                pods = await self.claims.pods_of(job)
                timed.action, error = await self.reconciler.reconcile(own_copy(job), pods, may_act=may_act)
                if error is not None:
                    raise error


def _is_understood(job: V1Job, recorder: EventRecorder) -> bool:
    """Whether a Job can be synced. If not, the reason is logged, and recorded as an Event where Kubernetes does so."""
    key = meta_namespace_key(job)
    if (mode := unknown_completion_mode(job)) is not None:
        message = "Skipped Job sync because completion mode is unknown"
        recorder.event(job, WARNING, "UnknownCompletionMode", message)
        log.error("completion_mode_unknown", key=key, mode=mode)
        return False
    try:
        label_selector_as_selector(job.spec.selector)
    except SelectorError as error:
        log.error("selector_not_understood", kind="Job", key=key, error=str(error))
        return False
    return True
