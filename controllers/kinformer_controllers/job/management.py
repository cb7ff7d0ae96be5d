"""Creating and deleting a Job's pods, until it has the wanted number of active ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kinformer.clock import Clock
from kinformer.controllerutil.batches import write_children
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.finalizers import remove_finalizers_patch
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodWriter, is_namespace_terminating
from kinformer.controllerutil.pods import is_pod_ready
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Pod
from kinformer_controllers.job.backoff import remaining_for_index
from kinformer_controllers.job.counting import JobPods, first_pending_indexes
from kinformer_controllers.job.metrics import count_pod_creations
from kinformer_controllers.job.modes import (
    is_indexed,
    is_suspended,
    limits_failures_per_index,
    parallelism,
    replaces_only_failed,
)
from kinformer_controllers.job.names import TRACKING_FINALIZER
from kinformer_controllers.job.pods import is_tracked
from kinformer_controllers.job.removal import active_pods_to_remove
from kinformer_controllers.job.template import pod_maker

__all__ = ("BATCH_SECONDS", "MAX_PODS_PER_SYNC", "Managed", "PodManager", "wanted_active")

#: The largest number of pods that one sync creates or deletes, so that other Jobs are not delayed.
MAX_PODS_PER_SYNC: Final = 500
#: How long changes of a Job's pods are collected before the Job is synced, in seconds.
BATCH_SECONDS: Final = 1.0


class Managed(NamedTuple):
    """
    The result of managing a Job's pods.

    :param active: the number of active pods for the status
    :param action: what was done, for the metrics
    :param error: the first error of a write; None if all succeeded
    """

    active: int
    action: str
    error: Exception | None = None


class PodManager:
    """
    Creates and deletes the pods of Jobs.

    :param look_again: queues a Job's key after a number of seconds
    :param most: the largest number of pods that one sync creates or deletes
    """

    def __init__(
        self,
        pods: PodWriter,
        expectations: Expectations,
        look_again: Callable[[str, float], object],
        clock: Clock,
        *,
        most: int = MAX_PODS_PER_SYNC,
    ) -> None:
        self._pods = pods
        self._expectations = expectations
        self._look_again = look_again
        self._clock = clock
        self._most = most

    async def manage(self, stock: JobPods) -> Managed:
        """Delete surplus pods. If there are none, create missing pods, as far as the backoff allows."""
        active = len(stock.active)
        if is_suspended(stock.job):
            return await self._delete(stock, active_pods_to_remove(stock.job, stock.active, active))
        wanted = wanted_active(stock)
        doomed = active_pods_to_remove(stock.job, stock.active, max(active - wanted, 0))[: self._most]
        if doomed:
            return await self._delete(stock, doomed)
        # If only failed pods are replaced, a terminating pod counts until it has ended.
        waited_for = stock.terminating if replaces_only_failed(stock.job) else 0
        missing = wanted - waited_for - active
        if missing > 0:
            return await self._create(stock, min(missing, self._most))
        return Managed(active, "tracking")

    async def _delete(self, stock: JobPods, doomed: Sequence[V1Pod]) -> Managed:
        """Delete pods that should not be counted. Their finalizer is removed first."""
        ready = 0

        async def delete(pod: V1Pod) -> None:
            nonlocal ready
            meta = pod.metadata
            if is_tracked(pod):
                await self._pods.patch(meta.namespace, meta.name, remove_finalizers_patch(pod, TRACKING_FINALIZER))
            ready += is_pod_ready(pod)
            await self._pods.delete(meta.namespace, meta.name, stock.job)

        written = await write_children(
            self._expectations, owner_id(stock.job), deletions=doomed, delete=delete, key_of=meta_namespace_key
        )
        stock.terminating += written.deleted
        stock.ready -= ready
        return Managed(len(stock.active) - written.deleted, "pods_deleted", written.error)

    async def _create(self, stock: JobPods, count: int) -> Managed:
        job, now = stock.job, self._clock.now()
        waits = [] if limits_failures_per_index(job) else [stock.backoff.remaining(now)]
        indexes: list[int | None] = [None] * count
        if is_indexed(job) and not any(waits):
            indexes = list(first_pending_indexes(stock, count))
            if limits_failures_per_index(job):
                waiting = {index: remaining_for_index(stock.kept.get(index or 0), now) for index in indexes}
                indexes = [index for index in indexes if waiting[index] <= 0]
                waits = [] if indexes else list(waiting.values())
        wait = min(waits, default=0.0)
        if wait > 0:
            self._look_again(meta_namespace_key(job), max(wait, BATCH_SECONDS))
            # Kubernetes sets 0 here. But the API refuses a number of active pods that is below that of ready pods.
            return Managed(len(stock.active) if stock.ready else 0, "pods_created")
        if not indexes:
            return Managed(len(stock.active), "pods_created")
        make = pod_maker(stock)
        made = failed = 0

        async def create(index: int | None) -> None:
            nonlocal made, failed
            try:
                await self._pods.create(make(index), job)
            except Exception as error:
                failed += not is_namespace_terminating(error)
                raise
            made += 1

        written = await write_children(self._expectations, owner_id(job), creations=indexes, create=create)
        count_pod_creations(stock, made, failed)
        return Managed(len(stock.active) + written.created, "pods_created", written.error)


def wanted_active(stock: JobPods) -> int:
    """Return how many active pods the Job should have."""
    job = stock.job
    completions: int | None = job.spec.completions
    if completions is None:
        # After the first success no more pods are created. Running pods may finish.
        return len(stock.active) if stock.succeeded > 0 else parallelism(job)
    return max(min(completions - stock.succeeded, parallelism(job)), 0)
