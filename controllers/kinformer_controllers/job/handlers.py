"""Event handlers that queue a Job when it or its pods change.

A change of the Job's spec is synced at once. Changes of its status and of its pods are collected for one second. A pod
that no longer belongs to a Job and still has the tracking finalizer goes into the queue of orphans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from kinformer.cache import Deleted, Indexer, deletion_handling_key, last_state
from kinformer.clock import Clock
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import controller_of, named_owner, owner_id
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Job, V1OwnerReference, V1Pod
from kinformer.workqueue import RateLimitingQueue
from kinformer_controllers.job.jobs import KIND, external_manager, is_finished
from kinformer_controllers.job.management import BATCH_SECONDS
from kinformer_controllers.job.metrics import BY_EXTERNAL_CONTROLLER, count_tracked_terminated_pod
from kinformer_controllers.job.owning import OrphanKey
from kinformer_controllers.job.pods import is_tracked

__all__ = ("JobHandler", "PodHandler")


class _AddsAfter(Protocol):
    def __call__(self, item: str, seconds: float) -> None: ...


class JobHandler:
    """
    An event handler for Jobs.

    :param orphans: adds a key to the queue of orphans
    :param forget: called with the key and the uid of each Job that is gone; the uid is empty if it is not known
    """

    def __init__(
        self,
        queue: RateLimitingQueue[str],
        orphans: Callable[[str], object],
        clock: Clock,
        *forget: Callable[[str, str], object],
    ) -> None:
        self._add = queue.add
        self._add_after = queue.add_after
        self._orphans = orphans
        self._clock = clock
        self._forget = forget

    def on_add(self, job: V1Job, is_in_initial_list: bool, /) -> None:
        self._add(meta_namespace_key(job))
        if (manager := external_manager(job)) is not None:
            BY_EXTERNAL_CONTROLLER.labels(manager).inc()

    def on_update(self, old: V1Job, new: V1Job, /) -> None:
        if old.metadata.uid != new.metadata.uid:
            # It was deleted and created again, and the watch did not show the deletion.
            self._gone(meta_namespace_key(old), old)
        key = meta_namespace_key(new)
        if is_finished(new):
            # Its pods should have lost their finalizers. One that still has it would otherwise keep it forever.
            self._orphans(OrphanKey.of_job(new).text)
            self._add_after(key, BATCH_SECONDS)
            return
        if new.metadata.generation == old.metadata.generation:
            self._add_after(key, BATCH_SECONDS)
        else:
            self._add(key)
        self._queue_for_deadline(key, old, new)

    def on_delete(self, obj: Deleted[V1Job], /) -> None:
        self._gone(deletion_handling_key(obj), last_state(obj))

    def _gone(self, key: str, job: V1Job | None) -> None:
        self._add(key)
        for forget in self._forget:
            forget(key, job.metadata.uid or "" if job is not None else "")
        if job is not None:
            self._orphans(OrphanKey.of_job(job).text)

    def _queue_for_deadline(self, key: str, old: V1Job, new: V1Job) -> None:
        """Queue the Job for its deadline if that was changed, because the new one may be earlier."""
        seconds = new.spec.active_deadline_seconds
        start = new.status.start_time if new.status is not None else None
        if start is not None and seconds is not None and seconds != old.spec.active_deadline_seconds:
            self._add_after(key, (start + timedelta(seconds=min(seconds, 2**33)) - self._clock.now()).total_seconds())


@dataclass(eq=False, slots=True)
class PodHandler:
    """
    An event handler for pods.

    :param orphans: adds a key to the queue of orphans
    :param candidates: returns the keys of the Jobs that might adopt a pod without a controller
    :param released: by uid, the pods whose finalizers are being removed
    """

    jobs: Indexer[V1Job]
    add_after: _AddsAfter
    orphans: Callable[[str], object]
    candidates: Callable[[V1Pod], list[str]]
    expectations: Expectations
    released: Expectations

    def on_add(self, pod: V1Pod, is_in_initial_list: bool, /) -> None:
        count_tracked_terminated_pod(None, pod)
        if pod.metadata.deletion_timestamp:
            # After a restart of this process: the pod is already being deleted, so it is not an expected creation.
            self._going(pod, final=False)
            return
        reference = controller_of(pod)
        if reference is None:
            self._orphan(pod)
            self._offer(pod)
        elif (job := self._job_of(pod.metadata.namespace, reference)) is not None:
            self.expectations.creation_observed(owner_id(job))
            self._wake(job)

    def on_update(self, old: V1Pod, new: V1Pod, /) -> None:
        count_tracked_terminated_pod(old, new)
        if new.metadata.resource_version == old.metadata.resource_version:
            return  # a resync
        if new.metadata.deletion_timestamp:
            self._going(new, final=False)
            return
        namespace = new.metadata.namespace
        reference, old_reference = controller_of(new), controller_of(old)
        if reference != old_reference and (job := self._job_of(namespace, old_reference)) is not None:
            self._shown(job, new)
            self._wake(job)
        if reference is None:
            self._orphan(new)
            if old_reference is not None or (new.metadata.labels or {}) != (old.metadata.labels or {}):
                self._offer(new)
        elif (job := self._job_of(namespace, reference)) is not None:
            self._shown(job, new)
            self._wake(job)

    def on_delete(self, obj: Deleted[V1Pod], /) -> None:
        # The state in a tombstone may be old. An owner that adopted the pod later learns of its deletion in its next
        # sync.
        pod = last_state(obj)
        if pod is not None:
            count_tracked_terminated_pod(pod, None)
            self._going(pod, final=True)

    def _job_of(self, namespace: str, reference: V1OwnerReference | None) -> V1Job | None:
        return named_owner(self.jobs, KIND.kind, namespace, reference)

    def _going(self, pod: V1Pod, *, final: bool) -> None:
        """
        Handle a pod that is being deleted or is gone.

        :param final: whether it is gone
        """
        reference = controller_of(pod)
        job = self._job_of(pod.metadata.namespace, reference)
        if reference is None or job is None or is_finished(job):
            # No sync will remove its finalizer: its Job is gone or finished, or the garbage collector has removed the
            # reference.
            self._orphan(pod)
            return
        self.expectations.deletion_observed(owner_id(job), meta_namespace_key(pod))
        if final:
            self.released.deletion_observed(owner_id(job), pod.metadata.uid)
        else:
            self._shown(job, pod)
        self._wake(job)

    def _shown(self, job: V1Job, pod: V1Pod) -> None:
        """Note that the cache shows a pod without its finalizer, if it does."""
        if not is_tracked(pod):
            self.released.deletion_observed(owner_id(job), pod.metadata.uid)

    def _wake(self, job: V1Job) -> None:
        self.add_after(meta_namespace_key(job), BATCH_SECONDS)

    def _orphan(self, pod: V1Pod) -> None:
        if is_tracked(pod):
            self.orphans(OrphanKey.of_pod(pod).text)

    def _offer(self, pod: V1Pod) -> None:
        for key in self.candidates(pod):
            self.add_after(key, BATCH_SECONDS)
