"""The writes that count a Job's ended pods and end the Job. Their order makes sure that no pod is lost.

:mod:`.accounting` computes what to write. The order is: first the status with the uncounted pods, then the pods'
finalizers, then the status with the counters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import anyio

from kinformer.client import Resource
from kinformer.client.errors import NotFound
from kinformer.clock import Clock
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.finalizers import remove_finalizers_patch
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodControl
from kinformer.models import V1Job, V1JobCondition, V1Pod
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.job.accounting import Accounts, account, settle_released, uncounted_of
from kinformer_controllers.job.counting import Backoff, JobPods
from kinformer_controllers.job.jobs import TRACKING_FINALIZER, completion_mode
from kinformer_controllers.job.metrics import FINISHED, HANDLED_FAILURES, count_finished_pods
from kinformer_controllers.job.outcome import ensure_condition, failed_for, is_condition_true, new_condition

__all__ = ("JobTracker",)


@dataclass(eq=False, slots=True)
class JobTracker:
    """
    Counts the ended pods of Jobs, and ends Jobs.

    :param remember: called with the Job's key and backoff when its failures are in the status
    """

    jobs: Resource[V1Job]
    pods: PodControl
    released: Expectations
    recorder: EventRecorder
    clock: Clock
    _: KW_ONLY
    remember: Callable[[str, Backoff], object]

    async def declare(self, stock: JobPods) -> None:
        """
        Write the condition with which the Job ends, if its status does not have it yet.

        This is done before the first pod is deleted because of it. Otherwise, after a crash, the next sync would count
        these deleted pods as failures, and the Job could fail because of them.

        :raises ClientError: if the server refuses the write
        """
        finished = stock.finished
        if finished is None or is_condition_true(stock.job, finished.type):
            return
        if finished.type not in ("FailureTarget", "SuccessCriteriaMet"):
            return
        status = stock.job.status
        status.conditions = [*(status.conditions or ()), finished]
        stock.job = await self._write(stock.job)
        if finished.type == "FailureTarget":
            stock.finished = failed_for(finished, self.clock.now())

    async def track(self, stock: JobPods, changed: bool) -> None:
        """
        Count the ended pods, and end the Job if it is to end.

        The status of `stock.job` already has the sync's other results. All are written together. If another client has
        changed the Job, the write meets a conflict and the sync is repeated.

        :param changed: whether the status already has changes
        :raises ClientError: if a write was refused; earlier writes stay, and the next sync continues from them
        """
        key = owner_id(stock.job).key
        before = copy.deepcopy(stock.job.status)
        accounts = account(stock)
        finished = self._interim(stock, accounts)
        if changed or accounts.changed:
            stock.job = await self._write(stock.job)
            self.remember(key, stock.backoff)
            count_finished_pods(stock.job, before)
            before = copy.deepcopy(stock.job.status)
        for action, count in accounts.actions.items():
            HANDLED_FAILURES.labels(action).inc(count)
        error = await self._release(stock, accounts)
        settled = settle_released(stock.job.status, accounts.held)
        if error is not None:
            if settled:
                await self._write(stock.job)
            raise error
        ends = finished is not None and not accounts.full and _may_end(stock)
        if finished is not None and ends:
            self._end(stock.job, finished)
        if settled or ends:
            stock.job = await self._write(stock.job)
            if finished is not None and ends:
                self._tell(stock.job, finished)
            count_finished_pods(stock.job, before)

    def _interim(self, stock: JobPods, accounts: Accounts) -> V1JobCondition | None:
        """
        Add the condition FailureTarget or SuccessCriteriaMet to the status. It must be there before pods are released.

        :return: the final condition
        """
        finished, status, now = stock.finished, stock.job.status, self.clock.now()
        if finished is None:
            return None
        if finished.type == "FailureTarget":
            status.conditions = [*(status.conditions or ()), finished]
            accounts.changed = True
            return failed_for(finished, now)
        if finished.type == "SuccessCriteriaMet":
            if not is_condition_true(stock.job, "SuccessCriteriaMet"):
                status.conditions = [*(status.conditions or ()), finished]
                accounts.changed = True
            return new_condition("Complete", finished.reason or "", finished.message or "", now)
        return finished

    async def _release(self, stock: JobPods, accounts: Accounts) -> Exception | None:
        """
        Remove the finalizers of all pods at the same time. Returns the first error; a pod that is gone is no error.
        """
        job = owner_id(stock.job)
        errors: list[Exception] = []
        released = {*self.released.awaited_deletions(job), *(pod.metadata.uid for pod in accounts.release)}
        self.released.expect(job, deletions=released)

        async def release(pod: V1Pod) -> None:
            meta = pod.metadata
            try:
                await self.pods.patch(meta.namespace, meta.name, remove_finalizers_patch(pod, TRACKING_FINALIZER))
            except Exception as error:  # of any type: the other pods must be released, too; then the sync fails
                self.released.deletion_observed(job, meta.uid)
                if not isinstance(error, NotFound):
                    errors.append(error)
                    return
            accounts.held.discard(meta.uid)

        await _all_at_once(release, accounts.release)
        return errors[0] if errors else None

    def _end(self, job: V1Job, finished: V1JobCondition) -> None:
        job.status.conditions, _ = ensure_condition(job.status.conditions, finished)
        if finished.type == "Complete":
            job.status.completion_time = finished.last_transition_time

    def _tell(self, job: V1Job, finished: V1JobCondition) -> None:
        mode = completion_mode(job)
        if finished.type != "Complete":
            self.recorder.event(job, WARNING, finished.reason or "", finished.message or "")
            FINISHED.labels(mode, "failed", finished.reason).inc()
            return
        if job.spec.completions is not None and (job.status.succeeded or 0) > job.spec.completions:
            message = "Too many succeeded pods running after completion count reached"
            self.recorder.event(job, WARNING, "TooManySucceededPods", message)
        self.recorder.event(job, NORMAL, "Completed", "Job completed")
        FINISHED.labels(mode, "succeeded", finished.reason).inc()

    async def _write(self, job: V1Job) -> V1Job:
        written = await self.jobs.update_status(job)
        uncounted_of(written.status)
        return written


def _may_end(stock: JobPods) -> bool:
    """Whether all pods have ended and are counted."""
    uncounted = uncounted_of(stock.job.status)
    return not (uncounted.succeeded or uncounted.failed or stock.terminating)


async def _all_at_once(call: Callable[[V1Pod], Coroutine[Any, Any, None]], pods: Sequence[V1Pod]) -> None:
    async with anyio.create_task_group() as tasks:
        for pod in pods:
            tasks.start_soon(call, pod)
