"""One sync of a Job: counts its pods, decides whether it ends, creates or deletes pods, writes its status."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import anyio

from kinformer.client import Resource
from kinformer.client.errors import NotFound
from kinformer.clock import Clock
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodControl
from kinformer.controllerutil.pods import is_pod_ready, pod_phase
from kinformer.models import V1Job, V1JobStatus, V1Pod
from kinformer.record import NORMAL, EventRecorder
from kinformer_controllers.job.accounting import uncounted_of
from kinformer_controllers.job.counting import Backoff, JobPods, take_stock
from kinformer_controllers.job.jobs import is_suspended
from kinformer_controllers.job.management import MAX_PODS_PER_SYNC, PodManager
from kinformer_controllers.job.outcome import completed, ensure_condition, new_condition, seconds_to_deadline, verdict
from kinformer_controllers.job.tracking import JobTracker

__all__ = ("Reconciled", "Reconciler", "own_copy")


class Reconciled(NamedTuple):
    """
    The result of a sync.

    :param action: what was done to pods, for the metrics
    :param error: the first error of creating or deleting pods; the status was written anyway
    """

    action: str
    error: Exception | None = None


class Reconciler:
    """
    Syncs Jobs.

    :param jobs: writes the status of Jobs
    :param done_pods: returns the pods of a Job that have succeeded and were counted
    :param look_again: queues a Job's key after a number of seconds
    :param most: the largest number of pods that one sync creates or deletes
    """

    def __init__(
        self,
        jobs: Resource[V1Job],
        pods: PodControl,
        expectations: Expectations,
        released: Expectations,
        recorder: EventRecorder,
        clock: Clock,
        *,
        done_pods: Callable[[V1Job], Sequence[V1Pod]],
        look_again: Callable[[str, float], object],
        most: int = MAX_PODS_PER_SYNC,
    ) -> None:
        #: The failures of each Job, by its key.
        self.backoffs: dict[str, Backoff] = {}
        self.tracker = JobTracker(jobs, pods, released, recorder, clock, remember=self.backoffs.__setitem__)
        self._manager = PodManager(pods, expectations, look_again, clock, most=most)
        self._pods = pods
        self._released = released
        self._recorder = recorder
        self._clock = clock
        self._done_pods = done_pods
        self._look_again = look_again

    def forget(self, key: str, _: str = "") -> None:
        """Forget a Job that is gone or finished."""
        self.backoffs.pop(key, None)

    async def reconcile(self, job: V1Job, pods: Sequence[V1Pod], *, may_act: bool) -> Reconciled:
        """
        Sync a Job.

        :param job: the sync's own copy, see :func:`own_copy`
        :param may_act: whether the Job's expectations are satisfied, so that pods may be created and deleted
        :raises ClientError: if the status or a finalizer could not be written
        """
        now, key = self._clock.now(), owner_id(job).key
        status: Any = job.status
        stock = take_stock(job, pods, self._released.awaited_deletions(owner_id(job)))
        if status.start_time is None and not is_suspended(job):
            status.start_time = now.replace(microsecond=0)
        backoff = self.backoffs.get(key)
        if backoff is None:
            backoff = self._recalled(stock)
        stock.backoff = backoff.after(stock.new_succeeded, stock.new_failed)
        stock.finished = verdict(stock, now)
        done, changed = Reconciled("reconciling"), False
        if stock.finished is not None:
            if stock.active and may_act:
                await self.tracker.declare(stock)
            active, error = await self._remove_all(stock, may_act)
            done = Reconciled("reconciling", error)
        else:
            self._look_again_at_deadline(job, key)
            active, managed = len(stock.active), may_act and job.metadata.deletion_timestamp is None
            if managed:
                active, action, error = await self._manager.manage(stock)
                done = Reconciled(action, error)
            stock.finished = completed(stock, active, now)
            if stock.finished is None and managed:
                changed = self._note_suspension(job)
        job, status = stock.job, stock.job.status
        current = (active, stock.ready, stock.terminating)
        changed = changed or current != (status.active or 0, status.ready, status.terminating)
        status.active, status.ready, status.terminating = active or None, stock.ready, stock.terminating
        await self.tracker.track(stock, changed)
        return done

    def _recalled(self, stock: JobPods) -> Backoff:
        """Compute the backoff of a Job, which is not in memory, from its pods that were already counted."""
        new = {pod.metadata.uid for pod in stock.new_failed}
        failed = [pod for pod in stock.pods if pod_phase(pod) == "Failed" and pod.metadata.uid not in new]
        return Backoff().after(self._done_pods(stock.job), failed) if failed else Backoff()

    async def _remove_all(self, stock: JobPods, may_act: bool) -> tuple[int, Exception | None]:
        """Delete the active pods of a Job that ends. Their finalizers stay until they are counted."""
        errors: list[Exception] = []

        async def delete(pod: V1Pod) -> None:
            try:
                await self._pods.delete(pod.metadata.namespace, pod.metadata.name, stock.job)
            except NotFound:
                pass
            except Exception as error:  # of any type: the other pods must be deleted, too; then the sync fails
                errors.append(error)
            stock.ready -= is_pod_ready(pod)

        async with anyio.create_task_group() as tasks:
            for pod in stock.active:
                tasks.start_soon(delete, pod)
        if errors or not may_act:
            # Some pods could not be deleted, or the cache may not show all pods. The Job must not end before.
            stock.finished = None
        stock.terminating += len(stock.active) - len(errors)
        return len(errors), errors[0] if errors else None

    def _look_again_at_deadline(self, job: V1Job, key: str) -> None:
        left = seconds_to_deadline(job, self._clock.now())
        if left is not None:
            self._look_again(key, left)

    def _note_suspension(self, job: V1Job) -> bool:
        """Write into the status that the Job was suspended or resumed. Returns whether this is new."""
        now = self._clock.now()
        status: Any = job.status
        if is_suspended(job):
            condition = new_condition("Suspended", "JobSuspended", "Job suspended", now)
        else:
            condition = new_condition("Suspended", "JobResumed", "Job resumed", now, status="False")
        conditions, changed = ensure_condition(status.conditions, condition)
        if not changed:
            return False
        status.conditions = conditions
        if is_suspended(job):
            self._recorder.event(job, NORMAL, "Suspended", "Job suspended")
            status.start_time = None
        else:
            self._recorder.event(job, NORMAL, "Resumed", "Job resumed")
            # The active deadline starts now, because it does not run while a Job is suspended.
            status.start_time = now.replace(microsecond=0)
        return True


def own_copy(job: V1Job) -> V1Job:
    """Return a copy of a cached Job whose status may be changed."""
    job = copy.copy(job)
    job.status = copy.deepcopy(job.status) if job.status is not None else V1JobStatus()
    uncounted_of(job.status)
    return job
