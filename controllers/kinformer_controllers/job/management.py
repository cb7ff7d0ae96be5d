"""Making and removing a Job's pods, until there are as many active ones as there should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kinformer.clock import Clock
from kinformer.meta import meta_namespace_key
from kinformer.models import V1Pod
from kinformer_controllers.job.backoff import remaining_for_index
from kinformer_controllers.job.counting import JobPods, first_pending_indexes
from kinformer_controllers.job.metrics import count_pod_creations
from kinformer_controllers.job.names import TRACKING_FINALIZER
from kinformer_controllers.job.pods import is_tracked
from kinformer_controllers.job.removal import active_pods_to_remove
from kinformer_controllers.job.spec import (
    is_indexed,
    is_suspended,
    limits_failures_per_index,
    parallelism,
    replaces_only_failed,
)
from kinformer_controllers.job.template import pod_maker
from kinformer_controllers.shared.owning.identity import owner_id
from kinformer_controllers.shared.owning.status import is_pod_ready
from kinformer_controllers.shared.waiting.expectations import Expectations
from kinformer_controllers.shared.writing.batches import write_children
from kinformer_controllers.shared.writing.finalizers import remove_finalizers_patch
from kinformer_controllers.shared.writing.pods import PodWriter, is_namespace_terminating

__all__ = ("BATCH_SECONDS", "MAX_PODS_PER_SYNC", "Managed", "PodManager", "wanted_active")

#: Pods that one sync makes or removes at most, so that other Jobs have their turn.
MAX_PODS_PER_SYNC: Final = 500
#: For so long the changes of a Job's pods are gathered before the Job is synced.
BATCH_SECONDS: Final = 1.0


class Managed(NamedTuple):
    """
    :param active: how many active pods there are now, as the status is to say it
    :param action: what was done, for the metrics
    :param error: what kept the rest from being done
    """

    active: int
    action: str
    error: Exception | None = None


class PodManager:
    """
    :param look_again: has a Job synced after so many seconds
    :param most: pods that one sync makes or removes at most
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
        """Remove what is too much or, if nothing is, make what is missing and may be made."""
        active = len(stock.active)
        if is_suspended(stock.job):
            return await self._delete(stock, active_pods_to_remove(stock.job, stock.active, active))
        wanted = wanted_active(stock)
        doomed = active_pods_to_remove(stock.job, stock.active, max(active - wanted, 0))[: self._most]
        if doomed:
            return await self._delete(stock, doomed)
        # A pod that ends gracefully has its place until it has ended, if only failed ones are replaced.
        waited_for = stock.terminating if replaces_only_failed(stock.job) else 0
        missing = wanted - waited_for - active
        if missing > 0:
            return await self._create(stock, min(missing, self._most))
        return Managed(active, "tracking")

    async def _delete(self, stock: JobPods, doomed: Sequence[V1Pod]) -> Managed:
        """Delete pods that are not to count: they lose their finalizer first."""
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
            # Kubernetes' own number in this case, which the API refuses where there are more ready pods than that.
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
    """How many active pods the Job is to have."""
    job = stock.job
    completions: int | None = job.spec.completions
    if completions is None:
        # Once one has succeeded, no other is started; what runs may go on.
        return len(stock.active) if stock.succeeded > 0 else parallelism(job)
    return max(min(completions - stock.succeeded, parallelism(job)), 0)
