"""The pods of a ReplicaSet or ReplicationController: creating missing ones, deleting surplus ones, and its status.

The status says how many pods there are, how far they are, and what keeps the controller from more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Any

from kinformer.clock import Clock
from kinformer.controllerutil.batches import write_children
from kinformer.controllerutil.conditions import get_condition, put_condition, without_condition
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import (
    FAILED_CREATE,
    FAILED_DELETE,
    PodControl,
    PodControlError,
    pod_from_template,
)
from kinformer.controllerutil.pods import is_pod_available, is_pod_ready
from kinformer.controllerutil.ranking import pods_to_delete
from kinformer.logs import get_logger
from kinformer.meta import GroupVersionKind, meta_namespace_key, new_controller_ref
from kinformer.models import V1Pod
from kinformer_controllers.shared.replicas.owners import ReplicaKind, desired_replicas

__all__ = (
    "ReplicaManager",
    "compute_status",
    "same_status",
)

log = get_logger(__name__)

#: The largest number of pods that one sync creates or deletes. The next sync continues when the cache shows these.
_BURST = 500

#: The condition of an owner that could not make, or not delete, a pod.
_REPLICA_FAILURE = "ReplicaFailure"

_COUNTS = ("replicas", "fully_labeled_replicas", "ready_replicas", "available_replicas")


@dataclass(eq=False, slots=True)
class ReplicaManager:
    """
    Creates and deletes the pods of owners of one kind.

    :param kind: the owners' kind
    :param related_pods: returns the pods of all owners with the same controller as the given one, for the ranking
    :param owner_references: whether new pods get an owner reference
    """

    kind: GroupVersionKind
    pods: PodControl
    expectations: Expectations
    related_pods: Callable[[Any], Iterable[V1Pod]]
    clock: Clock
    _: KW_ONLY
    owner_references: bool = True

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
        reference = new_controller_ref(owner, self.kind) if self.owner_references else None
        meta = owner.metadata
        try:
            # All new pods are equal: the server generates their names.
            pod = pod_from_template(owner.spec.template, meta.namespace, meta.name, reference)
        except PodControlError as error:
            return error

        async def create(pod: V1Pod) -> V1Pod:
            return await self.pods.create(pod, owner)

        written = await write_children(self.expectations, owner_id(owner), creations=[pod] * count, create=create)
        return written.error

    async def _delete(self, owner: Any, active: Sequence[V1Pod], count: int) -> Exception | None:
        log.debug("too_many_replicas", key=meta_namespace_key(owner), need=desired_replicas(owner), deleting=count)
        # If all pods are deleted, their order does not matter, and the related pods are not needed.
        related = self.related_pods(owner) if count < len(active) else ()
        doomed = pods_to_delete(active, related, count, self.clock.now())

        async def delete(pod: V1Pod) -> None:
            await self.pods.delete(pod.metadata.namespace, pod.metadata.name, owner)

        written = await write_children(
            self.expectations, owner_id(owner), deletions=doomed, delete=delete, key_of=meta_namespace_key
        )
        return written.error


def _status_of(kind: ReplicaKind[Any], owner: Any) -> Any:
    """The status it has, an empty one if it has none yet."""
    return owner.status or kind.status(replicas=0)


def compute_status(
    kind: ReplicaKind[Any],
    owner: Any,
    active: Sequence[V1Pod],
    terminating: Sequence[V1Pod],
    failure: Exception | None,
    now: datetime,
) -> Any:
    """
    What the status should be.

    :param active: the pods that it has
    :param terminating: those that it had and that are not gone yet
    :param failure: what kept the last sync from creating or deleting, None if nothing did
    """
    template = owner.spec.template
    wanted = ((template.metadata.labels if template and template.metadata else None) or {}).items()
    min_ready_seconds = owner.spec.min_ready_seconds or 0
    fully_labeled = ready = available = 0
    for pod in active:
        fully_labeled += wanted <= (pod.metadata.labels or {}).items()
        if is_pod_ready(pod):
            ready += 1
            available += is_pod_available(pod, min_ready_seconds, now)
    status = kind.status(
        replicas=len(active),
        # The API leaves out these when they are 0, and never leaves out replicas.
        fully_labeled_replicas=fully_labeled or None,
        ready_replicas=ready or None,
        available_replicas=available or None,
        observed_generation=_status_of(kind, owner).observed_generation,
        conditions=_conditions(kind, owner, len(active), failure, now) or None,
    )
    if kind.tells_terminating:
        status.terminating_replicas = len(terminating)
    return status


def same_status(current: Any, status: Any, generation: int | None) -> bool:
    """
    Whether there is nothing new to write.

    :param current: the status that the owner has, None if it has none
    :param generation: of the owner's spec: a status that tells of an older one says something new
    """
    if current is None:
        return False
    return (
        all((getattr(current, count) or 0) == (getattr(status, count) or 0) for count in _COUNTS)
        and getattr(current, "terminating_replicas", None) == getattr(status, "terminating_replicas", None)
        and (current.observed_generation or 0) == (generation or 0)
        and (current.conditions or []) == (status.conditions or [])
    )


def _conditions(kind: ReplicaKind[Any], owner: Any, have: int, failure: Exception | None, now: datetime) -> list[Any]:
    conditions = _status_of(kind, owner).conditions
    if failure is None:
        return without_condition(conditions, _REPLICA_FAILURE)
    if get_condition(conditions, _REPLICA_FAILURE) is not None:
        # The first failure stands until all is well again.
        return list(conditions)
    want = desired_replicas(owner)
    reason = FAILED_CREATE if have < want else FAILED_DELETE if have > want else None
    condition = kind.condition(
        type=_REPLICA_FAILURE, status="True", reason=reason, message=str(failure), last_transition_time=now
    )
    return put_condition(conditions, condition)
