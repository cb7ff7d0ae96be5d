"""Making and removing pods until there are as many as asked for, or until it is too many for one sync."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import anyio
import structlog

from controllers.pods.control import PodWriter, is_namespace_terminating, pod_from_template
from controllers.pods.expectations import UIDTrackingExpectations
from controllers.pods.ranking import pods_to_delete
from controllers.pods.slow_start import slow_start_batch
from controllers.replication.kind import KIND
from controllers.replication.status import desired_replicas
from kinformer.client.errors import NotFound
from kinformer.clock import Clock
from kinformer.meta import meta_namespace_key, new_controller_ref
from kinformer.models import V1Pod, V1ReplicationController

__all__ = ("BURST_REPLICAS", "ReplicaManager")

log = structlog.get_logger(__name__)

#: Pods that one sync makes or removes at most; the next goes on when the cache shows them.
BURST_REPLICAS = 500


class ReplicaManager:
    """
    :param related_pods: the pods of all controllers with the same owner as the given one, for the ranking
    :param owner_references: whether pods that are made name their controller
    """

    def __init__(
        self,
        pods: PodWriter,
        expectations: UIDTrackingExpectations,
        related_pods: Callable[[V1ReplicationController], Iterable[V1Pod]],
        clock: Clock,
        *,
        owner_references: bool = True,
        burst: int = BURST_REPLICAS,
    ) -> None:
        self._pods = pods
        self._expectations = expectations
        self._related_pods = related_pods
        self._clock = clock
        self._owner_references = owner_references
        self._burst = burst

    async def manage(self, rc: V1ReplicationController, active: Sequence[V1Pod]) -> Exception | None:
        """
        Make what is missing of `active`, or remove what is too much.

        :return: the first error, if not all could be done; it is told by Events and belongs into the status
        """
        surplus = len(active) - desired_replicas(rc)
        if surplus < 0:
            return await self._create(rc, min(-surplus, self._burst))
        if surplus > 0:
            return await self._delete(rc, active, min(surplus, self._burst))
        return None

    async def _create(self, rc: V1ReplicationController, count: int) -> Exception | None:
        key = meta_namespace_key(rc)
        reference = new_controller_ref(rc, KIND) if self._owner_references else None
        self._expectations.expect_creations(key, count)
        log.debug("too_few_replicas", key=key, need=desired_replicas(rc), creating=count)

        pod: V1Pod | None = None

        async def create() -> None:
            nonlocal pod
            try:
                pod = pod or pod_from_template(rc.spec.template, rc.metadata.namespace, rc.metadata.name, reference)
                await self._pods.create(pod, rc)
            except Exception as error:
                # None will succeed any more, and the controller itself goes next: nothing to try again for.
                if not is_namespace_terminating(error):
                    raise

        successes, error = await slow_start_batch(count, create)
        # What was not made will not be seen either.
        self._expectations.lower(key, creations=count - successes)
        return error

    async def _delete(self, rc: V1ReplicationController, active: Sequence[V1Pod], count: int) -> Exception | None:
        key = meta_namespace_key(rc)
        doomed = pods_to_delete(active, self._related_pods(rc), count, self._clock.now())
        # By name, so that each is crossed off once: as an update with a deletion timestamp, or as a delete.
        self._expectations.expect_deletions(key, map(meta_namespace_key, doomed))
        log.debug("too_many_replicas", key=key, need=desired_replicas(rc), deleting=count)
        errors: list[Exception] = []

        async def delete(pod: V1Pod) -> None:
            try:
                await self._pods.delete(pod.metadata.namespace, pod.metadata.name, rc)
            except Exception as error:  # whatever it is, it is this sync's answer
                self._expectations.deletion_observed(key, meta_namespace_key(pod))
                if not isinstance(error, NotFound):
                    errors.append(error)

        async with anyio.create_task_group() as tasks:
            for pod in doomed:
                tasks.start_soon(delete, pod)
        return errors[0] if errors else None
