"""Creating missing pods and deleting surplus ones, up to a limit for one sync."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinformer.clock import Clock
from kinformer.controllerutil.batches import write_children
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodControlError, PodWriter, pod_from_template
from kinformer.controllerutil.ranking import pods_to_delete
from kinformer.logs import get_logger
from kinformer.meta import GroupVersionKind, meta_namespace_key, new_controller_ref
from kinformer.models import V1Pod
from kinformer_controllers.shared.replicas.kind import desired_replicas

__all__ = ("ReplicaManager",)

log = get_logger(__name__)

#: The largest number of pods that one sync creates or deletes. The next sync continues when the cache shows these.
_BURST = 500


class ReplicaManager:
    """
    Creates and deletes the pods of owners of one kind.

    :param kind: the owners' kind
    :param related_pods: returns the pods of all owners with the same controller as the given one, for the ranking
    :param owner_references: whether new pods get an owner reference
    """

    def __init__(
        self,
        kind: GroupVersionKind,
        pods: PodWriter,
        expectations: Expectations,
        related_pods: Callable[[Any], Iterable[V1Pod]],
        clock: Clock,
        *,
        owner_references: bool = True,
    ) -> None:
        self._kind = kind
        self._pods = pods
        self._expectations = expectations
        self._related_pods = related_pods
        self._clock = clock
        self._owner_references = owner_references

    async def manage(self, owner: Any, active: Sequence[V1Pod]) -> Exception | None:
        """
        Create the missing pods, or delete the surplus of `active`.

        :return: the first error, if a write failed; it is already recorded by Events, and belongs into the status
        """
        surplus = len(active) - desired_replicas(owner)
        if surplus < 0:
            return await self._create(owner, min(-surplus, _BURST))
        if surplus > 0:
            return await self._delete(owner, active, min(surplus, _BURST))
        return None

    async def _create(self, owner: Any, count: int) -> Exception | None:
        log.debug("too_few_replicas", key=meta_namespace_key(owner), need=desired_replicas(owner), creating=count)
        reference = new_controller_ref(owner, self._kind) if self._owner_references else None
        meta = owner.metadata
        try:
            # All new pods are equal: the server generates their names.
            pod = pod_from_template(owner.spec.template, meta.namespace, meta.name, reference)
        except PodControlError as error:
            return error

        async def create(pod: V1Pod) -> V1Pod:
            return await self._pods.create(pod, owner)

        written = await write_children(self._expectations, owner_id(owner), creations=[pod] * count, create=create)
        return written.error

    async def _delete(self, owner: Any, active: Sequence[V1Pod], count: int) -> Exception | None:
        log.debug("too_many_replicas", key=meta_namespace_key(owner), need=desired_replicas(owner), deleting=count)
        # If all pods are deleted, their order does not matter, and the related pods are not needed.
        related = self._related_pods(owner) if count < len(active) else ()
        doomed = pods_to_delete(active, related, count, self._clock.now())

        async def delete(pod: V1Pod) -> None:
            await self._pods.delete(pod.metadata.namespace, pod.metadata.name, owner)

        written = await write_children(
            self._expectations, owner_id(owner), deletions=doomed, delete=delete, key_of=meta_namespace_key
        )
        return written.error
