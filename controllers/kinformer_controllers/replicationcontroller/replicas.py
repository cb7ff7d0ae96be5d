"""Making and removing pods until there are as many as asked for, or until it is too many for one sync."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import meta_namespace_key, new_controller_ref
from kinformer.models import V1Pod, V1ReplicationController
from kinformer_controllers.replicationcontroller.kind import KIND
from kinformer_controllers.replicationcontroller.status import desired_replicas
from kinformer_controllers.shared.owning.batches import create_pods, delete_pods
from kinformer_controllers.shared.owning.control import PodWriter, pod_from_template
from kinformer_controllers.shared.owning.expectations import UIDTrackingExpectations
from kinformer_controllers.shared.owning.ranking import pods_to_delete

__all__ = ("BURST_REPLICAS", "ReplicaManager")

log = get_logger(__name__)

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
        reference = new_controller_ref(rc, KIND) if self._owner_references else None
        meta = rc.metadata

        def make_pod() -> V1Pod:
            return pod_from_template(rc.spec.template, meta.namespace, meta.name, reference)

        log.debug("too_few_replicas", key=meta_namespace_key(rc), need=desired_replicas(rc), creating=count)
        return await create_pods(self._pods, self._expectations, rc, count, make_pod)

    async def _delete(self, rc: V1ReplicationController, active: Sequence[V1Pod], count: int) -> Exception | None:
        doomed = pods_to_delete(active, self._related_pods(rc), count, self._clock.now())
        log.debug("too_many_replicas", key=meta_namespace_key(rc), need=desired_replicas(rc), deleting=count)
        return await delete_pods(self._pods, self._expectations, rc, doomed)
